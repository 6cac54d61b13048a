"""Fields of vectors in NIfTI files: ITK's with five axes, FSL's with four."""

import logging
from pathlib import Path

import numpy as np

from credwarp.errors import InputError
from credwarp.files.atomic import replacing
from credwarp.files.explain import explained
from credwarp.files.nifti import geometry, numbers, opened
from credwarp.files.stored import spatial_shape
from credwarp.files.write import nifti_image
from credwarp.space import Grid

log = logging.getLogger("credwarp")

VECTOR, FSL_FIELD = 1007, 2006


def write_nifti_vectors(values: np.ndarray, grid: Grid, intent: int, path: Path) -> None:
    """Vectors in single precision, their component last, with NIfTI's code of what they are."""
    image = nifti_image(values.astype(np.float32, copy=False), grid)
    image.header.set_intent(intent, allow_unknown=True)
    with replacing(path, 0 if path.name.endswith("gz") else values.nbytes) as new:
        image.to_filename(new)


def write_components(values: np.ndarray, grid: Grid, said: str, path: Path) -> None:
    """Several numbers per voxel, component first here and last in the file: (x, y, z, 1, components).

    Vectors stay along R, A, S: a displacement field that ITK shall apply is for `write_itk`.
    """
    image = nifti_image(np.moveaxis(values, 0, -1)[:, :, :, None].astype(np.float32), grid)
    image.header.set_intent(VECTOR, allow_unknown=True)
    image.header["descrip"] = said
    with replacing(path, 0 if path.name.endswith("gz") else values.nbytes) as new:
        image.to_filename(new)


def read_components(path: Path) -> tuple[np.ndarray, Grid]:
    """What `write_components` wrote, component first."""
    with explained(path, "map of vectors"), opened(path) as image:
        shape = tuple(int(n) for n in image.shape)
        if len(shape) != 5 or shape[3] != 1:
            raise InputError(f"{path} has no components per voxel; give a map such as displacement_mean.")
        grid, _, _ = geometry(path, image.header, spatial_shape(path, shape[:3]))
        return np.moveaxis(numbers(path, image)[:, :, :, 0], -1, 0), grid


def read_nifti_vectors(path: Path) -> tuple[np.ndarray, Grid, int]:
    """Three numbers per voxel, component last, in four or five axes; where they are; and their code."""
    with explained(path, "field of vectors"), opened(path) as image:
        shape = tuple(int(n) for n in image.shape)
        if len(shape) not in (4, 5) or shape[-1] != 3 or shape[3:-1] not in ((), (1,)):
            said = " × ".join(str(n) for n in shape)
            raise InputError(
                f"{path} is {said}, not a field of three numbers per voxel; give a displacement field."
            )
        grid, _, remarks = geometry(path, image.header, spatial_shape(path, shape[:3]))
        for remark in remarks:
            log.warning("%s", remark)
        return numbers(path, image), grid, int(image.header["intent_code"])
