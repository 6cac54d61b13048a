"""The posterior in cosine coordinates: its gradient, its curvature, and metrics that are what they say."""

from dataclasses import replace

import torch

from credwarp.likelihoods import Gaussian, Mixture
from credwarp.posterior import Posterior
from credwarp.priors import SobolevEnergy
from credwarp.register.curvature import Spectrum, VoxelBlocks, block_metric
from credwarp.register.target import VelocityTarget
from credwarp.transforms import BsplineSvf, DenseSvf
from pairs import smooth_noise, smooth_parameters, textured


def target(transform=DenseSvf(squarings=3), likelihood=Mixture(), shape=(10, 8, 12)) -> VelocityTarget:  # noqa: B008
    posterior = Posterior.of(textured(shape), transform, likelihood, SobolevEnergy())
    return VelocityTarget(posterior, posterior.init(posterior.zeros(1)))


def blocks(shape=(6, 5, 7)) -> VoxelBlocks:
    factors = torch.randn((*shape, 3, 3), dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    full = factors @ factors.mT
    places = [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)]
    return VoxelBlocks(torch.stack([full[..., a, b] for a, b in places]))


def dense(operator, dimension: int) -> torch.Tensor:
    return operator(torch.eye(dimension, dtype=torch.float64)).T


def test_the_gradient_is_that_of_finite_differences_in_cosine_coordinates():
    seen = target()
    x = seen.position(smooth_parameters((5, 4, 6), 0.5))
    gradient = seen.evaluate(x).gradient
    direction = torch.randn(x.shape, dtype=x.dtype, generator=torch.Generator().manual_seed(0))
    rise = seen.evaluate(x + 1e-6 * direction).log_density - seen.evaluate(x - 1e-6 * direction).log_density
    assert torch.allclose(rise / 2e-6, (gradient * direction).sum(1), rtol=1e-5)


def test_parameters_and_positions_are_one_to_one():
    seen = target()
    w = smooth_parameters((5, 4, 6), 0.5)
    assert torch.allclose(seen.parameters(seen.position(w)), w)


def test_the_prior_is_the_curvature_of_the_log_prior():
    seen = target()
    x = seen.position(smooth_parameters((5, 4, 6), 0.5))
    quadratic = (x * seen.prior.product(x)).sum(1)
    zero = seen.posterior.prior.log_prob(0 * seen.parameters(x), seen.hyper.prior)
    assert torch.allclose(
        -0.5 * quadratic, seen.posterior.prior.log_prob(seen.parameters(x), seen.hyper.prior) - zero
    )


def test_the_blocks_root_squares_to_them():
    curvature = blocks()
    product = dense(curvature.product, curvature.noises)
    root = dense(curvature.sqrt, curvature.noises)
    assert torch.allclose(product, product.T, atol=1e-10)
    assert torch.allclose(root @ root.T, product, atol=1e-8)


def test_the_lowest_block_is_a_part_of_the_whole():
    curvature = blocks()
    whole = dense(curvature.product, curvature.noises)
    index = torch.arange(curvature.noises).reshape(3, 6, 5, 7)[:, :3, :5, :2].flatten()
    assert torch.allclose(curvature.lowest((3, 5, 2)), whole[index][:, index], atol=1e-10)


def test_the_block_metric_is_exact_where_it_is_dense():
    curvature = blocks()
    prior = Spectrum(torch.linspace(0.1, 3.0, curvature.noises, dtype=torch.float64))
    metric = block_metric(prior, curvature, (6, 5, 7))
    whole = dense(curvature.product, curvature.noises) + torch.diag(prior.eigenvalues)
    x = torch.randn((2, curvature.noises), generator=torch.Generator().manual_seed(0))
    assert torch.allclose(metric.apply(x).double(), torch.linalg.solve(whole, x.double().T).T, atol=1e-4)


def test_the_curvature_is_that_of_the_data_term_for_images_that_match():
    """Residuals are zero there, so Gauss–Newton is the Hessian, but for the images' interpolation."""
    image = smooth_noise((16, 16, 16), 2.5, 0)
    pair = replace(textured((16, 16, 16)), fixed=image, moving=image)
    for transform in (DenseSvf(coarsening=1, squarings=0), BsplineSvf(coarsening=1, squarings=0)):
        posterior = Posterior.of(pair, transform, Gaussian(alpha=1.0), SobolevEnergy())
        seen = VelocityTarget(posterior, posterior.init(posterior.zeros(1)))
        still = torch.zeros((1, seen.dimension), dtype=torch.float64)
        along = smooth_parameters(posterior.transform.parameters.shape, 0.2, chains=1, sd=4.0)
        step = seen.position(along)
        bend = 2 * seen.evaluate(still).log_density
        bend = bend - seen.evaluate(step).log_density - seen.evaluate(-step).log_density
        expected = (step * (seen.curvature(still).product(step) + seen.prior.product(step))).sum(1)
        assert 0.8 < float(bend / expected) < 1.25


def test_the_mixture_averaged_over_draws_of_one_place_is_that_places_own():
    seen = target()
    x = seen.position(smooth_parameters((5, 4, 6), 0.5, chains=1))
    averaged = seen.averaged(x.expand(3, -1), iterations=6).hyper.likelihood
    noise = seen.posterior.likelihood
    residual = noise.residual(seen.posterior.transform.displacement(seen.parameters(x)))
    alone = noise.noise.fit(residual, noise.weight, seen.hyper.likelihood, 6)
    for name, value in alone.items():
        torch.testing.assert_close(averaged[name], value)


def test_the_variance_of_one_component_averaged_over_draws_is_the_mean_of_theirs():
    # A weak prior on the precision and many voxels: what is fitted is the residuals' mean square.
    seen = target(likelihood=Gaussian(precision_scale=100.0))
    x = seen.position(smooth_parameters((5, 4, 6), 2.0, chains=2))
    each = [float(seen.averaged(one[None], 5).hyper.likelihood["log_precision"].exp()) for one in x]
    both = float(seen.averaged(x, 5).hyper.likelihood["log_precision"].exp())
    assert abs(1 / both / ((1 / each[0] + 1 / each[1]) / 2) - 1) < 1e-3
    assert abs(each[0] / each[1] - 1) > 0.01
