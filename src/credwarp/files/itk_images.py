"""NRRD files, by SimpleITK; and what its readers share."""

import gzip
import math
from pathlib import Path

import numpy as np
import SimpleITK as sitk

from credwarp.errors import InputError
from credwarp.files.explain import explained
from credwarp.files.memory import demand
from credwarp.files.stored import Stored, check_numbers, placed, spatial_shape
from credwarp.itk import FLIP
from credwarp.space import Grid

# ITK writes its warnings to standard error, past every log.
sitk.ProcessObject.SetGlobalWarningDisplay(False)
LONGEST_LINE = 1 << 16
CHUNK = 1 << 22


def read_nrrd(path: Path, components: int = 1) -> Stored:
    """One 3-D image with so many numbers per voxel, component last, attached or detached header."""
    with explained(path, "NRRD file"):
        reader = sitk.ImageFileReader()
        reader.SetFileName(str(path))
        reader.SetImageIO("NrrdImageIO")
        reader.ReadImageInformation()
        check_information(path, reader, components)
        _check_sum(path)
        image = reader.Execute()
        while image.GetDimension() > 3:
            image = image[..., 0]
        data = sitk.GetArrayViewFromImage(image)
        data = np.array(data.transpose(2, 1, 0, 3) if components > 1 else data.T)
        remarks = [f"{path.name} names no space; its axes are taken as left, posterior, superior."]
        if "NRRD_space" in image.GetMetaDataKeys():
            remarks.clear()
        return Stored(path, "NRRD", str(data.dtype), data, itk_grid(path, image), tuple(remarks))


def itk_grid(path: Path, image: sitk.Image) -> Grid:
    """Where an ITK image's voxels are, or a sentence that names its file."""
    affine = np.eye(4)
    affine[:3, :3] = np.reshape(image.GetDirection(), (3, 3)) * np.array(image.GetSpacing())
    affine[:3, 3] = image.GetOrigin()
    x, y, z = image.GetSize()
    return placed(path, (x, y, z), FLIP @ affine)


def check_information(path: Path, reader: sitk.ImageFileReader, components: int) -> None:
    """Refuse what is not 3-D numbers that fit into memory, going by the header alone."""
    spatial_shape(path, reader.GetSize())
    kind = sitk.GetPixelIDValueAsString(reader.GetPixelID())
    if "complex" in kind:
        check_numbers(path, np.dtype(np.complex128))
    if reader.GetNumberOfComponents() != components:
        raise InputError(
            f"{path} has {reader.GetNumberOfComponents()} numbers per voxel; give one with {components}."
        )
    # At most eight bytes a number, read once and copied once.
    demand(path, math.prod(reader.GetSize()) * components * 16.0)


def _check_sum(path: Path) -> None:
    """Read a compressed file to its end: ITK passes over a checksum that is wrong."""
    with path.open("rb") as stream:
        packed = False
        for line in iter(lambda: stream.readline(LONGEST_LINE).strip(), b""):
            if line.startswith(b"data file"):
                return
            packed = packed or line.split(b":")[0] == b"encoding" and b"gz" in line
        if packed:
            with gzip.GzipFile(fileobj=stream) as whole:
                while whole.read(CHUNK):
                    pass
