"""Resampling keeps values where they are in the patient."""

import numpy as np
import pytest
import SimpleITK as sitk
import torch
from hypothesis import given, settings
from scipy.ndimage import gaussian_filter

from credwarp import itk
from credwarp.space import Affine, Grid, Volume, Warp, resample, resample_labels, resample_mask, sample
from grids import any_grid


def linear_image(space: Grid) -> Volume:
    return Volume(space, torch.from_numpy(space.points() @ [0.3, -0.2, 0.5] + 7).float())


@settings(max_examples=40, deadline=None)
@given(any_grid, any_grid)
def test_a_linear_image_stays_the_same_function_of_the_patient(source, target):
    moved = resample(linear_image(source), target, outside=np.nan)
    truth = linear_image(target).data
    voxels = source.to_voxels(target.points())
    inner = torch.from_numpy(((voxels >= 0) & (voxels <= np.array(source.shape) - 1)).all(-1))
    if max(target.spacing) > min(source.spacing):
        far = (voxels >= 4) & (voxels <= np.array(source.shape) - 5)
        inner &= torch.from_numpy(far.all(-1))
    assert torch.allclose(moved.data[inner], truth[inner], atol=2e-3)


@settings(max_examples=40, deadline=None)
@given(any_grid)
def test_it_agrees_with_itk_through_an_affine(source):
    data = gaussian_filter(np.random.default_rng(0).normal(size=source.shape), 1.0)
    image = Volume(source, torch.from_numpy(data).float())
    target = source.with_spacing([0.9 * h for h in source.spacing])
    matrix = np.eye(4)
    matrix[:3, :3] += 0.05 * np.random.default_rng(1).normal(size=(3, 3))
    matrix[:3, 3] = 0.3 * np.array(source.spacing)
    through = Affine(matrix)
    ours = resample(image, target, through, outside=-5.0).data
    reference = itk.to_image(Volume(target, torch.zeros(target.shape)))
    theirs = sitk.Resample(
        itk.to_image(image), reference, itk.to_affine_transform(through), sitk.sitkLinear, -5.0
    )
    voxels = source.to_voxels(through(target.points()))
    border = np.abs(np.stack([voxels + 0.5, voxels + 0.5 - np.array(source.shape)])).min(axis=(0, -1)) < 1e-3
    apart = np.abs(np.asarray(ours) - sitk.GetArrayFromImage(theirs).T)[~border]
    assert apart.max() <= 1e-4 * np.ptp(data)


def test_down_sampling_leaves_no_alias():
    space = Grid.isotropic((64, 8, 8))
    stripes = torch.cos(torch.pi * 0.96 * torch.arange(64.0))[:, None, None].expand(64, 8, 8)
    coarse = resample(Volume(space, stripes.contiguous()), space.with_spacing(3.0))
    assert coarse.data[2:-2].abs().max() < 0.1


def test_up_sampling_does_not_blur():
    space = Grid.isotropic((16, 16, 16))
    image = Volume(space, torch.randn((16, 16, 16), generator=torch.Generator().manual_seed(0)))
    assert torch.equal(resample(image, space).data, image.data)


def test_cubic_sampling_follows_a_wave_closer_than_linear():
    space = Grid.isotropic((32, 8, 8))
    points = np.stack([np.linspace(-10, 10, 101), np.zeros(101), np.zeros(101)], axis=-1)
    wave = Volume(space, torch.from_numpy(np.sin(0.6 * space.points()[..., 0])).float())
    truth = np.sin(0.6 * points[:, 0])
    linear, cubic = (np.abs(sample(wave, points, order=o) - truth).max() for o in (1, 3))
    assert cubic < 0.2 * linear


def ball(space: Grid, centre, radius: float) -> np.ndarray:
    return np.linalg.norm(space.points() - np.array(centre), axis=-1) <= radius


@pytest.mark.parametrize("spacing", [0.7, 1.0, 1.6, 2.3])
def test_labels_stay_with_the_image_within_a_twentieth_of_a_voxel(spacing):
    space = Grid.isotropic((48, 48, 48))
    member = ball(space, (1.3, -2.6, 0.4), 11.0)
    target = space.with_spacing(spacing)
    label = resample_labels(Volume(space, torch.from_numpy(member.astype(np.int32) * 7)), target)
    image = resample(Volume(space, torch.from_numpy(member.astype(np.float32))), target)

    def centroid(weight):
        return (target.points() * np.asarray(weight, dtype=float)[..., None]).sum((0, 1, 2)) / float(
            weight.sum()
        )

    assert np.abs(centroid(label.data == 7) - centroid(image.data)).max() <= 0.05 * max(spacing, 1.0)


def test_small_labels_survive_down_sampling():
    space = Grid.isotropic((24, 24, 24))
    data = torch.zeros((24, 24, 24), dtype=torch.int32)
    data[4:20, 4:20, 4:20] = 1
    data[8, 9, 10] = 2
    data[15, 15, 14:16] = 300
    coarse = resample_labels(Volume(space, data), space.with_spacing(3.0))
    assert coarse.labels == (1, 2, 300)
    assert coarse.data.dtype == torch.int32


def test_labels_on_their_own_grid_are_untouched():
    space = Grid.isotropic((9, 8, 7))
    data = torch.randint(0, 4, (9, 8, 7), generator=torch.Generator().manual_seed(0))
    assert torch.equal(resample_labels(Volume(space, data), space).data, data)


def test_labels_and_masks_are_background_beyond_the_field_of_view():
    space = Grid.isotropic((8, 8, 8))
    wide = Grid.isotropic((16, 16, 16))
    full = Volume(space, torch.ones((8, 8, 8), dtype=torch.int64))
    assert int(resample_labels(full, wide).data.sum()) == 8**3
    assert int(resample_mask(full.with_data(full.data.bool()), wide).data.sum()) == 8**3


def test_a_warp_moves_points_by_its_field_between_its_affines():
    space = Grid.isotropic((9, 9, 9), 2.0)
    shift = torch.tensor([1.0, -2.0, 0.5]).view(3, 1, 1, 1).expand(3, 9, 9, 9).contiguous()
    turn = Affine(np.array([[0, -1, 0, 2], [1, 0, 0, -1], [0, 0, 1, 0.5], [0, 0, 0, 1.0]]))
    warp = Warp(space, shift, before=turn, after=turn.inverse())
    points = np.array([[0.5, 1.0, -2.0], [100.0, 0.0, 0.0]])
    truth = turn.inverse()(turn(points) + np.array([[1.0, -2.0, 0.5], [0.0, 0.0, 0.0]]))
    assert np.allclose(warp(points), truth, atol=1e-6)


@pytest.mark.parametrize(("shift", "first"), [(0.4, 5), (0.6, 4)])
def test_a_mask_is_where_at_least_half_of_it_is(shift, first):
    grid = Grid.isotropic((10, 4, 4), 1.0)
    mask = torch.zeros(grid.shape, dtype=torch.bool)
    mask[5:] = True
    along = np.eye(4)
    along[0, 3] = shift
    moved = resample_mask(Volume(grid, mask, "half"), grid, Affine(along))
    assert moved.data[:, 0, 0].int().argmax() == first
