"""FSL's files, checked with its own library."""

import logging

import fsl.data.image
import nibabel as nib
import numpy as np
import pytest
import torch
from fsl.transform import flirt, nonlinear
from hypothesis import HealthCheck, given, settings

from credwarp import files
from credwarp.errors import InputError
from credwarp.files.fsl import to_fsl
from credwarp.space import Affine, Grid, Warp
from grids import ORIENTATIONS, any_grid, grid

FIXED = grid((7, 9, 8), (1.1, 2.3, 0.8), ORIENTATIONS[13], (20, -15, 33), (40.0, -70.0, 12.0))
MOVING = grid((6, 5, 11), (2.0, 0.7, 1.5), ORIENTATIONS[30], (-20, 5, 13), (-10.0, 20.0, 2.0))
TILT = Affine(np.array([[1.1, 0.2, 0, 3], [0, 0.9, 0.1, -2], [0.1, 0, 1, 5], [0, 0, 0, 1]]))


def theirs(on):
    return fsl.data.image.Image(nib.Nifti1Image(np.zeros(on.shape, np.float32), on.affine))


def warp():
    values = np.random.default_rng(0).normal(size=(3, *FIXED.shape)).astype(np.float32)
    return Warp(FIXED, torch.from_numpy(values), Affine.identity(), TILT)


@settings(max_examples=60, deadline=None)
@given(on=any_grid)
def test_our_fsl_coordinates_are_fslpys(on):
    assert np.allclose(to_fsl(on).matrix, theirs(on).getAffine("world", "fsl"), atol=1e-3)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(fixed=any_grid, moving=any_grid)
def test_a_flirt_matrix_is_what_fslpy_takes_it_for(tmp_path, fixed, moving):
    files.write_fsl(TILT, fixed, moving, tmp_path / "map.mat")
    matrix = flirt.fromFlirt(
        flirt.readFlirt(tmp_path / "map.mat"), theirs(moving), theirs(fixed), "world", "world"
    )
    assert np.allclose(matrix @ TILT.matrix, np.eye(4), atol=1e-3)  # theirs goes from moving to fixed
    again = files.read_transform(tmp_path / "map.mat", fixed, moving)
    assert np.allclose(again(fixed.corners()), TILT(fixed.corners()), atol=1e-9)


def test_a_field_of_fslpy_is_read(tmp_path):
    """Its own conversion of world displacements to FSL's, not ours."""
    mapping = warp()
    moved = mapping(FIXED.points())
    world = nonlinear.DeformationField(
        (moved - FIXED.points()).astype(np.float32),
        xform=FIXED.affine,
        src=theirs(MOVING),
        ref=theirs(FIXED),
        srcSpace="world",
        refSpace="world",
        defType="relative",
    )
    field = nonlinear.convertDeformationSpace(world, "fsl", "fsl")
    field.save(tmp_path / "warp.nii.gz")
    again = files.read_fsl(tmp_path / "warp.nii.gz", FIXED, MOVING)
    assert np.allclose(again(FIXED.points()), moved, atol=1e-3)


def test_a_warp_file_says_that_it_is_one(tmp_path):
    files.write_fsl(warp(), FIXED, MOVING, tmp_path / "warp.nii.gz")
    image = nib.load(tmp_path / "warp.nii.gz")
    assert image.shape == (*FIXED.shape, 3)
    assert int(image.header["intent_code"]) == 2006
    assert image.get_data_dtype() == np.float32


def test_without_the_images_an_fsl_file_means_nothing(tmp_path):
    files.write_fsl(warp(), FIXED, MOVING, tmp_path / "warp.nii.gz")
    files.write_fsl(TILT, FIXED, MOVING, tmp_path / "map.mat")
    for name in ("warp.nii.gz", "map.mat"):
        with pytest.raises(InputError, match="is FSL's, which means nothing without its two images; give"):
            files.read_transform(tmp_path / name)


@pytest.mark.parametrize("orientation", ORIENTATIONS)
def test_absolute_coordinates_are_doubted_and_displacements_are_not(tmp_path, caplog, orientation):
    fixed = grid((12, 13, 11), (1.0, 1.0, 1.0), ORIENTATIONS[13], (5, 5, 5))
    turned = grid((14, 14, 14), (1.1, 1.0, 1.2), orientation)
    onto = np.eye(4)
    onto[:3, 3] = TILT(fixed.centre) - turned.centre
    moving = Grid(turned.shape, onto @ turned.affine)
    with caplog.at_level(logging.WARNING, "credwarp"):
        files.write_fsl(TILT, fixed, moving, tmp_path / "warp.nii.gz")
        files.read_fsl(tmp_path / "warp.nii.gz", fixed, moving)
        assert not caplog.records
        image = nib.load(tmp_path / "warp.nii.gz")
        places = image.get_fdata() + to_fsl(fixed)(fixed.points())
        nib.Nifti1Image(places.astype(np.float32), image.affine).to_filename(tmp_path / "absolute.nii.gz")
        files.read_fsl(tmp_path / "absolute.nii.gz", fixed, moving)
    assert "looks like absolute coordinates" in caplog.text


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("map.mat", "1 0 0 0\n0 1 0 0\n0 0 1 0\n", "not a readable FLIRT matrix"),
        ("map.mat", "1 0 0 0\n0 1 0 0\n0 0 1 0\n0 0 0 2\n", "end in 0 0 0 1"),
        ("map.mat", "1 0 0 0\n0 0 0 0\n0 0 1 0\n0 0 0 1\n", "has no inverse"),
        ("map.mat", "hello\n", "not a readable FLIRT matrix"),
    ],
)
def test_a_broken_matrix_gets_one_sentence(tmp_path, name, content, sentence):
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=sentence):
        files.read_transform(tmp_path / name, FIXED, MOVING)


def test_coefficients_and_images_are_no_warp(tmp_path):
    files.write_fsl(warp(), FIXED, MOVING, tmp_path / "warp.nii.gz")
    image = nib.load(tmp_path / "warp.nii.gz")
    image.header["intent_code"] = 2008
    image.to_filename(tmp_path / "coefficients.nii.gz")
    with pytest.raises(InputError, match="fnirtfileutils"):
        files.read_fsl(tmp_path / "coefficients.nii.gz", FIXED, MOVING)
    nib.Nifti1Image(np.zeros((4, 5, 6), np.float32), np.eye(4)).to_filename(tmp_path / "image.nii.gz")
    with pytest.raises(InputError, match="not a field of three numbers per voxel"):
        files.read_fsl(tmp_path / "image.nii.gz", FIXED, MOVING)


def test_a_warp_is_not_squeezed_into_a_matrix(tmp_path):
    with pytest.raises(InputError, match="would hold an affine transform only; write the warp as .nii.gz"):
        files.write_fsl(warp(), FIXED, MOVING, tmp_path / "map.mat")
    with pytest.raises(InputError, match="ends in none of"):
        files.write_fsl(warp(), FIXED, MOVING, tmp_path / "map.h5")


def test_a_warp_with_nan_is_refused(tmp_path):
    broken = warp()
    broken.displacement[1, 2, 3, 4] = torch.nan
    files.write_fsl(broken, FIXED, MOVING, tmp_path / "warp.nii.gz")
    with pytest.raises(InputError, match="NaN or infinite"):
        files.read_fsl(tmp_path / "warp.nii.gz", FIXED, MOVING)
