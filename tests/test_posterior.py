"""The three terms together: one density per chain, its gradient exact, on any device."""

import numpy as np
import pytest
import torch

from credwarp.likelihoods import Gaussian, Mind, Mixture
from credwarp.posterior import Hypers, Posterior
from credwarp.priors import GammaStrength, GaussianEnergy, LogNormalEnergy, SobolevEnergy
from credwarp.transforms import BsplineSvf, DenseSvf
from pairs import smooth_parameters, textured

TRANSFORMS = [DenseSvf(coarsening=1, squarings=3), DenseSvf(squarings=3), BsplineSvf(squarings=3)]
LIKELIHOODS = [Mixture(), Gaussian(), Mind()]
PRIORS = [SobolevEnergy(), GaussianEnergy(), GammaStrength(), LogNormalEnergy()]


def every_combination():
    choices = [(t, LIKELIHOODS[0], PRIORS[0]) for t in TRANSFORMS]
    choices += [(TRANSFORMS[1], likelihood, PRIORS[0]) for likelihood in LIKELIHOODS[1:]]
    return choices + [(TRANSFORMS[1], LIKELIHOODS[0], prior) for prior in PRIORS[1:]]


@pytest.mark.parametrize(("transform", "likelihood", "prior"), every_combination())
def test_the_gradient_is_that_of_finite_differences(transform, likelihood, prior):
    posterior = Posterior.of(textured((7, 6, 8)), transform, likelihood, prior)
    w = smooth_parameters(posterior.transform.parameters.shape, 0.6)
    hyper = posterior.init(w)
    terms, gradient = posterior.gradient(w, hyper)
    for seed in range(3):
        direction = torch.randn(w.shape, dtype=w.dtype, generator=torch.Generator().manual_seed(seed))
        step = 1e-6 * direction
        rise = (
            posterior.evaluate(w + step, hyper).log_density - posterior.evaluate(w - step, hyper).log_density
        )
        slope = (gradient * direction).sum(dim=(1, 2, 3, 4))
        assert torch.allclose(rise / 2e-6, slope, rtol=1e-5, atol=1e-5 * float(terms.log_density.abs().max()))


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_single_precision_agrees_with_double(transform):
    gradients = []
    for dtype in (torch.float32, torch.float64):
        posterior = Posterior.of(textured((12, 10, 14), dtype), transform, Mixture(), SobolevEnergy())
        w = smooth_parameters(posterior.transform.parameters.shape, 0.9, dtype=torch.float64).to(dtype)
        gradients.append(posterior.gradient(w, posterior.init(w)))
    (coarse, single), (fine, exact) = gradients
    assert np.allclose(coarse.log_density, fine.log_density, rtol=1e-4)
    assert (single - exact).norm() < 1e-3 * exact.norm()


def test_chains_do_not_know_each_other():
    posterior = Posterior.of(textured((10, 8, 12), torch.float32), DenseSvf(), Mixture(), SobolevEnergy())
    w = smooth_parameters(posterior.transform.parameters.shape, 1.0, chains=4, dtype=torch.float32)
    hyper = posterior.init(w)
    terms, gradient = posterior.gradient(w, hyper)
    for chain in range(4):
        alone, slope = posterior.gradient(w[chain : chain + 1], hyper.chain(chain))
        assert torch.allclose(alone.log_density[0], terms.log_density[chain], rtol=1e-6)
        assert torch.allclose(slope[0], gradient[chain], atol=1e-4 * float(gradient.abs().max()))


def test_the_fit_raises_the_density():
    posterior = Posterior.of(textured((10, 8, 12)), DenseSvf(), Mixture(alpha=0.5), LogNormalEnergy())
    w = smooth_parameters(posterior.transform.parameters.shape, 0.3, chains=1)
    start = posterior.init(w)
    fitted = posterior.fit(w, start, iterations=20)
    assert posterior.evaluate(w, fitted).log_density > posterior.evaluate(w, start).log_density


@pytest.mark.parametrize(("transform", "likelihood", "prior"), every_combination())
def test_it_runs_on_a_device_without_numbers(transform, likelihood, prior):
    """On `meta` only shapes flow: what passes here asks nothing of the CPU in evaluate and its backward."""
    posterior = Posterior.of(textured((8, 8, 8), torch.float32), transform, likelihood, prior)
    w = smooth_parameters(posterior.transform.parameters.shape, 0.6, dtype=torch.float32)
    hyper = posterior.init(w)
    elsewhere = posterior.to("meta")
    moved = Hypers(*({n: v.to("meta") for n, v in h.items()} for h in (hyper.likelihood, hyper.prior)))
    terms, gradient = elsewhere.gradient(w.to("meta"), moved)
    assert terms.log_density.device.type == "meta"
    assert gradient.shape == w.shape
