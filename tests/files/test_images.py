"""What is written is read back: numbers, places, codes; and headers in trouble are named."""

import logging
import struct

import nibabel as nib
import numpy as np
import pytest
import SimpleITK as sitk
import torch

from credwarp import files
from credwarp.errors import InputError
from credwarp.itk import from_image, grid_of
from credwarp.space import Grid, Volume
from grids import ORIENTATIONS, grid

FORMATS = [".nii", ".nii.gz", ".nrrd", ".mha", ".mgz", ".mgh"]
OBLIQUE = grid((7, 9, 8), (1.1, 2.3, 0.8), ORIENTATIONS[13], (20, -15, 33), (40.0, -70.0, 12.0))


def image(on=OBLIQUE, seed=0):
    values = np.random.default_rng(seed).normal(100, 30, on.shape).astype(np.float32)
    return Volume(on, torch.from_numpy(values), "image")


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("orientation", ORIENTATIONS[::5])
def test_an_image_survives_every_format(tmp_path, suffix, orientation):
    volume = image(grid((7, 9, 8), (1.1, 2.3, 0.8), orientation, (20, -15, 33)))
    files.write_volume(volume, tmp_path / f"image{suffix}")
    again = files.read(tmp_path / f"image{suffix}")
    assert again.grid.matches(volume.grid, 1e-4)
    assert torch.equal(again.data, volume.data)
    assert again.name == f"image{suffix}"


@pytest.mark.parametrize("suffix", [".nii", ".nii.gz", ".nrrd", ".mha"])
@pytest.mark.parametrize("orientation", ORIENTATIONS)
def test_simpleitk_sees_our_images_where_we_do(tmp_path, suffix, orientation):
    volume = image(grid((7, 9, 8), (1.1, 2.3, 0.8), orientation, (20, -15, 33)))
    files.write_volume(volume, tmp_path / f"image{suffix}")
    theirs = from_image(sitk.ReadImage(str(tmp_path / f"image{suffix}")), "theirs")
    assert theirs.grid.matches(volume.grid, 1e-4)
    assert torch.equal(theirs.data, volume.data)


@pytest.mark.parametrize("suffix", [".nii.gz", ".nrrd", ".nhdr", ".mha", ".mhd", ".hdr", ".img"])
@pytest.mark.parametrize("packed", [False, True])
def test_what_simpleitk_writes_is_read(tmp_path, suffix, packed):
    data = np.random.default_rng(0).integers(-500, 500, (8, 9, 7)).astype(np.int16)
    theirs = sitk.GetImageFromArray(data)
    theirs.SetSpacing((1.5, 0.7, 3.0))
    theirs.SetOrigin((10.0, -20.0, 5.0))
    theirs.SetDirection(sitk.Euler3DTransform((0, 0, 0), 0.3, 0.2, -0.4).GetMatrix())
    sitk.WriteImage(theirs, str(tmp_path / f"image{suffix}"), packed)
    ours = files.read(tmp_path / f"image{suffix}")
    assert ours.grid.matches(grid_of(theirs), 1e-4)
    assert np.array_equal(np.asarray(ours.data), data.T)


@pytest.mark.parametrize("dtype", ["i1", "u1", "<i2", ">i2", ">u2", "<u4", ">i4", "<f4", ">f4", ">f8", "<i8"])
def test_metaimages_of_every_number_and_byte_order_are_read(tmp_path, dtype):
    names = {"i1": "CHAR", "u1": "UCHAR", "i2": "SHORT", "u2": "USHORT", "u4": "UINT", "i4": "INT"}
    names |= {"f4": "FLOAT", "f8": "DOUBLE", "i8": "LONG_LONG"}
    data = np.random.default_rng(0).integers(0, 120, (3, 4, 5)).astype(dtype)
    header = (
        "ObjectType = Image\nNDims = 3\nBinaryData = True\n"
        f"ElementByteOrderMSB = {dtype[0] == '>'}\nPosition = 1 2 3\nOrientation = 0 1 0 1 0 0 0 0 -1\n"
        f"ElementSize = 1 2 3\nDimSize = 3 4 5\nElementType = MET_{names[dtype[-2:]]}\n"
        "ElementDataFile = LOCAL\n"
    )
    (tmp_path / "image.mha").write_bytes(header.encode() + data.tobytes("F"))
    ours = files.read(tmp_path / "image.mha")
    theirs = sitk.ReadImage(str(tmp_path / "image.mha"))
    assert np.array_equal(np.asarray(ours.data), data.astype(np.float32))
    assert np.array_equal(sitk.GetArrayFromImage(theirs).T, data)
    assert ours.grid.matches(grid_of(theirs))


def test_a_metaimage_may_keep_its_voxels_beside_it(tmp_path):
    volume = image()
    files.write_volume(volume, tmp_path / "image.nii")
    sitk.WriteImage(sitk.ReadImage(str(tmp_path / "image.nii")), str(tmp_path / "image.mhd"))
    assert torch.equal(files.read(tmp_path / "image.mhd").data, volume.data)
    (tmp_path / "image.raw").unlink()
    with pytest.raises(InputError, match="keeps its voxels in image.raw, which is not there"):
        files.read(tmp_path / "image.mhd")


@pytest.mark.parametrize(
    ("slope", "intercept", "used"), [(0.5, -10, (0.5, -10)), (0, 7, (1, 0)), (2, 0, (2, 0))]
)
def test_slope_and_intercept_are_applied(tmp_path, slope, intercept, used):
    data = np.arange(504, dtype=np.int16).reshape(7, 9, 8)
    nib.Nifti1Image(data, np.eye(4)).to_filename(tmp_path / "image.nii")
    content = bytearray((tmp_path / "image.nii").read_bytes())
    content[112:120] = struct.pack("<2f", slope, intercept)
    (tmp_path / "image.nii").write_bytes(content)
    assert np.array_equal(np.asarray(files.read(tmp_path / "image.nii").data), data * used[0] + used[1])


@pytest.mark.parametrize("form", [nib.Nifti1Image, nib.Nifti2Image])
def test_both_niftis_and_a_single_volume_in_four_axes_are_read(tmp_path, form):
    data = np.random.default_rng(0).normal(size=(7, 9, 8, 1)).astype(np.float32)
    form(data, OBLIQUE.affine).to_filename(tmp_path / "image.nii")
    volume = files.read(tmp_path / "image.nii")
    assert np.array_equal(np.asarray(volume.data), data[..., 0])
    assert files.describe(tmp_path / "image.nii").format == (
        "NIfTI-1" if form is nib.Nifti1Image else "NIfTI-2"
    )


def two_forms(path, sform, s_code, qform, q_code, spacing=None):
    stored = nib.Nifti1Image(np.zeros((7, 9, 8), np.int16), np.eye(4))
    stored.header.set_qform(qform, q_code)
    stored.header.set_sform(sform, s_code)
    if spacing is not None:
        stored.header["pixdim"][1:4] = spacing
    nib.Nifti1Image(np.zeros((7, 9, 8), np.int16), None, stored.header).to_filename(path)


def moved(by):
    affine = np.diag([2.0, 2.0, 2.0, 1.0])
    affine[0, 3] = by
    return affine


@pytest.mark.parametrize(
    ("s_code", "q_code", "used", "said"),
    [
        (
            1,
            1,
            0.0,
            "qform (code 1) and sform (code 1) place the corners up to 3.00 mm apart; the sform is used",
        ),
        (2, 0, 0.0, None),
        (0, 1, 3.0, None),
        (0, 0, None, "neither qform nor sform; only its voxel sizes are used, the axes taken as LAS"),
    ],
)
def test_which_form_places_the_voxels_is_the_standards_order_and_said(
    tmp_path, caplog, s_code, q_code, used, said
):
    two_forms(tmp_path / "image.nii", moved(0.0), s_code, moved(3.0), q_code)
    with caplog.at_level(logging.WARNING, "credwarp"):
        volume = files.read(tmp_path / "image.nii")
    if used is None:
        assert volume.grid.spacing == (2.0, 2.0, 2.0)
    else:
        assert np.allclose(volume.grid.affine, moved(used))
    if said is None:
        assert not caplog.records
    else:
        assert len(caplog.records) == 1
        assert said in caplog.text


def test_forms_that_agree_to_a_tenth_of_a_voxel_pass_in_silence(tmp_path, caplog):
    two_forms(tmp_path / "image.nii", moved(0.0), 1, moved(0.19), 1)
    with caplog.at_level(logging.WARNING, "credwarp"):
        files.read(tmp_path / "image.nii")
    assert not caplog.records
    assert files.describe(tmp_path / "image.nii").forms_apart == pytest.approx(0.19, abs=1e-6)


def test_voxel_sizes_that_contradict_the_affine_are_named(tmp_path, caplog):
    two_forms(tmp_path / "image.nii", moved(0.0), 1, moved(0.0), 0, (1.0, 2.0, 2.0))
    with caplog.at_level(logging.WARNING, "credwarp"):
        assert files.read(tmp_path / "image.nii").grid.spacing == (2.0, 2.0, 2.0)
    assert "voxel sizes (1 × 2 × 2 mm) contradict its affine (2 × 2 × 2 mm)" in caplog.text


def test_micrometres_become_millimetres(tmp_path, caplog):
    stored = nib.Nifti1Image(np.zeros((7, 9, 8), np.int16), np.diag([500.0, 500.0, 500.0, 1.0]))
    stored.header.set_xyzt_units("micron")
    stored.to_filename(tmp_path / "image.nii")
    with caplog.at_level(logging.WARNING, "credwarp"):
        assert files.read(tmp_path / "image.nii").grid.spacing == pytest.approx((0.5, 0.5, 0.5))
    assert "micrometres" in caplog.text


def test_an_nrrd_without_a_space_says_so(tmp_path, caplog):
    header = b"NRRD0004\ntype: uint8\ndimension: 3\nsizes: 6 5 4\nencoding: raw\n\n"
    (tmp_path / "image.nrrd").write_bytes(header + bytes(120))
    with caplog.at_level(logging.WARNING, "credwarp"):
        files.read(tmp_path / "image.nrrd")
    assert "names no space" in caplog.text


def test_labels_are_integers_whatever_type_the_file_has(tmp_path):
    labels = np.random.default_rng(0).integers(0, 60, (7, 9, 8))
    for dtype in ("u1", "i2", "u4", "f4", "f8"):
        nib.Nifti1Image(labels.astype(dtype), np.eye(4)).to_filename(tmp_path / "labels.nii.gz")
        volume = files.read_labels(tmp_path / "labels.nii.gz")
        assert volume.data.dtype == torch.int32
        assert np.array_equal(np.asarray(volume.data), labels)
    nib.Nifti1Image(labels + 0.5, np.eye(4)).to_filename(tmp_path / "labels.nii.gz")
    with pytest.raises(InputError, match="504 voxels that are no whole numbers; give labels"):
        files.read_labels(tmp_path / "labels.nii.gz")


def test_labels_beyond_32_bits_are_kept_and_beyond_64_refused(tmp_path):
    labels = np.zeros((7, 9, 8), np.uint64)
    labels[1, 2, 3] = 2**40
    nib.Nifti1Image(labels, np.eye(4), dtype=labels.dtype).to_filename(tmp_path / "labels.nii")
    assert files.read_labels(tmp_path / "labels.nii").labels == (2**40,)
    labels[1, 2, 3] = 2**64 - 1
    nib.Nifti1Image(labels, np.eye(4), dtype=labels.dtype).to_filename(tmp_path / "labels.nii")
    with pytest.raises(InputError, match="beyond 64 bits; renumber"):
        files.read_labels(tmp_path / "labels.nii")


def test_a_mask_is_what_is_above_zero(tmp_path):
    data = np.array([-1.0, 0.0, 0.2, 1.0, np.nan], np.float32).repeat(100).reshape(5, 10, 10)
    nib.Nifti1Image(data, np.eye(4)).to_filename(tmp_path / "mask.nii")
    mask = files.read_mask(tmp_path / "mask.nii")
    assert mask.data.dtype == torch.bool
    assert mask.data.sum(dim=(1, 2)).tolist() == [0, 0, 100, 100, 0]


def test_nan_is_left_to_those_who_mind(tmp_path):
    data = np.ones((5, 6, 7), np.float32)
    data[0, 0, 0], data[1, 1, 1], data[2, 2, 2] = np.nan, np.inf, 3
    nib.Nifti1Image(data, np.eye(4)).to_filename(tmp_path / "image.nii")
    assert int((~torch.isfinite(files.read(tmp_path / "image.nii").data)).sum()) == 2
    said = files.describe(tmp_path / "image.nii")
    assert (said.nan, said.infinite, said.minimum, said.maximum) == (1, 1, 1.0, 3.0)
    assert any("2 NaN or infinite voxels" in warning for warning in said.warnings)


def test_a_description_says_what_the_file_is(tmp_path):
    labels = Volume(OBLIQUE, torch.arange(504).reshape(OBLIQUE.shape) % 5, "labels")
    files.write_volume(labels, tmp_path / "labels.nii.gz")
    said = files.describe(tmp_path / "labels.nii.gz")
    assert (said.format, said.dtype, said.shape, said.orientation) == (
        "NIfTI-1",
        "uint8",
        (7, 9, 8),
        OBLIQUE.orientation,
    )
    assert said.spacing == pytest.approx((1.1, 2.3, 0.8), abs=1e-6)
    assert (said.qform_code, said.sform_code) == (1, 1)
    assert said.forms_apart == pytest.approx(0, abs=1e-4)
    assert said.labels == (0, 1, 2, 3, 4)
    assert said.size == (tmp_path / "labels.nii.gz").stat().st_size
    assert said.warnings == ()
    files.write_volume(image(), tmp_path / "image.mha")
    said = files.describe(tmp_path / "image.mha")
    assert (said.format, said.qform_code, said.labels) == ("MetaImage", None, None)


def test_a_constant_image_and_a_broken_header_are_named(tmp_path):
    nib.Nifti1Image(np.zeros((5, 6, 7), np.int16), np.eye(4)).to_filename(tmp_path / "image.nii")
    content = bytearray((tmp_path / "image.nii").read_bytes())
    content[252:254] = (77).to_bytes(2, "little")  # qform_code
    (tmp_path / "image.nii").write_bytes(content)
    said = " ".join(files.describe(tmp_path / "image.nii").warnings)
    assert "is 0 everywhere" in said
    assert "qform_code 77 not valid" in said


def test_paths_may_be_strings(tmp_path):
    files.write_volume(image(), str(tmp_path / "image.nii"))
    assert files.read(str(tmp_path / "image.nii")).grid.shape == OBLIQUE.shape


def test_real_images_are_read_as_their_notes_say(real_pairs):
    volume = files.read(real_pairs / "cohort" / "sub01.nii.gz")
    assert volume.grid.shape == (96, 112, 96)
    assert volume.grid.orientation == "RAS"
    assert volume.grid.spacing == pytest.approx((1.82, 1.82, 1.82), abs=0.01)
    assert 16 in files.read_labels(real_pairs / "cohort" / "sub01_seg.nii.gz").labels


def test_a_grid_smaller_than_a_header_can_say_is_kept_in_nifti_2(tmp_path):
    long = Volume(Grid((40000, 2, 2), np.eye(4)), torch.zeros(40000, 2, 2))
    files.write_volume(long, tmp_path / "long.nii")
    assert files.describe(tmp_path / "long.nii").format == "NIfTI-2"
