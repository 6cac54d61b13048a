"""Images and labels land where other tools put them."""

import logging

import numpy as np
import pytest
import SimpleITK as sitk
import torch
from hypothesis import given, settings
from scipy.ndimage import gaussian_filter

from credwarp import itk, propagate
from credwarp.errors import InputError
from credwarp.space import Affine, Grid, Volume
from grids import any_grid

TURN = Affine(
    np.array([[1.02, 0.05, 0, 1.3], [-0.04, 0.97, 0.03, -0.8], [0, -0.06, 1.01, 0.4], [0, 0, 0, 1]])
)
TOO_NEAR = 1e-3  # voxels: closer than that to a border or to half-way, rounding decides


def noise(space: Grid) -> Volume:
    data = gaussian_filter(np.random.default_rng(0).normal(size=space.shape), 1.0)
    return Volume(space, torch.from_numpy(data).float(), "noise")


def by_itk(volume: Volume, target: Grid, interpolator: int) -> np.ndarray:
    reference = itk.to_image(Volume(target, torch.zeros(target.shape)))
    outside = float(volume.data.min())
    return sitk.GetArrayFromImage(
        sitk.Resample(itk.to_image(volume), reference, itk.to_affine_transform(TURN), interpolator, outside)
    ).T


def positions(volume: Volume, target: Grid) -> np.ndarray:
    return volume.grid.to_voxels(TURN(target.points()))


@settings(max_examples=40, deadline=None)
@given(any_grid, any_grid)
def test_linear_is_simpleitks_on_finer_and_on_coarser_grids(source, target):
    volume = noise(source)
    ours = np.asarray(propagate.apply(volume, target, TURN, "linear").data)
    voxels = positions(volume, target) + 0.5
    near = np.abs(np.stack([voxels, voxels - np.array(source.shape)])).min(axis=(0, -1)) < TOO_NEAR
    apart = np.abs(ours - by_itk(volume, target, sitk.sitkLinear))[~near]
    assert apart.max(initial=0.0) <= 1e-4 * np.ptp(np.asarray(volume.data))


@settings(max_examples=40, deadline=None)
@given(any_grid, any_grid)
def test_nearest_is_simpleitks_and_invents_no_value(source, target):
    volume = noise(source)
    labels = volume.with_data((volume.data > 0).int() * 40 + 3)
    ours = np.asarray(propagate.apply(labels, target, TURN, "nearest").data)
    assert set(np.unique(ours)) <= {3, 43}
    voxels = positions(volume, target)
    undecided = (np.abs(voxels - np.floor(voxels) - 0.5) < TOO_NEAR).any(axis=-1)
    assert np.array_equal(ours[~undecided], by_itk(labels, target, sitk.sitkNearestNeighbor)[~undecided])


def test_cubic_is_simpleitks_away_from_the_border():
    # The splines of both see the border from inside, and forget it by a factor of 2 − √3 a voxel.
    volume = noise(Grid.isotropic((30, 28, 32), 2.0))
    target = Grid.isotropic((12, 12, 12), 2.7)
    ours = np.asarray(propagate.apply(volume, target, TURN, "cubic").data)
    theirs = by_itk(volume, target, sitk.sitkBSpline)
    assert np.abs(ours - theirs).max() <= 1e-4 * np.ptp(np.asarray(volume.data))


def test_beyond_the_field_of_view_an_image_is_dark_and_labels_are_background():
    volume = noise(Grid.isotropic((8, 8, 8)))
    scan = volume.with_data(volume.data - 1000)
    labels = volume.with_data(torch.full((8, 8, 8), 5, dtype=torch.int32))
    wide = Grid.isotropic((20, 20, 20))
    identity = Affine.identity()
    assert propagate.apply(scan, wide, identity, "linear").data[0, 0, 0] == scan.data.min()
    assert propagate.apply(labels, wide, identity, "label").data[0, 0, 0] == 0


def test_labels_at_their_own_voxels_are_themselves():
    labels = Volume(
        Grid.isotropic((9, 8, 7), 1.5),
        torch.randint(0, 4, (9, 8, 7), generator=torch.Generator().manual_seed(0)),
    )
    assert torch.equal(propagate.apply(labels, labels.grid, Affine.identity(), "label").data, labels.data)


def test_an_image_is_no_labels():
    volume = noise(Grid.isotropic((6, 6, 6)))
    with pytest.raises(InputError, match="noise holds no whole numbers"):
        propagate.apply(volume, volume.grid, Affine.identity(), "label")


def test_a_transform_that_shows_nothing_is_remarked_upon(caplog):
    volume = noise(Grid.isotropic((6, 6, 6)))
    away = np.eye(4)
    away[0, 3] = 500
    with caplog.at_level(logging.WARNING, logger="credwarp"):
        propagate.apply(volume, volume.grid, Affine.identity(), "linear")
        assert caplog.text == ""
        propagate.apply(volume, volume.grid, Affine(away), "linear")
    assert "the result lies outside noise" in caplog.text
