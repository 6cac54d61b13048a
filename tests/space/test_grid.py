"""A grid says where its voxels are, in any orientation."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from credwarp.errors import InputError
from credwarp.space import Grid
from grids import ORIENTATIONS, any_grid, grid


@given(any_grid)
def test_voxels_to_world_and_back_is_the_identity(space):
    voxels = np.random.default_rng(0).uniform(-3, 12, (20, 3))
    assert np.allclose(space.to_voxels(space.to_world(voxels)), voxels, atol=1e-9)


@given(any_grid)
def test_points_are_the_voxels_places(space):
    points = space.points()
    last = np.array(space.shape) - 1
    assert np.allclose(points[tuple(last)], space.to_world(last.astype(float)))
    assert np.allclose(space.points(2, 4), points[2:4])


@pytest.mark.parametrize("orientation", ORIENTATIONS)
def test_the_orientation_is_named_by_the_nearest_anatomical_directions(orientation):
    order, signs = orientation
    name = "".join(("RAS" if s > 0 else "LPI")[w] for w, s in zip(order, signs, strict=True))
    assert grid((4, 5, 6), (1, 2, 3), orientation, (8, -10, 12)).orientation == name


@given(any_grid, st.floats(0.4, 6.0))
def test_another_spacing_keeps_centre_directions_and_the_whole_field_of_view(space, spacing):
    other = space.with_spacing(spacing)
    assert np.allclose(other.spacing, spacing)
    assert np.allclose(other.centre, space.centre, atol=1e-9)
    assert np.allclose(other.directions, space.directions, atol=1e-9)
    assert other.contains(space.points()).all()


@given(any_grid)
def test_its_own_spacing_is_the_same_grid(space):
    assert space.with_spacing(space.spacing).matches(space, 1e-6)


def test_a_coarsened_voxel_covers_exactly_its_fine_ones():
    fine = Grid.isotropic((8, 6, 4), 1.5)
    coarse = fine.coarsened(2)
    assert coarse.shape == (4, 3, 2)
    assert np.allclose(coarse.to_world(np.zeros(3)), fine.to_world(np.full(3, 0.5)))


def test_grids_are_equal_by_value():
    assert Grid.isotropic((4, 5, 6), 2.0) == Grid.isotropic((4, 5, 6), 2.0)
    assert Grid.isotropic((4, 5, 6), 2.0) != Grid.isotropic((4, 5, 6), 2.1)
    assert hash(Grid.isotropic((4, 5, 6), 2.0)) == hash(Grid.isotropic((4, 5, 6), 2.0))


def test_a_grid_cannot_be_changed():
    space = Grid.isotropic((4, 5, 6))
    with pytest.raises(ValueError, match="read-only"):
        space.affine[0, 0] = 3.0


@settings(max_examples=30)
@given(any_grid)
def test_a_sheared_grid_finds_the_nearest_right_angles(space):
    shear = np.eye(4)
    shear[0, 1] = 0.2
    sheared = Grid(space.shape, shear @ space.affine)
    assert not sheared.is_orthogonal
    squared = sheared.squared()
    assert squared.is_orthogonal
    assert np.allclose(squared.centre, sheared.centre)
    assert space.squared().matches(space, 1e-6)


@pytest.mark.parametrize(
    ("shape", "affine", "words"),
    [
        ((0, 2, 2), np.eye(4), "at least one voxel"),
        ((2, 2, 2), np.eye(3), "4 × 4"),
        ((2, 2, 2), np.diag([1, 1, np.nan, 1]), "finite"),
        ((2, 2, 2), np.diag([1.0, 1.0, 0.0, 1.0]), "singular"),
        ((2, 2, 2), np.diag([1.0, 1.0, 1.0, 2.0]), "row"),
    ],
)
def test_a_grid_that_cannot_be_is_refused_in_a_sentence(shape, affine, words):
    with pytest.raises(InputError, match=words):
        Grid(shape, affine)


def test_grids_match_where_voxels_are_within_a_thousandth():
    space = Grid.isotropic((5, 6, 7), 2.0)
    for voxels, same in ((0.0005, True), (0.01, False)):
        affine = space.affine.copy()
        affine[0, 3] += voxels * 2.0
        assert space.matches(Grid(space.shape, affine)) is same
    assert not space.matches(Grid.isotropic((5, 6, 8), 2.0))
