"""What a network minimises is the divergence it says, and its warps are what others' are."""

import importlib.util
import itertools

import pytest
import torch
from torch.distributions import MultivariateNormal, kl_divergence

from credwarp import fields, kernels
from credwarp.networks import LocalCorrelation, MeanField, Objective, Smoothness, SquaredDifferences
from credwarp.space import Grid
from credwarp.transforms import DenseSvf
from pairs import smooth_noise

SHAPE = (3, 4, 2)


def law(shape=SHAPE, pairs=2, seed=0) -> MeanField:
    generator = torch.Generator().manual_seed(seed)
    mean, log_variance = (
        torch.randn((pairs, 3, *shape), generator=generator, dtype=torch.float64) for _ in range(2)
    )
    return MeanField(mean, log_variance - 3)


def graph(shape, strength: float, kappa: float) -> torch.Tensor:
    """Λ of one component, neighbour by neighbour."""
    places = list(itertools.product(*(range(n) for n in shape)))
    index = {place: number for number, place in enumerate(places)}
    matrix = torch.zeros((len(places), len(places)), dtype=torch.float64)
    for place, axis in itertools.product(places, range(3)):
        other = tuple(n + (a == axis) for a, n in enumerate(place))
        if other in index:
            i, j = index[place], index[other]
            matrix[i, i] += 1
            matrix[j, j] += 1
            matrix[i, j] -= 1
            matrix[j, i] -= 1
    return strength * (matrix + kappa**2 * torch.eye(len(places)))


@pytest.mark.parametrize(("strength", "kappa"), [(10.0, 0.02), (0.3, 1.0)])
def test_the_divergence_is_that_of_dense_normal_laws(strength, kappa):
    prior = Smoothness(strength, kappa)
    precision = torch.block_diag(*[graph(SHAPE, strength, kappa)] * 3)
    there = MultivariateNormal(torch.zeros(len(precision), dtype=torch.float64), precision_matrix=precision)
    found = prior.divergence(law())
    for number, value in enumerate(found):
        here = MultivariateNormal(
            law().mean[number].flatten(), torch.diag(law().log_variance[number].flatten().exp())
        )
        assert float(value) == pytest.approx(float(kl_divergence(here, there)), rel=1e-9)


def test_a_draw_has_the_laws_mean_and_spread():
    one = law(pairs=1)
    noise = torch.randn((4000, 3, *SHAPE), generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    draws = one.reparametrised(noise)
    # Six standard errors of 72 means and standard deviations.
    assert float(((draws.mean(dim=0) - one.mean[0]) / one.sd[0]).abs().max()) < 6 / 4000**0.5
    assert float((draws.std(dim=0) / one.sd[0] - 1).abs().max()) < 6 / 8000**0.5


@pytest.mark.parametrize("similarity", [SquaredDifferences(), LocalCorrelation(window=3)])
def test_the_gradient_of_the_loss_is_that_of_finite_differences(similarity):
    grid = Grid.isotropic((6, 4, 8))
    transform = DenseSvf(coarsening=2, squarings=4).bind(grid)
    objective = Objective(similarity)
    images = torch.stack([smooth_noise((2, *grid.shape), 1.0, seed) for seed in (1, 2)]) / 4 + 0.5
    start = law((3, 2, 4))
    noise = torch.randn(start.mean.shape, generator=torch.Generator().manual_seed(3), dtype=torch.float64)

    def total(mean: torch.Tensor, log_variance: torch.Tensor) -> torch.Tensor:
        return objective.loss(images, MeanField(mean, log_variance), noise, transform).total.sum()

    leaves = [start.mean / 3, start.log_variance]
    leaves = [leaf.clone().requires_grad_(True) for leaf in leaves]
    slopes = torch.autograd.grad(total(*leaves), leaves)
    generator = torch.Generator().manual_seed(4)
    for which, slope in enumerate(slopes):
        direction = torch.randn(slope.shape, generator=generator, dtype=torch.float64)
        ends = []
        for step in (1e-6, -1e-6):
            moved = [leaf.detach() + step * direction * (n == which) for n, leaf in enumerate(leaves)]
            ends.append(total(*moved))
        slanted = float(ends[0] - ends[1]) / 2e-6
        assert float((slope * direction).sum()) == pytest.approx(slanted, rel=1e-4)


def test_local_correlation_does_not_see_brightness_and_contrast_and_squares_do():
    image = smooth_noise((1, 1, 12, 12, 12), 1.0, 0) / 4 + 0.5
    other = 0.4 * image + 0.3
    assert float(LocalCorrelation(floor=1e-4).energy(image, other)) < 1e-3 * image.numel()
    assert float(SquaredDifferences().energy(image, other)) > 0.1 * image.numel()


def test_half_the_standardised_difference_is_one_minus_the_correlation():
    """In a window as large as the image there is one correlation."""
    one, other = (smooth_noise((1, 1, 3, 3, 3), 0.0, seed) for seed in (0, 1))
    middle = (0, 0, 1, 1, 1)
    standard = [kernels.standardise(image, 1, 1e-9)[middle] for image in (one, other)]
    centre = 0.5 * float((standard[0] - standard[1]) ** 2)
    weights = [(image[middle] - image.mean()) / image.std(unbiased=False) for image in (one, other)]
    assert centre == pytest.approx(0.5 * float((weights[0] - weights[1]) ** 2), rel=1e-6)
    full = [(image - image.mean()) / image.std(unbiased=False) for image in (one, other)]
    correlation = torch.corrcoef(torch.stack([one.flatten(), other.flatten()]))[0, 1]
    assert 0.5 * float((full[0] - full[1]).square().mean()) == pytest.approx(1 - float(correlation))


@pytest.fixture
def voxelmorph():
    if importlib.util.find_spec("voxelmorph") is None:
        pytest.skip("voxelmorph is not installed; pip install '.[oracle]' to compare with it.")
    import voxelmorph.nn.modules as modules

    return modules


def test_warps_are_those_of_voxelmorphs_integrator_and_transformer(voxelmorph):
    """Away from the border, beyond which theirs is zero and ours goes on."""
    shape = (16, 14, 18)
    velocity = torch.stack([smooth_noise(shape, 3.0, seed, torch.float32) for seed in range(3)])[None]
    image = smooth_noise((1, 1, *shape), 1.0, 9, torch.float32)
    theirs = voxelmorph.IntegrateVelocityField(steps=6)(velocity)
    ours = fields.exponential(velocity, 6)
    inner = (..., *(slice(5, -5),) * 3)
    assert float(velocity.norm(dim=1).max()) > 1.5
    assert float((theirs - ours)[inner].abs().max()) < 1e-4
    there = voxelmorph.SpatialTransformer()(image, ours)
    here = kernels.warp(image[0], ours)
    assert float((there - here)[inner].abs().max()) < 1e-4
