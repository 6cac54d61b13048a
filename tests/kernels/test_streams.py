"""Sums over draws: compiled equals plain, whatever the shape; images are read where an affine map leads."""

import numpy as np
import pytest
import torch
from scipy.ndimage import map_coordinates

from credwarp import fields
from credwarp.kernels import streams
from pairs import smooth_noise

SHAPES = [(9, 7, 21), (2, 2, 2), (6, 5, 32), (3, 19, 40)]


def draws(shape, count=4, size=2.0):
    return size * smooth_noise((count, 3, *shape), 1.0, 0, torch.float32)


def summed(add, sums, values):
    return [add(sums, value, count) for count, value in enumerate(values, start=1)]


@pytest.mark.parametrize("shape", SHAPES)
def test_compiled_moments_are_those_of_stored_draws(shape):
    values = draws(shape)
    sums = streams.blank_sums(9, values)
    summed(streams.add_moments, sums, values)
    kept, exact = sums[..., : shape[2]].double(), values.double()
    apart = exact - exact.mean(dim=0)
    assert torch.allclose(kept[:3], exact.mean(dim=0), atol=1e-6)
    pairs = [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)]
    for row, (a, b) in enumerate(pairs, start=3):
        assert torch.allclose(kept[row], (apart[:, a] * apart[:, b]).sum(dim=0), atol=1e-4)


@pytest.mark.parametrize("shape", SHAPES)
def test_compiled_determinants_are_those_of_the_calculus(shape):
    values = draws(shape)
    sums = streams.blank_sums(3, values)
    folds = summed(streams.add_determinants, sums, values)
    exact = fields.jacobian_determinant(values.double())
    kept = sums[..., : shape[2]].double()
    scale = float(exact.abs().max())
    assert folds == fields.folds(exact).tolist()
    assert max(folds) > 0
    assert float((kept[0] - exact.mean(dim=0)).abs().max()) < 1e-5 * scale
    assert float((kept[1] - exact.var(dim=0) * (len(values) - 1)).abs().max()) < 1e-4 * scale**2
    assert torch.equal(kept[2], (exact <= 0).sum(dim=0).double())


@pytest.mark.parametrize("shape", SHAPES)
def test_plain_pytorch_adds_up_the_same(shape):
    values = draws(shape)
    for count, add in ((9, streams.add_moments), (3, streams.add_determinants)):
        compiled, plain = streams.blank_sums(count, values), streams.blank_sums(count, values.double())
        assert summed(add, compiled, values) == summed(add, plain, values.double())
        assert torch.allclose(
            compiled[..., : shape[2]].double(), plain[..., : shape[2]], rtol=1e-4, atol=1e-3
        )


def test_moments_keep_their_digits_far_from_zero():
    values = 30.0 + 0.01 * draws((5, 6, 7), count=200)
    sums = streams.blank_sums(9, values)
    summed(streams.add_moments, sums, values)
    exact = values.double().var(dim=0)
    assert torch.allclose(sums[3:6, ..., :7].double() / 199, exact, rtol=0.01)


@pytest.mark.parametrize("sides", [(8, 9, 10), (1, 5, 6)])
def test_an_image_is_read_where_the_map_leads(sides):
    random = np.random.default_rng(0)
    image = torch.from_numpy(random.normal(size=sides)).float()
    matrix = np.array([[0.9, 0.1, 0.0, -1.0], [-0.1, 1.1, 0.05, 0.5], [0.0, 0.0, 1.2, -2.0]])
    field = draws((7, 8, 9), count=1)[0]
    found = streams.look_up(image, field, torch.from_numpy(matrix), -5.0)
    places = np.stack(np.meshgrid(*map(np.arange, (7, 8, 9)), indexing="ij")) + np.asarray(field, np.float64)
    voxels = np.einsum("ab,bxyz->axyz", matrix[:, :3], places) + matrix[:, 3, None, None, None]
    inside = np.all([(v >= -0.5) & (v <= n - 0.5) for v, n in zip(voxels, sides, strict=True)], axis=0)
    known = map_coordinates(np.asarray(image), voxels, order=1, mode="nearest")
    assert 0 < inside.sum() < inside.size
    assert np.allclose(np.asarray(found), np.where(inside, known, -5.0), atol=1e-5)
