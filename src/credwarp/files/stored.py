"""What an image file holds, as it is there: numbers, their places, and what is odd about the header."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import SupportsInt

import numpy as np

from credwarp.errors import InputError
from credwarp.space import Grid
from credwarp.space.grid import Shape


@dataclass(frozen=True)
class Forms:
    """NIfTI's two answers to where the voxels are: their codes, and how far apart they put a corner."""

    qform_code: int
    sform_code: int
    apart: float | None


@dataclass(frozen=True, eq=False)
class Stored:
    """One 3-D image as its file has it; `kind` is the file's own type of number."""

    path: Path
    format: str
    kind: str
    data: np.ndarray
    grid: Grid
    remarks: tuple[str, ...] = ()
    forms: Forms | None = None


def spatial_shape(path: Path, shape: Iterable[SupportsInt]) -> Shape:
    """The three sides of a 3-D image; axes of one beyond them are dropped."""
    sides = [int(n) for n in shape]
    while len(sides) > 3 and sides[-1] == 1:
        sides.pop()
    said = " × ".join(str(n) for n in sides)
    if len(sides) > 3:
        raise InputError(f"{path} is {len(sides)}-D ({said}); give a 3-D image, such as one of its volumes.")
    if min(sides, default=0) < 1:
        raise InputError(f"{path} says it has {said or 'no'} voxels; mend its header or export it anew.")
    if len(sides) < 3 or min(sides) == 1:
        raise InputError(f"{path} is 2-D ({said}); give a 3-D image.")
    return sides[0], sides[1], sides[2]


def placed(path: Path, shape: Shape, affine: np.ndarray) -> Grid:
    """The grid of a file's header, or a sentence that names the file."""
    try:
        return Grid(shape, affine)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def check_numbers(path: Path, dtype: np.dtype) -> None:
    """Refuse what is not one real number per voxel."""
    if dtype.kind == "c":
        raise InputError(f"{path} holds complex numbers; give their magnitude.")
    if dtype.kind not in "iufb":
        raise InputError(f"{path} holds colours or records ({dtype}), not numbers; give a grey image.")


def check_length(path: Path, offset: float, voxels: float, compressed: bool) -> None:
    """Refuse a file too short for what its header promises, before anything is allocated."""
    size = float(path.stat().st_size)
    # Deflate packs at most 1032 bytes into one.
    most = size * 1032 if compressed else size
    if not (offset >= 0 and offset + voxels <= most):
        raise InputError(
            f"{path} is too short for its header: {_bytes(offset + voxels)} promised, {_bytes(size)} there"
            f"{' compressed' if compressed else ''}; copy it again from where it came."
        )


def _bytes(count: float) -> str:
    return f"{count:,.0f} bytes" if math.isfinite(count) else f"{count} bytes"
