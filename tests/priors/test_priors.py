"""What is probable before any image: smoothness, by the paper's equations, in units that no grid changes."""

import math
from typing import get_args

import numpy as np
import pytest
import torch
from scipy import integrate, optimize, special, stats

from credwarp import spectral
from credwarp.priors import GammaStrength, GaussianEnergy, LogNormalEnergy, Prior, SobolevEnergy
from credwarp.space import Grid
from pairs import smooth_parameters

MEMBERS = get_args(get_args(Prior)[0])
GRID = Grid((6, 7, 5), np.diag([1.5, 2.0, 1.0, 1.0]))
UNIT = Grid.isotropic((6, 7, 5), 1.82)


@pytest.mark.parametrize("member", MEMBERS)
def test_a_smoother_velocity_is_more_probable(member):
    prior = member().bind(GRID, GRID)
    rough = torch.randn((1, 3, 6, 7, 5), dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    smooth = smooth_parameters((6, 7, 5), float(rough.std()), chains=1)
    hyper = prior.init(1)
    assert prior.log_prob(smooth, hyper) > prior.log_prob(rough, hyper)


@pytest.mark.parametrize("member", MEMBERS)
def test_the_density_has_an_exact_gradient_in_everything(member):
    prior = member().bind(GRID, GRID)
    w = smooth_parameters((6, 7, 5), 1.0).requires_grad_(True)
    hyper = {k: (v + 0.1).requires_grad_(True) for k, v in prior.init(2).items()}
    names = sorted(hyper)

    def density(w, *values):
        now = dict(zip(names, values, strict=True))
        return prior.log_prob(w, now) / 100

    assert torch.autograd.gradcheck(density, (w, *(hyper[n] for n in names)), atol=1e-6, fast_mode=True)


@pytest.mark.parametrize("member", MEMBERS)
def test_the_strength_is_the_factor_of_the_energys_gradient(member):
    prior = member().bind(GRID, GRID)
    w = smooth_parameters((6, 7, 5), 1.3).requires_grad_(True)
    hyper = prior.init(2)
    (slope,) = torch.autograd.grad(prior.log_prob(w, hyper).sum(), w)
    (energy_slope,) = torch.autograd.grad(prior.energy(w).sum(), w)
    strength = prior.strength(prior.energy(w).detach(), hyper).view(2, 1, 1, 1, 1)
    assert torch.allclose(slope, -0.5 * strength * energy_slope, rtol=1e-9)


@pytest.mark.parametrize("member", MEMBERS)
def test_the_fit_is_the_optimum_of_the_joint_density(member):
    prior = member().bind(GRID, GRID)
    w = smooth_parameters((6, 7, 5), 1.0, chains=1)
    fitted = prior.fit(prior.energy(w), prior.init(1))
    if not bool(prior.hyper_log_prob(prior.init(1)).any()):
        assert fitted == prior.init(1)  # nothing is unknown
        return
    names = sorted(fitted)

    def loss(values):
        hyper = {n: torch.tensor([v], dtype=torch.float64) for n, v in zip(names, values, strict=True)}
        return -float(prior.log_prob(w, hyper) + prior.hyper_log_prob(hyper))

    best = [float(fitted[n]) for n in names]
    search = optimize.minimize(loss, best, method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-10})
    assert loss(best) <= search.fun + 1e-6 * abs(search.fun)


def brute_force_gradient_energy(w: torch.Tensor) -> float:
    return sum(float((w.diff(dim=axis) ** 2).sum()) for axis in (-3, -2, -1))


def test_on_the_papers_grid_the_energy_is_the_papers():
    w = smooth_parameters(UNIT.shape, 1.0, chains=1)
    prior = GaussianEnergy().bind(UNIT, UNIT)
    assert float(prior.energy(w)) == pytest.approx(brute_force_gradient_energy(w), rel=1e-12)


@pytest.mark.parametrize("choice", [GaussianEnergy(), SobolevEnergy(), SobolevEnergy(order=3, kappa=0.4)])
def test_the_energy_is_diagonal_in_the_cosine_transform(choice):
    energy = choice.bind(GRID, UNIT).energy
    w = smooth_parameters(GRID.shape, 1.0)
    quadratic = (energy.eigenvalues() * spectral.dct(w) ** 2).sum(dim=(1, 2, 3, 4))
    assert torch.allclose(energy(w), quadratic, rtol=1e-9)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_the_same_velocity_in_millimetres_has_the_same_energy_on_any_grid(order):
    energies = []
    for spacing in (0.5, 0.7):
        shape = (round(42 / spacing), round(21 / spacing), round(28 / spacing))
        grid = Grid.isotropic(shape, spacing)
        x = grid.points() - grid.points()[0, 0, 0] + spacing / 2
        wave = (
            np.cos(np.pi * x[..., 0] / 42)
            * np.cos(2 * np.pi * x[..., 1] / 21)
            * np.cos(np.pi * x[..., 2] / 28)
        )
        w = torch.from_numpy(np.stack([wave, 2 * wave, -wave]) / spacing)[None]
        energies.append(float(SobolevEnergy(order=order, kappa=0.2).bind(grid, grid).energy(w)))
    assert energies[0] == pytest.approx(energies[1], rel=0.02)


def test_a_half_resolution_velocity_costs_what_it_costs_at_full_resolution():
    fine = Grid.isotropic((32, 32, 32), 1.0)
    coarse = fine.coarsened(2)
    values = [np.cos(np.pi * (g.points()[..., 0] + 16) / 32)[None].repeat(3, 0) for g in (fine, coarse)]
    prior = SobolevEnergy()
    full = prior.bind(fine, fine).energy(torch.from_numpy(values[0])[None])
    half = prior.bind(coarse, fine).energy(torch.from_numpy(values[1])[None])
    assert float(half) == pytest.approx(float(full), rel=0.02)


def test_the_expected_logarithm_of_a_gamma_variable_is_the_appendix():
    for shape, rate in [(0.7, 2.0), (30.0, 0.6)]:
        law = stats.gamma(shape, scale=1 / rate)
        places = np.linspace(-60, 12, 400_001)
        mean = integrate.simpson(places * law.pdf(np.exp(places)) * np.exp(places), x=places)
        assert mean == pytest.approx(special.digamma(shape) - math.log(rate), abs=1e-6)


def test_the_location_starts_at_the_expected_log_energy_of_a_gaussian_prior():
    prior = LogNormalEnergy(strength=1.6).bind(UNIT, UNIT)
    half = prior.energy.freedom / 2
    draws = np.log(np.random.default_rng(0).gamma(half, 2 / 1.6, 4000))
    error = draws.std() / math.sqrt(len(draws))
    assert abs(float(prior.init(1)["location"]) - draws.mean()) < 4 * error


def test_the_fixed_strength_belongs_to_the_family_of_priors_on_the_energy():
    """χ² ~ Γ(ν/2, λ/2) in place of the log-normal gives log p(w) = −λχ²/2: the powers of χ² cancel."""
    prior = GaussianEnergy(strength=1.7).bind(UNIT, UNIT)
    nu = prior.energy.freedom
    w = torch.cat([smooth_parameters(UNIT.shape, s, chains=1) for s in (0.5, 1.0, 3.0)])
    chi2 = prior.energy(w)
    of_energy = stats.gamma(nu / 2, scale=2 / 1.7).logpdf(chi2.numpy())
    family = -(nu / 2 - 1) * torch.log(chi2) + torch.from_numpy(of_energy)
    fixed = prior.log_prob(w, prior.init(3))
    assert torch.allclose(family - family[0], fixed - fixed[0], rtol=1e-9, atol=1e-7)


def test_the_log_normal_regularisation_is_the_papers_equation():
    prior = LogNormalEnergy().bind(UNIT, UNIT)
    w = smooth_parameters(UNIT.shape, 1.0)
    hyper = {"location": torch.tensor([5.0, 7.0]).double(), "log_scale": torch.tensor([0.3, -1.0]).double()}
    chi2 = np.array([brute_force_gradient_energy(x) for x in w])
    nu, mu, sigma = prior.energy.freedom, hyper["location"].numpy(), np.exp(hyper["log_scale"].numpy())
    papers = nu / 2 * np.log(chi2) + np.log(sigma) + (np.log(chi2) - mu) ** 2 / (2 * sigma**2)
    assert np.allclose(-prior.log_prob(w, hyper), papers, rtol=1e-10)
    # The same from the law of χ²: log p(w) = −(ν/2 − 1) log χ² + log p(χ²).
    of_energy = stats.lognorm(s=sigma, scale=np.exp(mu)).logpdf(chi2)
    derived = -(nu / 2 - 1) * np.log(chi2) + of_energy + 0.5 * math.log(2 * math.pi)
    assert np.allclose(prior.log_prob(w, hyper), derived, rtol=1e-10)


def test_its_hyperpriors_are_the_papers_densities():
    choice = LogNormalEnergy(strength=1.3, eta=2.8, varsigma=5.0)
    prior = choice.bind(UNIT, UNIT)
    location = prior.init(1)["location"] + 0.02
    log_scale = torch.tensor([0.4], dtype=torch.float64)
    mass = float(torch.exp(location))
    of_location = stats.gamma(prior.energy.freedom / 2, scale=2 / 1.3).logpdf(mass) + float(location)
    of_variance = stats.norm(2.8, 5.0).logpdf(0.8)
    got = prior.hyper_log_prob({"location": location, "log_scale": log_scale})
    assert float(got) == pytest.approx(of_location + of_variance, abs=1e-6)


def test_the_log_normal_prior_is_scale_free_unless_it_is_very_sharp():
    prior = LogNormalEnergy().bind(UNIT, UNIT)
    w = smooth_parameters(UNIT.shape, 1.0, chains=1)
    energy = prior.energy(w)
    wide = prior.strength(energy, prior.init(1))
    assert float(wide) == pytest.approx(prior.energy.freedom / float(energy), rel=0.01)
    sharp = {**prior.init(1), "log_scale": torch.tensor([-0.5 * math.log(prior.energy.freedom)]).double()}
    assert abs(float(prior.strength(energy, sharp)) / float(wide) - 1) > 0.1


def test_the_gamma_baseline_is_worth_as_many_observations_of_one_as_there_are_parameters():
    prior = GammaStrength().bind(UNIT, UNIT)
    nu = prior.energy.freedom
    energy = torch.tensor([nu / 8.0], dtype=torch.float64)
    fitted = float(torch.exp(prior.fit(energy, prior.init(1))["log_strength"]))
    assert fitted == pytest.approx((nu - 1) / (nu / 16 + nu / 2), rel=1e-9)
    of_data_alone = 8.0
    assert abs(fitted - of_data_alone) > abs(fitted - 1.0)


def test_its_gamma_density_is_normalised():
    prior = GammaStrength(shape=3.0, rate=2.0).bind(UNIT, UNIT)
    hyper = {"log_strength": torch.tensor([0.3, -1.0]).double()}
    truth = stats.gamma(3.0, scale=0.5).logpdf(np.exp([0.3, -1.0]))
    assert np.allclose(prior.hyper_log_prob(hyper), truth)


@pytest.mark.parametrize("member", MEMBERS)
def test_a_typical_energy_is_the_number_of_parameters_over_the_strength(member):
    prior = member().bind(UNIT, UNIT)
    typical = float(prior.expected_energy(prior.init(1))[0])
    assert typical == pytest.approx(prior.energy.freedom / member().strength, rel=2 / prior.energy.freedom)


@pytest.mark.parametrize("choice", [SobolevEnergy(strength=1.7), GaussianEnergy(strength=1.7)])
def test_the_strength_of_a_gaussian_prior_is_normalised(choice):
    """∫ p(w | λ) dw does not depend on λ: ∂ log p / ∂ log λ = (ν − λχ²) / 2."""
    prior = choice.bind(UNIT, UNIT)
    w = smooth_parameters(UNIT.shape, 1.0, chains=1)
    hyper = {"log_strength": prior.init(1)["log_strength"].requires_grad_(True)}
    (slope,) = torch.autograd.grad(prior.log_prob(w, hyper).sum(), hyper["log_strength"])
    assert float(slope) == pytest.approx((prior.energy.freedom - 1.7 * float(prior.energy(w))) / 2, rel=1e-10)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_a_translation_costs_what_kappa_says_and_without_it_nothing(order):
    w = torch.tensor([0.5, -1.0, 2.0], dtype=torch.float64).view(1, 3, 1, 1, 1).expand(1, 3, *UNIT.shape)
    prior = SobolevEnergy(order=order, kappa=0.3).bind(UNIT, UNIT)
    assert float(prior.energy(w)) == pytest.approx(0.3 ** (2 * order) * float(w.square().sum()), rel=1e-9)
    assert float(GaussianEnergy().bind(UNIT, UNIT).energy(w)) == pytest.approx(0.0, abs=1e-12)


def test_the_log_normal_prior_never_pushes_away_from_smoothness():
    prior = LogNormalEnergy().bind(UNIT, UNIT)
    sharp = {**prior.init(1), "log_scale": torch.tensor([-6.0], dtype=torch.float64)}
    far_below = torch.exp(prior.init(1)["location"]) * 1e-3
    assert float(prior.strength(far_below, sharp)) == 0.0
