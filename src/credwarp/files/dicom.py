"""DICOM series, by SimpleITK: a folder with one series, or one file of the series that is meant."""

import math
from pathlib import Path

import numpy as np
import SimpleITK as sitk

from credwarp.errors import InputError
from credwarp.files.explain import explained
from credwarp.files.itk_images import check_information, itk_grid
from credwarp.files.memory import demand
from credwarp.files.stored import Stored, placed, spatial_shape
from credwarp.itk import FLIP
from credwarp.space import Grid

POSITION, SERIES, PREAMBLE = "0020|0032", "0020|000e", 128
UNEVEN = 0.1  # of a slice's thickness


def is_dicom(path: Path) -> bool:
    """Whether a file says that it is DICOM, whatever its name."""
    with path.open("rb") as stream:
        stream.seek(PREAMBLE)
        return stream.read(4) == b"DICM"


def read_dicom(path: Path) -> Stored:
    """The series in a folder, or the one that a file belongs to."""
    with explained(path, "DICOM series"):
        names = _slices(path)
        first = _reader(path, names[0])
        if len(names) == 1:
            check_information(path, first, 1)
            image = first.Execute()
            return Stored(path, "DICOM", _kind(image), _array(image), itk_grid(path, image))
        shape = spatial_shape(path, [*first.GetSize()[:2], len(names)])
        demand(path, math.prod(shape) * 16.0)
        step = _step(path, names)
        series = sitk.ImageSeriesReader()
        series.SetFileNames(names)
        image = series.Execute()
        if image.GetNumberOfComponentsPerPixel() > 1:
            raise InputError(f"{path} holds colours, not numbers; give a series of grey slices.")
        return Stored(path, "DICOM", _kind(image), _array(image), _grid(path, image, step))


def files_of(path: Path) -> list[Path]:
    """The files of the series that `read_dicom` reads."""
    with explained(path, "DICOM series"):
        return [Path(name) for name in _slices(path)]


def _slices(path: Path) -> list[str]:
    folder = path if path.is_dir() else path.parent
    if path.is_file():
        reader = _reader(path, str(path))
        if not reader.HasMetaDataKey(SERIES) or reader.GetSize()[2:] not in ((), (1,)):
            return [str(path)]
        series = reader.GetMetaData(SERIES).strip()
        names = sitk.ImageSeriesReader.GetGDCMSeriesFileNames(str(folder), series)
        return list(names) or [str(path)]
    found = sitk.ImageSeriesReader.GetGDCMSeriesIDs(str(folder))
    if not found:
        raise InputError(f"{path} holds no DICOM slices; give an image file or a folder with one series.")
    counts = {s: sitk.ImageSeriesReader.GetGDCMSeriesFileNames(str(folder), s) for s in found}
    if len(counts) > 1:
        listed = ", ".join(f"{Path(names[0]).name} ({len(names)} files)" for names in counts.values())
        raise InputError(
            f"{path} holds {len(counts)} series; give one file of the series you mean, such as {listed}."
        )
    return list(counts[found[0]])


def _reader(path: Path, name: str) -> sitk.ImageFileReader:
    reader = sitk.ImageFileReader()
    reader.SetFileName(name)
    reader.SetImageIO("GDCMImageIO")
    reader.ReadImageInformation()
    return reader


def _step(path: Path, names: list[str]) -> np.ndarray:
    """From a slice to the next, LPS: ITK assumes it along the normal, which a tilted gantry's is not."""
    positions = []
    for name in names:
        reader = _reader(path, name)
        if not reader.HasMetaDataKey(POSITION):
            raise InputError(f"{path}: slice {Path(name).name} has no position; export the series anew.")
        positions.append([float(word) for word in reader.GetMetaData(POSITION).split("\\")])
    places = np.array(positions)
    step = np.asarray((places[-1] - places[0]) / (len(names) - 1))
    off = np.linalg.norm(places - places[0] - np.arange(len(names))[:, None] * step, axis=1)
    if off.max() > UNEVEN * np.linalg.norm(step):
        raise InputError(
            f"{path}: its slices are missing, doubled or uneven (up to {off.max():.2f} mm from even "
            "spacing); give a complete series with one image per place."
        )
    return step


def _grid(path: Path, image: sitk.Image, step: np.ndarray) -> Grid:
    affine = itk_grid(path, image).affine.copy()
    affine[:3, 2] = FLIP[:3, :3] @ step
    return placed(path, spatial_shape(path, image.GetSize()), affine)


def _array(image: sitk.Image) -> np.ndarray:
    data = np.array(sitk.GetArrayViewFromImage(image).T)
    return data.reshape(data.shape[:3])


def _kind(image: sitk.Image) -> str:
    return str(sitk.GetArrayViewFromImage(image).dtype)
