"""Calculus on fields: known flows, laws of the exponential and the inverse, determinants of linear maps."""

import numpy as np
import pytest
import scipy.linalg
import torch

from credwarp import fields
from credwarp.kernels import slope
from credwarp.space import Affine, Grid, Warp
from credwarp.spectral import Diagonal, laplacian_eigenvalues

SHAPE = (20, 24, 22)
ROTATION = np.array([[0.0, -0.3, 0.1], [0.3, 0.0, -0.2], [-0.1, 0.2, 0.0]])
STRETCH = np.array([[0.2, 0.05, 0.0], [0.1, -0.15, 0.05], [0.0, 0.1, 0.1]])


def linear(matrix, shape=SHAPE):
    """The field `matrix` (x − middle), two chains of it: as it is and negated."""
    axes = [torch.arange(n, dtype=torch.float32) - (n - 1) / 2 for n in shape]
    places = torch.stack(torch.meshgrid(*axes, indexing="ij"))
    field = torch.einsum("ab,bxyz->axyz", torch.as_tensor(matrix, dtype=torch.float32), places)
    return torch.stack([field, -field])


def smooth_field(largest, shape=SHAPE, seed=0, chains=1):
    """A draw of a smooth prior that vanishes at the border, its longest vector `largest` voxels."""
    operator = Diagonal((0.04 + laplacian_eigenvalues(shape, (1.0, 1.0, 1.0)))[None] ** 3)
    field = operator.draw(torch.Generator().manual_seed(seed), chains)
    for axis, n in zip((2, 3, 4), shape, strict=True):
        window = torch.sin(torch.pi * (torch.arange(n) + 0.5) / n) ** 2
        field = field * window.view([-1 if a == axis else 1 for a in range(5)])
    return field * (largest / torch.linalg.vector_norm(field, dim=1).max())


def oblique_grid(shape=SHAPE, spacing=(1.5, 0.8, 2.2)):
    turn = scipy.linalg.expm(2 * ROTATION) @ np.diag([-1, 1, 1])
    affine = np.eye(4)
    affine[:3, :3] = turn * np.array(spacing)
    affine[:3, 3] = [12, -30, 7]
    return Grid(shape, affine)


def length(field):
    return torch.linalg.vector_norm(field, dim=1)


def interior(field, margin):
    return field[..., margin:-margin, margin:-margin, margin:-margin]


@pytest.mark.parametrize("matrix", [ROTATION, STRETCH], ids=["rotation", "affine"])
def test_the_flow_of_a_linear_velocity_is_the_matrix_exponential(matrix):
    found = fields.exponential(linear(matrix), 12)
    expected = linear(scipy.linalg.expm(matrix) - np.eye(3))
    expected[1] = linear(scipy.linalg.expm(-matrix) - np.eye(3))[0]
    assert interior(length(found - expected), 6).max() < 1e-3


def test_no_squaring_is_the_velocity_itself():
    velocity = smooth_field(4.0)
    assert torch.equal(fields.exponential(velocity, 0), velocity)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_minus_the_velocity_is_the_way_back(axis):
    shape = [6, 7, 8]
    shape[axis] = 96
    wave = torch.sin(torch.pi * (torch.arange(96) + 0.5) / 96).view(
        [-1 if a == axis + 1 else 1 for a in range(4)]
    )
    velocity = (torch.tensor([6.0, -6.5, 4.6]).view(3, 1, 1, 1) * wave).expand(3, *shape)[None]
    there, back = fields.exponential(velocity, 10), fields.exponential(-velocity, 10)
    assert length(there).max() > 9
    assert length(fields.compose(there, back)).max() < 0.02


def test_halves_of_a_flow_compose_to_the_whole():
    velocity = smooth_field(6.0)
    half = fields.exponential(velocity / 2, 6)
    torch.testing.assert_close(fields.compose(half, half), fields.exponential(velocity, 7))


def test_the_squarings_are_enough_and_one_fewer_is_not():
    velocity = torch.cat([smooth_field(2.0, (12, 13, 14)), smooth_field(1.0, (12, 13, 14), seed=1)])
    finest = fields.exponential(velocity, 12)
    needed = fields.squarings_needed(velocity)
    assert 2 < needed < 8
    assert length(fields.exponential(velocity, needed) - finest).max() <= 0.02
    assert length(fields.exponential(velocity, needed - 1) - finest).max() > 0.02
    assert fields.squarings_needed(velocity, tolerance=0.2) < needed


def test_no_motion_needs_no_squarings():
    assert fields.squarings_needed(torch.zeros((1, 3, *SHAPE))) == 0


def test_the_inverse_composed_with_its_field_is_the_identity():
    displacement = fields.exponential(smooth_field(6.0, chains=2), 7)
    inverse = fields.invert(displacement, tolerance=1e-4)
    assert inverse.residual.max() <= 1e-4
    assert length(fields.compose(displacement, inverse.displacement)).max() < 2e-4


def test_the_inverse_of_a_steep_field_is_found_where_fixed_points_diverge():
    displacement = linear(1.2 * STRETCH + 2 * ROTATION)[:1]
    inverse = fields.invert(displacement, tolerance=1e-4)
    assert inverse.residual.max() <= 1e-4
    expected = linear(np.linalg.inv(np.eye(3) + 1.2 * STRETCH + 2 * ROTATION) - np.eye(3))[0]
    assert interior(length(inverse.displacement - expected), 7).max() < 1e-3


def test_the_residual_of_a_torn_field_is_what_the_inverse_misses_by():
    torn = 6 * torch.randn((2, 3, 9, 8, 7), generator=torch.Generator().manual_seed(0))
    inverse = fields.invert(torn)
    missed = length(fields.compose(torn, inverse.displacement))
    torch.testing.assert_close(inverse.residual, missed, atol=1e-5, rtol=0)
    assert missed.max() > 1e-2


@pytest.mark.parametrize("matrix", [ROTATION, STRETCH, np.diag([-1.5, 0, 0])])
def test_determinants_of_linear_maps_are_exact_up_to_the_border(matrix):
    displacement = linear(matrix)
    expected = torch.tensor([np.linalg.det(np.eye(3) + s * matrix) for s in (1, -1)], dtype=torch.float32)
    expected = expected.view(2, 1, 1, 1).expand(2, *SHAPE)
    torch.testing.assert_close(fields.jacobian_determinant(displacement), expected, atol=2e-5, rtol=0)
    torch.testing.assert_close(fields.smallest_determinant(displacement), expected, atol=2e-5, rtol=0)


def test_the_jacobian_has_components_as_rows_and_axes_as_columns():
    matrix = torch.tensor(np.eye(3) + STRETCH, dtype=torch.float32)[:, :, None, None, None]
    torch.testing.assert_close(
        fields.jacobian(linear(STRETCH))[0], matrix.expand(3, 3, *SHAPE), atol=1e-5, rtol=0
    )


def test_the_log_determinant_of_the_identity_is_zero():
    still = torch.zeros((2, 3, *SHAPE))
    assert fields.jacobian_determinant(still).log().abs().max() == 0
    assert torch.equal(fields.folds(fields.smallest_determinant(still)), torch.zeros(2, dtype=torch.int64))


def test_a_side_of_one_voxel_does_not_stretch():
    flat = linear(STRETCH, (6, 7, 1))
    expected = np.linalg.det(np.eye(3) + STRETCH * [1, 1, 0])
    for determinant in (fields.jacobian_determinant(flat), fields.smallest_determinant(flat)):
        assert determinant[0].mean() == pytest.approx(expected, abs=1e-5)


def test_folds_are_counted_per_chain_with_zero_among_them():
    determinant = torch.ones((2, 4, 4, 4))
    determinant[1, 0, 0, 0] = 0.0
    determinant[1, 1, 1, 1] = -1.0
    assert fields.folds(determinant).tolist() == [0, 2]


def test_a_fold_between_two_voxels_hides_from_central_differences_only():
    displacement = torch.zeros((1, 3, 9, 5, 5))
    displacement[:, 0, 4] = 1.5
    central, corners = fields.jacobian_determinant(displacement), fields.smallest_determinant(displacement)
    assert central[0, 4].min() == 1
    assert corners[0, 4].max() == pytest.approx(-0.5)
    assert fields.folds(corners)[0] == 2 * 5 * 5


def test_corner_determinants_are_those_of_the_trilinear_map():
    displacement = 0.5 * torch.randn((1, 3, 3, 3, 3), generator=torch.Generator().manual_seed(0))
    corners = []
    for signs in [(a, b, c) for a in (-1, 1) for b in (-1, 1) for c in (-1, 1)]:
        place = torch.full((1, 3, 3, 3, 3), 0.0)
        place[0, :, 1, 1, 1] = 1e-4 * torch.tensor(signs)
        corners.append(torch.linalg.det(torch.eye(3) + slope(displacement[0], place)[0, :, :, 1, 1, 1]))
    found = fields.smallest_determinant(displacement)[0, 1, 1, 1]
    assert found == pytest.approx(float(torch.stack(corners).min()), abs=2e-3)


def test_millimetres_and_voxels_undo_each_other_and_follow_the_grid():
    grid = oblique_grid()
    field = smooth_field(3.0, chains=2)
    millimetres = fields.to_millimetres(field, grid)
    torch.testing.assert_close(fields.to_voxels(millimetres, grid), field, atol=1e-5, rtol=0)
    place = np.array([9.0, 14.0, 20.0])
    step = np.asarray(field[1, :, 9, 14, 20], dtype=np.float64)
    expected = grid.to_world(place + step) - grid.to_world(place)
    np.testing.assert_allclose(np.asarray(millimetres[1, :, 9, 14, 20]), expected, atol=1e-5)
    assert fields.to_millimetres(field[0], grid).shape == field[0].shape


@pytest.mark.parametrize("inverse_spacing", [0.9, 2.5])
def test_the_inverse_of_a_warp_leads_back_to_every_voxel_it_is_given_at(inverse_spacing):
    grid = oblique_grid()
    turn = np.eye(4)
    turn[:3, :3] = scipy.linalg.expm(ROTATION) * 1.1
    turn[:3, 3] = [5, -3, 2]
    displacement = fields.to_millimetres(fields.exponential(smooth_field(3.0), 8), grid)[0]
    forward = Warp(grid, displacement, Affine(turn), Affine(turn @ turn))
    target = grid.with_spacing(inverse_spacing)
    back = fields.invert_warp(forward, target)
    points = forward.after(target.points())
    assert np.linalg.norm(forward(back(points)) - points, axis=-1).max() < 0.01
    assert np.linalg.norm(back.displacement) > 1


def test_a_warp_and_its_inverse_end_at_the_border_together():
    grid = oblique_grid()
    shift = torch.zeros((3, *SHAPE))
    shift[0] = 2.0
    forward = Warp(grid, shift, Affine.identity(), Affine.identity())
    affine = grid.affine.copy()
    affine[:3, 3] = grid.to_world(np.array([-8.0, -8.0, -8.0]))
    wide = Grid((40, 40, 40), affine)
    points = wide.points()
    back = fields.invert_warp(forward, wide)
    origin = back(points)
    returned = np.linalg.norm(forward(origin) - points, axis=-1)
    # Neither moved nor unmoved points reach the gap that a shifted block leaves behind it.
    gap = grid.contains(points) & ~grid.contains(points - [2.0, 0.0, 0.0])
    assert gap.any()
    assert returned[~gap].max() < 0.01
    # Where two points arrive, the one that was moved counts.
    moved = grid.contains(points - [2.0, 0.0, 0.0])
    assert (moved & ~grid.contains(points)).any()
    np.testing.assert_allclose(origin[moved], points[moved] - [2.0, 0.0, 0.0], atol=0.01)
