"""Writing keeps the input's geometry to the bit and never cuts a number short."""

import nibabel as nib
import numpy as np
import pytest
import torch

from credwarp import files
from credwarp.errors import InputError
from credwarp.space import Grid, Volume
from grids import ORIENTATIONS, grid

ON = grid((7, 9, 8), (1.1, 2.3, 0.8), ORIENTATIONS[13], (20, -15, 33), (40.0, -70.0, 12.0))
GEOMETRY = ["qform_code", "sform_code", "srow_x", "srow_y", "srow_z", "xyzt_units", "quatern_b", "quatern_c"]
GEOMETRY += ["quatern_d", "qoffset_x", "qoffset_y", "qoffset_z"]


def labels(*values):
    data = torch.zeros(ON.shape, dtype=torch.int64)
    data.view(-1)[: len(values)] = torch.tensor(values)
    return Volume(ON, data, "labels")


@pytest.mark.parametrize(
    ("values", "suffix", "dtype"),
    [
        ((0, 255), ".nii.gz", "uint8"),
        ((0, 256), ".nii.gz", "int16"),
        ((-1, 5), ".nii.gz", "int16"),
        ((0, 40000), ".nii.gz", "uint16"),
        ((-1, 40000), ".nii.gz", "int32"),
        ((0, 2**31), ".nii.gz", "int64"),
        ((0, 255), ".nrrd", "uint8"),
        ((0, 40000), ".mha", "uint16"),
        ((0, 40000), ".mgz", "int32"),
    ],
)
def test_labels_take_the_smallest_type_that_holds_them(tmp_path, values, suffix, dtype):
    volume = labels(*values)
    files.write_volume(volume, tmp_path / f"labels{suffix}")
    assert files.describe(tmp_path / f"labels{suffix}").dtype == dtype
    assert torch.equal(files.read_labels(tmp_path / f"labels{suffix}").data.long(), volume.data)


def test_labels_that_a_format_cannot_hold_are_refused_and_nothing_is_written(tmp_path):
    with pytest.raises(InputError, match="cannot hold the labels 0 to 2147483648"):
        files.write_volume(labels(0, 2**31), tmp_path / "labels.mgz")
    assert list(tmp_path.iterdir()) == []


def test_images_are_single_precision_and_masks_bytes(tmp_path):
    files.write_volume(Volume(ON, torch.zeros(ON.shape, dtype=torch.float64)), tmp_path / "image.nii")
    files.write_volume(Volume(ON, torch.ones(ON.shape, dtype=torch.bool)), tmp_path / "mask.nii")
    assert files.describe(tmp_path / "image.nii").dtype == "float32"
    assert files.describe(tmp_path / "mask.nii").dtype == "uint8"


@pytest.mark.parametrize("codes", [(1, 1), (1, 4), (0, 2), (3, 0), (0, 0)])
@pytest.mark.parametrize("form", [nib.Nifti1Image, nib.Nifti2Image])
def test_a_header_is_lent_to_the_last_bit(tmp_path, codes, form):
    original = form(np.zeros(ON.shape, np.int16), np.eye(4))
    original.header.set_qform(ON.affine, codes[0])
    shifted = ON.affine.copy()
    shifted[0, 3] += 1.5
    original.header.set_sform(shifted, codes[1])
    original.header.set_xyzt_units("mm", "sec")
    form(np.zeros(ON.shape, np.int16), None, original.header).to_filename(tmp_path / "in.nii.gz")
    volume = files.read(tmp_path / "in.nii.gz")
    files.write_volume(volume, tmp_path / "out.nii.gz", tmp_path / "in.nii.gz")
    before, after = (nib.load(tmp_path / name).header for name in ("in.nii.gz", "out.nii.gz"))
    for field in GEOMETRY:
        assert np.array_equal(before[field], after[field]), field
    assert np.array_equal(before["pixdim"][:4], after["pixdim"][:4])
    assert before["sizeof_hdr"] == after["sizeof_hdr"]
    assert files.read(tmp_path / "out.nii.gz").grid == volume.grid


@pytest.mark.parametrize(
    ("codes", "expected"), [((1, 1), (1, 1)), ((1, 4), (1, 4)), ((3, 0), (3, 0)), ((0, 0), (0, 1))]
)
def test_on_another_grid_the_codes_are_lent_and_the_places_are_the_volumes(tmp_path, codes, expected):
    original = nib.Nifti1Image(np.zeros((4, 5, 6), np.int16), np.eye(4))
    original.header.set_qform(np.eye(4), codes[0])
    original.header.set_sform(np.eye(4), codes[1])
    nib.Nifti1Image(np.zeros((4, 5, 6), np.int16), None, original.header).to_filename(tmp_path / "in.nii")
    files.write_volume(Volume(ON, torch.zeros(ON.shape)), tmp_path / "out.nii", tmp_path / "in.nii")
    header = nib.load(tmp_path / "out.nii").header
    assert (int(header["qform_code"]), int(header["sform_code"])) == expected
    assert files.read(tmp_path / "out.nii").grid.matches(ON, 1e-4)


def test_sheared_axes_are_kept_by_nifti_and_refused_by_nrrd(tmp_path):
    affine = ON.affine.copy()
    affine[:3, 1] += 0.2 * affine[:3, 0]
    sheared = Volume(Grid(ON.shape, affine), torch.zeros(ON.shape))
    files.write_volume(sheared, tmp_path / "image.nii.gz")
    assert files.read(tmp_path / "image.nii.gz").grid.matches(sheared.grid, 1e-4)
    with pytest.raises(InputError, match="sheared.*write .nii.gz"):
        files.write_volume(sheared, tmp_path / "image.nrrd")


def test_an_unknown_suffix_is_refused(tmp_path):
    with pytest.raises(InputError, match="ends in none of .nii, .nii.gz"):
        files.write_volume(labels(1), tmp_path / "labels.png")


@pytest.mark.parametrize("suffix", [".nii.gz", ".mgz", ".nrrd", ".mha"])
def test_the_same_volume_is_the_same_bytes_under_any_name(tmp_path, suffix, monkeypatch):
    for name in ("one", "another"):
        files.write_volume(labels(1, 2, 3), tmp_path / f"{name}{suffix}")
        monkeypatch.setattr("time.time", lambda: 1e9)
    assert (tmp_path / f"one{suffix}").read_bytes() == (tmp_path / f"another{suffix}").read_bytes()
