"""A folder of slices is a volume, where its positions say, or a sentence."""

import numpy as np
import pytest
import SimpleITK as sitk

from credwarp import files
from credwarp.errors import InputError

ACROSS, DOWN = np.array([0.8, 0.6, 0.0]), np.array([0.0, 0.0, -1.0])
NORMAL = np.cross(ACROSS, DOWN)
PLANE = (0.7, 1.4)


def series(folder, positions, uid="1.2.3", seed=0, first=0):
    """Slices of 5 × 6 pixels at LPS positions; returns the numbers, axes x, y, slice."""
    data = np.random.default_rng(seed).integers(0, 1000, (len(positions), 6, 5)).astype(np.int16)
    folder.mkdir(exist_ok=True)
    writer = sitk.ImageFileWriter()
    writer.KeepOriginalImageUIDOn()
    for k, position in enumerate(positions):
        image = sitk.GetImageFromArray(data[k])
        image.SetSpacing(PLANE)
        for key, value in {
            "0008|0060": "CT",
            "0020|000e": uid,
            "0020|000d": "1.2",
            "0008|0018": f"{uid}.{k + 1}",
            "0020|0032": "\\".join(f"{x:.6f}" for x in position),
            "0020|0037": "\\".join(f"{x:.6f}" for x in (*ACROSS, *DOWN)),
            "0020|0013": str(k),
            "0028|1052": "-100",
            "0028|1053": "1",
        }.items():
            image.SetMetaData(key, value)
        writer.SetFileName(str(folder / f"{first + k:03d}.dcm"))
        writer.Execute(image)
    return data.transpose(2, 1, 0)


def along(step, count=7):
    return np.array([10.0, -20.0, 30.0]) + np.arange(count)[:, None] * np.asarray(step)


def test_a_series_is_where_its_positions_say_and_scaled_as_it_says(tmp_path):
    data = series(tmp_path / "ct", along(2.5 * NORMAL))
    volume = files.read(tmp_path / "ct")
    stored = np.asarray(volume.data)
    lps = np.array([-1.0, -1.0, 1.0])
    assert np.allclose(volume.grid.to_world(np.zeros(3)), along(NORMAL)[0] * lps, atol=1e-4)
    step = volume.grid.to_world(np.array([1.0, 2.0, 3.0])) - volume.grid.to_world(np.zeros(3))
    assert np.allclose(step * lps, PLANE[0] * ACROSS + 2 * PLANE[1] * DOWN + 3 * 2.5 * NORMAL, atol=1e-4)
    assert np.array_equal(stored, data)
    said = files.describe(tmp_path / "ct")
    assert said.format == "DICOM"
    assert said.size == sum(path.stat().st_size for path in (tmp_path / "ct").iterdir())


def test_slices_in_the_other_order_are_the_same_volume(tmp_path):
    series(tmp_path / "up", along(2.5 * NORMAL))
    series(tmp_path / "down", along(2.5 * NORMAL)[::-1])
    assert files.read(tmp_path / "up").grid.matches(files.read(tmp_path / "down").grid, 1e-4)


def test_a_tilted_gantry_shears_the_grid(tmp_path):
    step = 2.5 * NORMAL + 0.8 * DOWN
    series(tmp_path / "ct", along(step))
    grid = files.read(tmp_path / "ct").grid
    lps = np.array([-1.0, -1.0, 1.0])
    assert np.allclose(grid.affine[:3, 2] * lps, step, atol=1e-4)
    assert not grid.is_orthogonal


@pytest.mark.parametrize("kept", [[0, 1, 2, 4, 5, 6], [0, 1, 2, 3, 3, 4, 5], [0, 1, 2, 3, 4, 6]])
def test_missing_or_doubled_slices_are_refused(tmp_path, kept):
    series(tmp_path / "ct", along(2.5 * NORMAL)[kept])
    with pytest.raises(InputError, match="missing, doubled or uneven"):
        files.read(tmp_path / "ct")


def test_two_series_in_a_folder_are_told_apart_by_one_file(tmp_path):
    series(tmp_path / "ct", along(2.5 * NORMAL))
    data = series(tmp_path / "ct", along(2.5 * NORMAL, 5), "1.2.4", 1, first=50)
    with pytest.raises(
        InputError, match=r"holds 2 series; give one file of the series you mean, such as 0.*files"
    ):
        files.read(tmp_path / "ct")
    assert np.array_equal(np.asarray(files.read(tmp_path / "ct" / "052.dcm").data), data)


def test_the_name_of_a_slice_does_not_matter(tmp_path):
    data = series(tmp_path / "ct", along(2.5 * NORMAL))
    for path in list((tmp_path / "ct").iterdir()):
        path.rename(path.with_name(f"IM{path.stem}"))
    assert np.array_equal(np.asarray(files.read(tmp_path / "ct").data), data)
    assert np.array_equal(np.asarray(files.read(tmp_path / "ct" / "IM003").data), data)


def test_a_single_slice_and_a_folder_without_dicom_get_a_sentence(tmp_path):
    series(tmp_path / "one", along(NORMAL, 1))
    with pytest.raises(InputError, match="is 2-D"):
        files.read(tmp_path / "one")
    (tmp_path / "none").mkdir()
    (tmp_path / "none" / "notes.txt").write_text("nothing")
    with pytest.raises(InputError, match="holds no DICOM slices"):
        files.read(tmp_path / "none")


def test_broken_slices_get_a_sentence(tmp_path):
    series(tmp_path / "ct", along(NORMAL))
    for path in (tmp_path / "ct").iterdir():
        path.write_bytes(path.read_bytes()[:400])
    with pytest.raises(InputError) as caught:
        files.read(tmp_path / "ct")
    assert "\n" not in str(caught.value)
    with pytest.raises(InputError):
        files.read(tmp_path / "ct" / "002.dcm")
