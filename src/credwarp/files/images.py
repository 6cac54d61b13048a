"""Reading images, labels and masks: a path in, a checked volume out."""

import logging
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from credwarp.errors import InputError
from credwarp.files.dicom import is_dicom, read_dicom
from credwarp.files.itk_images import read_nrrd
from credwarp.files.metaimage import read_metaimage
from credwarp.files.nifti import read_grid, read_mgh, read_nifti
from credwarp.files.stored import Stored
from credwarp.space import Grid, Volume

log = logging.getLogger("credwarp")

READERS: dict[str, Callable[[Path], Stored]] = {
    ".nii": read_nifti,
    ".nii.gz": read_nifti,
    ".hdr": read_nifti,
    ".img": read_nifti,
    ".img.gz": read_nifti,
    ".mgh": read_mgh,
    ".mgz": read_mgh,
    ".nrrd": read_nrrd,
    ".nhdr": read_nrrd,
    ".mha": read_metaimage,
    ".mhd": read_metaimage,
    ".dcm": read_dicom,
}


def read(path: str | Path) -> Volume:
    """An image as single-precision numbers on its grid."""
    stored = _logged(load(Path(path)))
    with np.errstate(over="ignore"):
        data = np.array(stored.data, dtype=np.float32)
    return Volume(stored.grid, torch.from_numpy(data), stored.path.name)


def read_labels(path: str | Path) -> Volume:
    """Labels as integers; a file of floats will do if all are whole numbers."""
    stored = _logged(load(Path(path)))
    data = stored.data
    if data.dtype.kind == "f":
        wrong = int(np.count_nonzero(~np.isfinite(data) | (data != np.round(data))))
        if wrong:
            raise InputError(
                f"{path} has {wrong} voxels that are no whole numbers; give labels, not an image."
            )
    least, most = float(data.min()), float(data.max())
    if least < -(2.0**63) or most >= 2.0**63:
        raise InputError(
            f"{path} has the label {most if most > 0 else least:g}, beyond 64 bits; renumber it."
        )
    kind = np.int32 if least >= -(2**31) and most < 2**31 else np.int64
    return Volume(stored.grid, torch.from_numpy(np.array(data, dtype=kind)), stored.path.name)


def read_mask(path: str | Path) -> Volume:
    """A mask: true where the file is greater than 0."""
    stored = _logged(load(Path(path)))
    return Volume(stored.grid, torch.from_numpy(np.array(stored.data > 0)), stored.path.name)


def load(path: Path) -> Stored:
    """What an image file holds; the door at which broken files are refused."""
    if path.is_dir():
        return read_dicom(path)
    check_file(path)
    reader = READERS.get(extension(path))
    if reader is None and is_dicom(path):
        reader = read_dicom
    if reader is None:
        raise InputError(
            f"{path} ends in none of {', '.join(READERS)} and is no DICOM; convert it or rename it."
        )
    return reader(path)


def grid_of(path: Path) -> Grid:
    """Where an image's voxels are; of NIfTI files the header alone is looked at."""
    if path.is_dir() or READERS.get(extension(path)) is not read_nifti:
        return load(path).grid
    check_file(path)
    return read_grid(path)


def check_file(path: Path) -> None:
    """Refuse a path that is no file with something in it."""
    if not path.exists():
        raise InputError(
            f"{path} does not exist; check its spelling and the folder {path.absolute().parent}."
        )
    if not path.is_file():
        raise InputError(f"{path} is not a file; give one.")
    if path.stat().st_size == 0:
        raise InputError(f"{path} is empty (0 bytes); copy it again from where it came.")


def extension(path: Path) -> str:
    """The part of a name that says the format, such as `.nii.gz`."""
    name = path.name.lower()
    return next((end for end in (".nii.gz", ".img.gz") if name.endswith(end)), path.suffix.lower())


def _logged(stored: Stored) -> Stored:
    for remark in stored.remarks:
        log.warning("%s", remark)
    return stored
