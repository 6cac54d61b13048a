"""The reference means what its sentences say: finite differences, loops, SciPy."""

import itertools

import numpy as np
import pytest
import torch
from scipy.ndimage import convolve1d, map_coordinates

from credwarp.kernels import reference

SHAPE = (2, 3, 4)


def random(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64)


WEIGHT = random(1, *SHAPE, seed=5).abs()
MATRICES = [random(n + 1, n, seed=n) for n in SHAPE]
FUNCTIONS = {
    "compose": (reference.compose, (random(1, 3, *SHAPE), random(1, 3, *SHAPE, seed=1))),
    "square": (reference.square, (random(2, 3, *SHAPE),)),
    "exponential": (lambda v: reference.exponential(v, 3), (random(1, 3, *SHAPE),)),
    "warp": (reference.warp, (random(2, *SHAPE), random(2, 3, *SHAPE, seed=1))),
    "slope": (reference.slope, (random(1, *SHAPE), random(1, 3, *SHAPE, seed=1))),
    "local_mean": (lambda image: reference.local_mean(image, 1), (random(2, 1, *SHAPE),)),
    "local_variance": (lambda image: reference.local_variance(image, 1), (random(2, 1, *SHAPE),)),
    "standardise": (lambda image: reference.standardise(image, 1, 0.3), (random(2, 1, *SHAPE),)),
    "smooth": (lambda u: reference.smooth(u, (0.4, 0.2, 0.1)), (random(1, 3, *SHAPE),)),
    "helmholtz": (lambda u: reference.helmholtz(u, 0.3, (1.0, 2.0, 0.7)), (random(1, 3, *SHAPE),)),
    "inner": (reference.inner, (random(2, 3, *SHAPE), random(2, 3, *SHAPE, seed=1))),
    "expand": (lambda u: reference.expand(u, MATRICES), (random(1, 3, *SHAPE),)),
    "mixture_log_prob": (
        lambda r, share, precision: reference.mixture_log_prob(r, WEIGHT, share, precision),
        (random(2, 1, *SHAPE), random(2, 3, seed=1), random(2, 3, seed=2)),
    ),
    "mixture_statistics": (
        lambda r, share, precision: reference.mixture_statistics(r, WEIGHT, share, precision),
        (random(2, 1, *SHAPE), random(2, 3, seed=1), random(2, 3, seed=2)),
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_equal_finite_differences(name):
    function, inputs = FUNCTIONS[name]
    assert torch.autograd.gradcheck(function, [value.clone().requires_grad_() for value in inputs])


def displaced(image, displacement):
    places = np.indices(image.shape) + np.asarray(displacement)
    return torch.from_numpy(map_coordinates(np.asarray(image), places, order=1, mode="nearest"))


@pytest.mark.parametrize("length", [0.5, 3.0, 40.0])
def test_warp_is_linear_interpolation_with_the_border_continued(length):
    image, u = random(2, *SHAPE), length * random(2, 3, *SHAPE, seed=1)
    found = reference.warp(image, u)
    for chain, channel in itertools.product(range(2), range(2)):
        torch.testing.assert_close(found[chain, channel], displaced(image[channel], u[chain]))


def test_compose_goes_first_by_the_inner_field_and_then_by_the_outer():
    outer, inner = random(1, 3, *SHAPE), random(1, 3, *SHAPE, seed=1)
    found = reference.compose(outer, inner)
    for c in range(3):
        torch.testing.assert_close(found[0, c], inner[0, c] + displaced(outer[0, c], inner[0]))
    assert torch.equal(reference.square(outer), reference.compose(outer, outer))


def windows(image, radius):
    for place in itertools.product(*(range(n) for n in image.shape)):
        yield place, image[tuple(slice(max(i - radius, 0), i + radius + 1) for i in place)]


@pytest.mark.parametrize("radius", [1, 2, 6])
def test_local_statistics_equal_a_loop_over_windows(radius):
    image = 50 + 3 * random(*SHAPE)
    mean, variance = reference.local_mean(image, radius), reference.local_variance(image, radius)
    standardised = reference.standardise(image, radius, 0.7)
    for place, window in windows(image, radius):
        assert mean[place] == pytest.approx(float(window.mean()), rel=1e-12)
        assert variance[place] == pytest.approx(float(window.var(unbiased=False)), rel=1e-9, abs=1e-9)
        wanted = (image[place] - window.mean()) / torch.sqrt(window.var(unbiased=False) + 0.49)
        assert standardised[place] == pytest.approx(float(wanted), rel=1e-9, abs=1e-9)


def test_the_exponential_of_a_linear_velocity_stretches_by_its_factor():
    places = torch.arange(33, dtype=torch.float64) - 16
    velocity = torch.zeros(1, 3, 33, 2, 2, dtype=torch.float64)
    velocity[:, 0] = 0.2 * places[:, None, None]
    found = reference.exponential(velocity, 10)[0, 0, 6:-6, 0, 0]
    assert torch.allclose(found, (np.exp(0.2) - 1) * places[6:-6], atol=1e-3)


def test_smoothing_is_scipys_convolution_with_the_edge_repeated():
    field, taps = random(1, 3, 7, 5, 6), (0.4, 0.2, 0.1)
    wanted = field.numpy()
    for axis in (2, 3, 4):
        wanted = convolve1d(wanted, [0.1, 0.2, 0.4, 0.2, 0.1], axis=axis, mode="reflect")
    assert np.allclose(reference.smooth(field, taps), wanted, atol=1e-12)


def test_the_helmholtz_operator_is_kappa_squared_minus_second_differences():
    field, kappa, spacing = random(1, 3, 4, 5, 3), 0.3, (1.0, 2.0, 0.7)
    wanted = kappa**2 * field.numpy()
    for axis, step in zip((2, 3, 4), spacing, strict=True):
        wanted -= convolve1d(field.numpy(), [1.0, -2.0, 1.0], axis=axis, mode="reflect") / step**2
    assert np.allclose(reference.helmholtz(field, kappa, spacing), wanted, atol=1e-12)


def test_a_slope_is_the_rise_of_the_warped_image():
    image, field = random(2, 5, 6, 7), 0.4 * random(1, 3, 5, 6, 7, seed=1)
    found = reference.slope(image, field)
    for axis in range(3):
        step = torch.zeros_like(field)
        step[:, axis] = 1e-6
        rise = (reference.warp(image, field + step) - reference.warp(image, field - step)) / 2e-6
        inner = (slice(None), slice(None), slice(1, -1), slice(1, -1), slice(1, -1))
        assert torch.allclose(found[:, :, axis][inner], rise[inner], atol=1e-6)


def test_smoothing_and_the_helmholtz_operator_are_symmetric():
    left, right = random(1, 3, *SHAPE), random(1, 3, *SHAPE, seed=1)
    for operator in (FUNCTIONS["smooth"][0], FUNCTIONS["helmholtz"][0]):
        one, other = reference.inner(operator(left), right), reference.inner(left, operator(right))
        torch.testing.assert_close(one, other)


def test_the_mixture_is_that_of_its_formula():
    r, share, precision = (
        random(1, 1, *SHAPE),
        torch.tensor([[0.3, 0.7]]).double(),
        torch.tensor([[2.0, 0.5]]).double(),
    )
    density = sum(
        share[0, i] * torch.sqrt(precision[0, i] / (2 * np.pi)) * torch.exp(-precision[0, i] * r[0] ** 2 / 2)
        for i in range(2)
    )
    found = reference.mixture_log_prob(r, WEIGHT, share.log(), precision.log())
    assert float(found) == pytest.approx(float((WEIGHT * density.log()).sum()), rel=1e-12)
    counts, squares = reference.mixture_statistics(r, WEIGHT, share.log(), precision.log())
    assert float(counts.sum()) == pytest.approx(float(WEIGHT.sum()), rel=1e-12)
    assert float(squares.sum()) == pytest.approx(float((WEIGHT * r[0] ** 2).sum()), rel=1e-12)
