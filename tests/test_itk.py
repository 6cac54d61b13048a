"""The border to SimpleITK: places, numbers and points survive it both ways."""

import numpy as np
import pytest
import SimpleITK as sitk
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from credwarp.itk import from_image, from_linear_transform, grid_of, to_affine_transform, to_image
from credwarp.space import Affine, Grid, Volume
from grids import any_grid

LPS = np.array([-1.0, -1.0, 1.0])


@settings(max_examples=60, deadline=None)
@given(on=any_grid, seed=st.integers(0, 1000))
def test_a_voxel_is_at_the_same_place_and_has_the_same_value_there(on, seed):
    random = np.random.default_rng(seed)
    volume = Volume(on, torch.from_numpy(random.normal(size=on.shape).astype(np.float32)))
    image = to_image(volume)
    voxel = [int(n) for n in random.integers(0, on.shape)]
    place = np.array(image.TransformIndexToPhysicalPoint(voxel)) * LPS
    assert np.allclose(place, on.to_world(np.array(voxel, dtype=float)), atol=1e-9)
    assert image.GetPixel(voxel) == pytest.approx(float(volume.data[tuple(voxel)]))
    again = from_image(image, "again")
    assert again.grid.matches(on, 1e-9)
    assert torch.equal(again.data, volume.data)
    assert grid_of(image).orientation == on.orientation


def test_a_mask_becomes_bytes_and_labels_keep_their_type():
    on = Grid.isotropic((4, 5, 6))
    mask = to_image(Volume(on, torch.ones(on.shape, dtype=torch.bool)))
    labels = to_image(Volume(on, torch.full(on.shape, 70000, dtype=torch.int32)))
    assert mask.GetPixelID() == sitk.sitkUInt8
    assert labels.GetPixelID() == sitk.sitkInt32
    assert labels.GetPixel(1, 2, 3) == 70000


def test_an_affine_moves_points_alike_on_both_sides():
    matrix = np.array([[1.1, 0.2, 0, 3], [0, 0.9, 0.1, -2], [0.1, 0, 1, 5], [0, 0, 0, 1]])
    affine = Affine(matrix)
    transform = to_affine_transform(affine)
    points = np.random.default_rng(0).normal(size=(20, 3)) * 50
    landed = np.array([transform.TransformPoint((p * LPS).tolist()) for p in points]) * LPS
    assert np.allclose(landed, affine(points), atol=1e-9)
    assert np.allclose(from_linear_transform(transform).matrix, matrix, atol=1e-12)


def test_a_centre_of_rotation_is_folded_in():
    transform = sitk.Euler3DTransform((30.0, -20.0, 10.0), 0.1, 0.2, 0.3, (1.0, 2.0, 3.0))
    point = np.array([5.0, 6.0, 7.0])
    landed = np.array(transform.TransformPoint((point * LPS).tolist())) * LPS
    assert np.allclose(from_linear_transform(transform)(point), landed, atol=1e-9)
