"""How well the warped image explains the fixed one: residuals, their law, and which of them count."""

import logging
import math
from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
import torch
from scipy import stats
from scipy.ndimage import gaussian_filter
from scipy.optimize import minimize

from credwarp.errors import InputError
from credwarp.likelihoods import Gaussian, Likelihood, Mind, Mixture
from credwarp.likelihoods.comparison import typical_sd
from credwarp.likelihoods.decimation import decimation
from credwarp.likelihoods.mind import EDGES, self_similarity
from credwarp.likelihoods.noise import Noise
from pairs import smooth_noise, smooth_parameters, textured

MEMBERS = get_args(get_args(Likelihood)[0])


def noise(components=4, alpha=1.0, bound=1e6) -> Noise:
    return Noise(components, location=0.0, scale=2.3, concentration=0.5, bound=bound, alpha=alpha)


def double(*values):
    return torch.tensor(values, dtype=torch.float64)


@pytest.mark.parametrize("member", MEMBERS)
def test_aligned_images_are_more_probable_than_shifted_ones(member):
    pair = textured((16, 16, 16))
    likelihood = member().bind(pair)
    still = torch.zeros((1, 3, 16, 16, 16), dtype=torch.float64)
    hyper = likelihood.fit(likelihood.residual(still), likelihood.init(likelihood.residual(still)), 10)
    shifted = likelihood.log_prob(likelihood.residual(still + 1.5), hyper)
    assert likelihood.log_prob(likelihood.residual(still), hyper) > shifted


@pytest.mark.parametrize("member", MEMBERS)
def test_the_density_has_an_exact_gradient_in_the_displacement_and_the_hyperparameters(member):
    pair = textured((6, 5, 7))
    likelihood = member().bind(pair)
    displacement = smooth_parameters((6, 5, 7), 0.7).requires_grad_(True)
    start = likelihood.init(likelihood.residual(displacement.detach()))
    hyper = {name: value.clone().requires_grad_(True) for name, value in start.items()}
    names = sorted(hyper)

    def density(displacement, *values):
        now = dict(zip(names, values, strict=True))
        return likelihood.log_prob(likelihood.residual(displacement), now) + likelihood.hyper_log_prob(now)

    inputs = (displacement, *(hyper[name] for name in names))
    assert torch.autograd.gradcheck(density, inputs, eps=1e-7, atol=1e-4, fast_mode=True)


@pytest.mark.parametrize("member", MEMBERS)
def test_a_chain_is_what_it_would_be_alone(member):
    pair = textured((8, 9, 7))
    likelihood = member().bind(pair)
    displacement = smooth_parameters((8, 9, 7), 1.0, chains=3)
    together = likelihood.residual(displacement)
    hyper = likelihood.init(together[:1])
    wide = {name: value.expand(3, *value.shape[1:]) for name, value in hyper.items()}
    for chain in range(3):
        alone = likelihood.residual(displacement[chain : chain + 1])
        assert torch.equal(alone[0], together[chain])
        one = likelihood.log_prob(alone, hyper)
        assert torch.allclose(one[0], likelihood.log_prob(together, wide)[chain], rtol=1e-12)


def test_the_mixture_density_is_the_papers_sum():
    residual = double(*np.random.default_rng(0).normal(size=60)).view(1, 1, 3, 4, 5)
    share, beta = np.array([0.1, 0.4, 0.3, 0.2]), np.array([0.2, 1.0, 5.0, 40.0])
    hyper = {
        "log_proportion": torch.log(double(*share))[None],
        "log_precision": torch.log(double(*beta))[None],
        "alpha": double(0.3),
    }
    r = residual.numpy().ravel()[:, None]
    papers = 0.3 * np.log((share * np.sqrt(beta / (2 * np.pi)) * np.exp(-beta / 2 * r**2)).sum(1)).sum()
    got = noise().log_prob(residual, torch.ones((1, 3, 4, 5), dtype=torch.float64), hyper)
    assert float(got) == pytest.approx(papers, rel=1e-12)


def test_the_residual_is_the_difference_of_images_of_zero_mean_and_unit_variance_round_each_voxel():
    pair = textured((9, 8, 7))
    likelihood = Mixture(floor=1e-6).bind(pair)
    still = torch.zeros((1, 3, 9, 8, 7), dtype=torch.float64)
    residual = likelihood.residual(still)[0, 0]

    def standard(image, x, y, z):
        window = image[max(x - 2, 0) : x + 3, max(y - 2, 0) : y + 3, max(z - 2, 0) : z + 3]
        return (image[x, y, z] - window.mean()) / window.std()

    for x, y, z in [(0, 0, 0), (4, 4, 3), (8, 7, 6), (1, 5, 2)]:
        truth = standard(pair.fixed.numpy(), x, y, z) - standard(pair.moving.numpy(), x, y, z)
        assert float(residual[x, y, z]) == pytest.approx(truth, abs=1e-6)


def test_brightness_and_contrast_of_either_image_do_not_matter():
    pair = textured((9, 8, 7))
    other = replace(pair, fixed=3 * pair.fixed + 50, moving=0.2 * pair.moving - 7)
    displacement = smooth_parameters((9, 8, 7), 0.8)
    a, b = (Mixture().bind(p).residual(displacement) for p in (pair, other))
    assert torch.allclose(a, b, atol=1e-9)


def test_flat_background_stays_quiet():
    pair = textured((20, 12, 12))
    fixed, moving = pair.fixed.clone(), pair.moving.clone()
    air = 1e-3 * smooth_noise((8, 12, 12), 0.0, 5)
    fixed[:8], moving[:8] = air, -air
    quiet = Mixture().bind(replace(pair, fixed=fixed, moving=moving))
    residual = quiet.residual(torch.zeros((1, 3, 20, 12, 12), dtype=torch.float64))
    largest = 2 * 1e-3 * 5 / 0.1  # two images, five standard deviations of the air, over the floor
    assert residual[0, 0, :5].abs().max() < largest


def test_white_noise_is_not_decimated():
    white = torch.randn((2, 1, 40, 40, 40), generator=torch.Generator().manual_seed(0))
    ball = _ball((40, 40, 40))
    assert torch.allclose(decimation(white, ball), double(1.0, 1.0), atol=0.03)


@pytest.mark.parametrize("sd", [1.0, 1.5, 2.0])
def test_smooth_noise_counts_once_per_correlation_length_and_axis(sd):
    draws = np.random.default_rng(1).normal(size=(3, 1, 64, 64, 64)).astype(np.float32)
    field = torch.from_numpy(gaussian_filter(draws, (0, 0, sd, sd, sd), mode="wrap"))
    truth = (1 / (math.sqrt(2 * math.pi) * sd)) ** 3
    per_axis = (decimation(field, _ball((64, 64, 64))).mean() / truth) ** (1 / 3)
    assert abs(float(per_axis) - 1) < 0.1


def test_a_constant_residual_counts_as_nothing_and_its_offset_is_ignored():
    white = torch.randn((1, 1, 20, 20, 20), generator=torch.Generator().manual_seed(0))
    weight = torch.ones((1, 20, 20, 20))
    assert torch.allclose(decimation(white + 5, weight), decimation(white, weight), atol=1e-4)
    assert float(decimation(torch.full_like(white, 3.0), weight)) < 1e-6


def test_repeated_channels_count_once():
    white = torch.randn((1, 1, 20, 20, 20), generator=torch.Generator().manual_seed(0))
    one = decimation(white, torch.ones((1, 20, 20, 20)))
    four = decimation(white.expand(1, 4, 20, 20, 20), torch.ones((1, 20, 20, 20)))
    assert float(four) == pytest.approx(float(one) / 4, rel=1e-6)


def _ball(shape) -> torch.Tensor:
    axes = torch.meshgrid(*(torch.linspace(-1, 1, n) for n in shape), indexing="ij")
    return (sum(a**2 for a in axes) < 0.9).float()[None]


def test_expectation_maximisation_finds_the_mixture_that_made_the_residuals():
    rng = np.random.default_rng(0)
    wide = rng.random(40_000) < 0.3
    residual = torch.from_numpy(np.where(wide, rng.normal(0, 2.0, 40_000), rng.normal(0, 0.4, 40_000)))
    residual, weight = residual.view(1, 1, 40, 50, 20), torch.ones((1, 40, 50, 20), dtype=torch.float64)
    law = noise(components=2)
    hyper = law.fit(residual, weight, law.init(residual, weight), 300)
    assert np.allclose(torch.exp(hyper["log_proportion"]), [[0.3, 0.7]], atol=0.02)
    assert np.allclose(torch.exp(-0.5 * hyper["log_precision"]), [[2.0, 0.4]], rtol=0.03)


def test_each_iteration_raises_the_posterior_density():
    residual = torch.from_numpy(np.random.default_rng(0).standard_t(3, size=(1, 1, 15, 15, 15)))
    weight = torch.ones((1, 15, 15, 15), dtype=torch.float64)
    law = noise(alpha=0.2)
    hyper = law.init(residual, weight)
    values = []
    for _ in range(25):
        values.append(float(law.log_prob(residual, weight, hyper) + law.hyper_log_prob(hyper)))
        hyper = law.fit(residual, weight, hyper, 1)
    assert min(np.diff(values)) >= -1e-8 * abs(values[0])
    assert values[-1] > values[0] + 1


def test_a_flat_rim_cannot_claim_a_spike():
    residual = torch.randn(
        (1, 1, 20, 20, 20), generator=torch.Generator().manual_seed(0), dtype=torch.float64
    )
    residual[:, :, :8] = 0.0
    law = noise(bound=20.0)
    weight = torch.ones((1, 20, 20, 20), dtype=torch.float64)
    hyper = law.fit(residual, weight, law.init(residual, weight), 50)
    assert float(torch.exp(hyper["log_precision"]).max()) <= 20.0 * (1 + 1e-12)


def test_the_hyperpriors_are_the_papers_densities():
    hyper = {
        "log_proportion": torch.log(double(0.2, 0.5, 0.3))[None],
        "log_precision": double(-1.0, 0.5, 2.0)[None],
    }
    law = noise(components=3)
    beta = np.exp([-1.0, 0.5, 2.0])
    truth = stats.lognorm(s=2.3).logpdf(beta).sum() + stats.dirichlet([0.5] * 3).logpdf([0.2, 0.5, 0.3])
    assert float(law.hyper_log_prob(hyper)) == pytest.approx(truth, rel=1e-12)


def test_voxels_outside_either_mask_do_not_count(caplog):
    pair = textured((10, 10, 10))
    fixed_mask, moving_mask = pair.fixed_mask.clone(), pair.moving_mask.clone()
    fixed_mask[:3] = False
    moving_mask[:, :2] = False
    with caplog.at_level(logging.INFO, logger="credwarp"):
        likelihood = Gaussian(alpha=1.0).bind(replace(pair, fixed_mask=fixed_mask, moving_mask=moving_mask))
    assert "fixed mask leaves out 300, the moving mask 140 more" in caplog.text
    residual = likelihood.residual(torch.zeros((1, 3, 10, 10, 10), dtype=torch.float64))
    hyper = likelihood.init(residual)
    before = likelihood.log_prob(residual, hyper)
    residual[0, 0, :3] = 99.0
    residual[0, 0, :, :2] = -99.0
    assert torch.equal(likelihood.log_prob(residual, hyper), before)


def test_masks_that_see_only_flat_voxels_are_refused_in_a_sentence():
    pair = textured((12, 12, 12))
    fixed, mask = pair.fixed.clone(), torch.zeros((12, 12, 12), dtype=torch.bool)
    fixed[:6], mask[:2] = 0.0, True
    flat = replace(pair, fixed=fixed, moving=fixed, fixed_mask=mask, moving_mask=mask)
    with pytest.raises(InputError, match="flat"):
        Mixture().bind(flat)


def test_self_similarity_does_not_see_an_inverted_contrast():
    pair = textured((16, 16, 16), noise=0.02)
    upside_down = replace(pair, moving=5 - 2 * pair.moving)
    residuals = {}
    still = torch.zeros((1, 3, 16, 16, 16), dtype=torch.float64)
    for member in (Mind, Mixture):
        residuals[member] = [
            float(member().bind(p).residual(still).square().mean()) for p in (pair, upside_down)
        ]
    assert residuals[Mind][1] == pytest.approx(residuals[Mind][0], rel=1e-6)
    assert residuals[Mixture][1] > 10 * residuals[Mixture][0]


def test_pairs_of_neighbours_are_counted_not_voxels():
    draws = np.random.default_rng(1).normal(size=(1, 1, 48, 48, 48)).astype(np.float32)
    field = torch.from_numpy(gaussian_filter(draws, (0, 0, 1.5, 1.5, 1.5), mode="wrap"))
    every = torch.ones((1, 48, 48, 48))
    some = (torch.rand((1, 48, 48, 48), generator=torch.Generator().manual_seed(2)) < 0.5).float()
    assert float(decimation(field, some)) == pytest.approx(float(decimation(field, every)), rel=0.1)


def test_a_typical_deviation_is_not_that_of_a_few_bright_voxels():
    image = smooth_noise((24, 20, 20), 0.0, 0)
    image[:4] *= 50
    everywhere = torch.ones(image.shape, dtype=torch.bool)
    alone = typical_sd(image[8:], everywhere[8:], 2)
    assert typical_sd(image, everywhere, 2) == pytest.approx(alone, rel=0.1)


def test_self_similarity_is_that_of_a_loop_over_patches():
    image = smooth_noise((11, 10, 9), 0.7, 4)
    found = self_similarity(image[None, None], reach=2, radius=1)[0]
    x, y, z = 5, 5, 4

    def patch(direction):
        a, b, c = (p + 2 * d for p, d in zip((x, y, z), direction, strict=True))
        return image[a - 1 : a + 2, b - 1 : b + 2, c - 1 : c + 2]

    distances = np.array([float(((patch(p) - patch(q)) ** 2).mean()) for p, q in EDGES])
    distances = distances - distances.min()
    assert len(distances) == 12
    assert np.allclose(found[:, x, y, z], np.exp(-distances / distances.mean()), rtol=1e-6)


def test_the_precision_is_how_sharply_a_residual_is_pulled_to_zero():
    residual = smooth_noise((1, 2, 5, 6, 4), 0.0, 0).requires_grad_(True)
    weight = torch.ones((1, 5, 6, 4), dtype=torch.float64)
    law = noise(alpha=0.3)
    hyper = law.init(residual.detach(), weight)
    (slope,) = torch.autograd.grad(law.log_prob(residual, weight, hyper).sum(), residual)
    assert torch.allclose(law.precision(residual.detach(), hyper), -slope / residual.detach(), rtol=1e-8)


def test_the_information_of_a_ramp_is_the_outer_product_of_its_gradient_where_voxels_count():
    pair = textured((9, 8, 7))
    x, y, z = torch.meshgrid(*(torch.arange(n, dtype=torch.float64) for n in (9, 8, 7)), indexing="ij")
    mask = pair.fixed_mask.clone()
    mask[:4] = False
    ramp = x + 2 * y - 3 * z
    likelihood = Gaussian(alpha=0.25).bind(replace(pair, fixed=ramp, moving=ramp, fixed_mask=mask))
    still = torch.zeros((1, 3, 9, 8, 7), dtype=torch.float64)
    hyper = {**likelihood.init(likelihood.residual(still)), "log_precision": torch.zeros(1, 1).double()}
    found = likelihood.information(still, hyper)[0]
    scale = 0.25 / float(torch.std(ramp[mask])) ** 2
    wanted = scale * torch.tensor([1.0, 4.0, 9.0, 2.0, -3.0, -6.0], dtype=torch.float64)
    assert torch.allclose(found[:, 6, 4, 3], wanted)
    assert not bool(found[:, :4].any())


def test_neighbours_that_contradict_each_other_are_not_counted_less():
    white = torch.randn((1, 1, 20, 20, 21), generator=torch.Generator().manual_seed(0))
    assert float(decimation(white.diff(dim=4), torch.ones((1, 20, 20, 20)))) == pytest.approx(1.0, abs=0.02)


def test_a_fit_measures_alpha_on_the_residuals_it_is_given():
    likelihood = Mixture(alpha_bound=1.0).bind(textured((12, 12, 12)))
    smooth, rough = (smooth_noise((1, 1, 12, 12, 12), sd, 0) for sd in (1.5, 0.0))
    fitted = likelihood.fit(rough, likelihood.init(smooth), 1)
    assert torch.equal(fitted["alpha"], decimation(rough, likelihood.weight))
    assert float(fitted["alpha"]) > 2 * float(likelihood.init(smooth)["alpha"])


def test_residuals_that_look_independent_count_as_much_as_the_bound_allows_and_a_given_alpha_as_it_says():
    pair = textured((12, 12, 12))
    white, smooth = (smooth_noise((1, 1, 12, 12, 12), sd, 0) for sd in (0.0, 2.0))
    bounded, free, given = (
        Mixture(**choice).bind(pair) for choice in ({}, {"alpha_bound": 1.0}, {"alpha": 0.7})
    )
    assert float(bounded.init(white)["alpha"]) == Mixture().alpha_bound
    assert float(free.init(white)["alpha"]) > 0.8
    assert float(bounded.init(smooth)["alpha"]) == float(free.init(smooth)["alpha"]) < Mixture().alpha_bound
    assert float(given.init(white)["alpha"]) == 0.7


def test_the_m_step_is_the_most_probable_mixture_given_the_statistics():
    law = Noise(2, location=0.4, scale=0.6, concentration=3.0, bound=1e6, alpha=0.5)
    counts = torch.tensor([[3.0, 9.0]], dtype=torch.float64)
    squares = torch.tensor([[6.0, 4.0]], dtype=torch.float64)
    hyper = {
        "log_proportion": torch.log(torch.tensor([[0.5, 0.5]], dtype=torch.float64)),
        "log_precision": torch.zeros((1, 2), dtype=torch.float64),
        "alpha": torch.tensor([0.5], dtype=torch.float64),
    }

    def objective(free: np.ndarray) -> float:
        share, beta = np.exp(free[0]) / (1 + np.exp(free[0])), np.exp(free[1:])
        shares = np.array([share, 1 - share])
        seen = counts[0].numpy() * (np.log(shares) + 0.5 * np.log(beta)) - 0.5 * beta * squares[0].numpy()
        of_beta = stats.lognorm.logpdf(beta, s=0.6, scale=np.exp(0.4))
        return -float(0.5 * seen.sum() + of_beta.sum() + stats.dirichlet.logpdf(shares, [3.0, 3.0]))

    best = minimize(objective, np.zeros(3), method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-12}).x
    found = law.maximise(counts, squares, hyper)
    shares = 1 / (1 + np.exp(-best[0]))
    assert np.allclose(found["log_precision"][0], best[1:], atol=1e-5)
    assert np.allclose(found["log_proportion"][0].exp(), [shares, 1 - shares], atol=1e-5)
