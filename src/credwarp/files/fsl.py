"""FSL's transforms: warps that FNIRT and applywarp read, matrices that FLIRT reads.

FSL measures in voxels times voxel size, with x counted from the other end where the image is stored
right-handed. A transform file means nothing without the two images whose voxels it speaks of.
"""

import logging
from pathlib import Path

import numpy as np

from credwarp.errors import InputError
from credwarp.files.atomic import write_text
from credwarp.files.explain import explained
from credwarp.files.images import check_file, extension
from credwarp.files.links import Transform, bare_field
from credwarp.files.vectors import FSL_FIELD, read_nifti_vectors, write_nifti_vectors
from credwarp.space import Affine, Grid, Mapping

log = logging.getLogger("credwarp")

NIFTI, TEXT = (".nii", ".nii.gz"), (".mat", ".xfm", ".txt", ".mtx")
SAMPLES = 16  # along each axis
COEFFICIENTS = (2007, 2008, 2009, 2016, 2017, 2018)


def to_fsl(grid: Grid) -> Affine:
    """From RAS+ millimetres to FSL's coordinates of an image."""
    scale = np.diag([*grid.spacing, 1.0])
    if np.linalg.det(grid.affine) > 0:
        scale[0, 0] *= -1
        scale[0, 3] = (grid.shape[0] - 1) * grid.spacing[0]
    return Affine(scale @ np.linalg.inv(grid.affine))


def write_fsl(mapping: Mapping, fixed: Grid, moving: Grid, path: str | Path) -> None:
    """Write a map of points for FSL: `.nii.gz` a relative warp on the fixed grid, `.mat` FLIRT's matrix."""
    path = Path(path)
    form = extension(path)
    there, back = to_fsl(moving), to_fsl(fixed)
    if form in NIFTI:
        values = np.empty((*fixed.shape, 3), dtype=np.float32)
        for plane in range(fixed.shape[0]):
            points = fixed.points(plane, plane + 1)
            values[plane] = (there(mapping(points)) - back(points))[0]
        write_nifti_vectors(values, fixed, FSL_FIELD, path)
    elif form in TEXT:
        if not isinstance(mapping, Affine):
            raise InputError(f"{path} would hold an affine transform only; write the warp as .nii.gz.")
        matrix = back.after(mapping.inverse()).after(there.inverse()).matrix
        write_text(path, "".join("  ".join(repr(float(value)) for value in row) + "\n" for row in matrix))
    else:
        raise InputError(f"{path} ends in none of {', '.join(NIFTI + TEXT)}; name it after what you want.")


def read_fsl(path: str | Path, fixed: Grid, moving: Grid) -> Transform:
    """Read a relative warp or a FLIRT matrix as a map of RAS+ points of fixed to points of moving."""
    path = Path(path)
    check_file(path)
    there, back = to_fsl(moving), to_fsl(fixed)
    if extension(path) not in NIFTI:
        return there.inverse().after(_matrix(path).inverse()).after(back)
    values, grid, intent = read_nifti_vectors(path)
    if values.ndim != 4 or intent in COEFFICIENTS:
        raise InputError(
            f"{path} is no FSL warp field of (x, y, z, 3); make one with `fnirtfileutils --out`."
        )
    points = grid.points()
    field = bare_field(path, grid, there.inverse()(back(points) + values) - points)
    _doubt(path, values, back(points))
    return field


def is_flirt(path: Path) -> bool:
    """Whether a `.mat` is FLIRT's text rather than ITK's binary."""
    with path.open("rb") as stream:
        return all(32 <= byte < 127 or byte in b"\t\r\n" for byte in stream.read(64))


def _matrix(path: Path) -> Affine:
    with explained(path, "FLIRT matrix"):
        rows = [line.split() for line in path.read_text(encoding="ascii").splitlines() if line.strip()]
        matrix = np.array(rows, dtype=np.float64)
        if matrix.shape != (4, 4) or not np.allclose(matrix[3], [0, 0, 0, 1]):
            raise ValueError("not four rows of four numbers that end in 0 0 0 1")
        return Affine(matrix)


def _doubt(path: Path, values: np.ndarray, places: np.ndarray) -> None:
    """A file does not say if it holds displacements or places, but bodies are moved more than stretched."""
    some = tuple(slice(None, None, max(1, n // SAMPLES)) for n in values.shape[:3])
    before, said = places[some].reshape(-1, 3), values[some].reshape(-1, 3)
    if _stretch(before, said) < _stretch(before, before + said):
        log.warning(
            "%s looks like absolute coordinates but is read as displacements; see `convertwarp --relout`.",
            path.name,
        )


def _stretch(before: np.ndarray, after: np.ndarray) -> float:
    """How far the linear map nearest to this one is from a rotation or reflection."""
    centred = before - before.mean(axis=0)
    linear = np.linalg.lstsq(centred, after - after.mean(axis=0), rcond=None)[0]
    sizes = np.linalg.svd(linear, compute_uv=False)
    return float((np.log(np.maximum(sizes, 1e-3)) ** 2).sum())
