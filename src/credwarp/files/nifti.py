"""NIfTI-1, NIfTI-2 and MGH images, by nibabel."""

import gzip
import math
from collections.abc import Iterator
from contextlib import contextmanager
from io import IOBase
from pathlib import Path
from typing import Any, cast

import nibabel as nib
import numpy as np

from credwarp.errors import InputError
from credwarp.files.explain import explained
from credwarp.files.memory import demand
from credwarp.files.stored import Forms, Stored, check_length, check_numbers, placed, spatial_shape
from credwarp.space import Grid
from credwarp.space.grid import Shape

CORNERS_APART = 0.1  # voxels; quaternions in single precision stay far below
PAIRS = (".hdr", ".img", ".img.gz", ".hdr.gz")
TRAILING, CHUNK = 1 << 26, 1 << 20
MILLIMETRES = {1: 1e3, 3: 1e-3}  # NIfTI's codes of metres and micrometres


def read_nifti(path: Path) -> Stored:
    """One 3-D image in NIfTI-1 or NIfTI-2, single file or pair."""
    with explained(path, "NIfTI file"), opened(path) as image:
        shape = spatial_shape(path, image.header.get_data_shape())
        grid, forms, remarks = geometry(path, image.header, shape)
        data = numbers(path, image).reshape(shape)
        stored_type = image.get_data_dtype().name
    return Stored(path, _format(image), stored_type, data, grid, remarks, forms)


def read_grid(path: Path) -> Grid:
    """Where the voxels are, going by the header alone."""
    with explained(path, "NIfTI file"), opened(path) as image:
        shape = spatial_shape(path, image.header.get_data_shape())
        check_numbers(path, image.get_data_dtype())
        return geometry(path, image.header, shape)[0]


def read_mgh(path: Path) -> Stored:
    """One 3-D image in FreeSurfer's MGH or MGZ."""
    with explained(path, "MGH file"), opened(path) as image:
        shape = spatial_shape(path, image.header.get_data_shape())
        grid = placed(path, shape, image.affine)
        data = numbers(path, image).reshape(shape)
        known = int(image.header["goodRASFlag"]) > 0
        remarks = () if known else (f"{path.name} has no orientation; taken as {grid.orientation}.",)
    return Stored(path, "MGH", image.get_data_dtype().name, data, grid, remarks)


@contextmanager
def opened(path: Path) -> Iterator[Any]:
    """The nibabel image of a file, open while inside."""
    name = path.name.lower()
    if name.endswith(PAIRS):
        image = nib.load(path, mmap=False)
        if not isinstance(image, nib.Nifti1Pair):
            raise InputError(f"{path} is an Analyze file, which has no orientation; convert it to NIfTI.")
        yield image
        return
    with _stream(path) as stream:
        form = nib.MGHImage if name.endswith((".mgh", ".mgz", ".mgh.gz")) else _version(path, stream)
        yield form.from_file_map({"image": nib.FileHolder(fileobj=stream)}, mmap=False)


def geometry(path: Path, header: Any, shape: Shape) -> tuple[Grid, Forms, tuple[str, ...]]:
    """Where the voxels are: sform first, qform next, voxel sizes last; and what contradicts it."""
    q_code, s_code = int(header["qform_code"]), int(header["sform_code"])
    qform = _qform(header) if q_code > 0 else None
    sform = header.get_sform() if s_code > 0 else None
    chosen = sform if sform is not None else qform if qform is not None else header.get_base_affine()
    unit = int(header["xyzt_units"]) & 7
    factor = MILLIMETRES.get(unit, 1.0)
    grid = placed(path, shape, np.diag([factor, factor, factor, 1.0]) @ chosen)
    remarks = []
    apart = None
    if sform is not None and qform is not None:
        other = placed(path, shape, np.diag([factor, factor, factor, 1.0]) @ qform)
        apart = float(np.linalg.norm(grid.corners() - other.corners(), axis=1).max())
        if apart > CORNERS_APART * min(grid.spacing):
            remarks.append(
                f"{path.name}: qform (code {q_code}) and sform (code {s_code}) place the corners up to "
                f"{apart:.2f} mm apart; the sform is used."
            )
    if q_code > 0 and qform is None:
        remarks.append(
            f"{path.name}: its qform is not a rotation; {'the sform' if s_code > 0 else 'voxel sizes'} used."
        )
    if q_code <= 0 and s_code <= 0:
        remarks.append(
            f"{path.name} has neither qform nor sform; only its voxel sizes are used, the axes taken as "
            f"{grid.orientation}: check left and right."
        )
    remarks += _sizes(path, header, grid, factor)
    if factor != 1.0:
        remarks.append(
            f"{path.name} is in {'metres' if unit == 1 else 'micrometres'}; converted to millimetres."
        )
    return grid, Forms(q_code, s_code, apart), tuple(remarks)


def numbers(path: Path, image: Any) -> np.ndarray:
    """All the voxels, scaled as the header says, once it is sure that they are there and fit."""
    dtype = image.get_data_dtype()
    check_numbers(path, dtype)
    proxy = image.dataobj
    voxels = float(math.prod(image.shape))
    # As stored, scaled to double precision, and the copy that a volume keeps.
    demand(path, voxels * (dtype.itemsize + (8 if proxy.inter or proxy.slope != 1 else 0) + 4))
    held = Path(image.file_map["image"].filename or path)
    check_length(held, float(proxy.offset), voxels * dtype.itemsize, held.name.lower().endswith("gz"))
    data: np.ndarray = np.asanyarray(proxy)
    stream = image.file_map["image"].fileobj
    if isinstance(stream, gzip.GzipFile):  # its checksum stands behind the last voxel
        for _ in range(TRAILING // CHUNK):
            if not stream.read(CHUNK):
                break
    return data


def header_faults(path: Path) -> tuple[str, ...]:
    """What nibabel finds wrong in a NIfTI header, clause by clause."""
    with explained(path, "NIfTI file"):
        if path.name.lower().endswith(PAIRS):
            return ()
        with _stream(path) as stream:
            header = _version(path, stream).header_class
            block = stream.read(header.template_dtype.itemsize)
        return tuple(f"{path.name}: {fault}." for fault in header.diagnose_binaryblock(block).splitlines())


def _stream(path: Path) -> IOBase:
    compressed = path.name.lower().endswith("gz")
    with path.open("rb") as raw:
        packed = raw.read(2) == b"\x1f\x8b"
    if compressed != packed:
        raise InputError(
            f"{path} is {'' if packed else 'not '}gzip-compressed, unlike what its name says; rename it."
        )
    return gzip.open(path, "rb") if compressed else path.open("rb")


def _version(path: Path, stream: Any) -> Any:
    start = stream.read(4)
    stream.seek(0)
    length = {int.from_bytes(start, "little"), int.from_bytes(start, "big")}
    if 348 in length:
        return nib.Nifti1Image
    if 540 in length:
        return nib.Nifti2Image
    raise InputError(f"{path} does not begin like a NIfTI file; give an image, or name it after what it is.")


def _qform(header: Any) -> np.ndarray | None:
    try:
        return cast(np.ndarray, header.get_qform())
    except (ValueError, nib.spatialimages.HeaderDataError):
        return None


def _sizes(path: Path, header: Any, grid: Grid, factor: float) -> list[str]:
    """FSL goes by pixdim, so it matters where it contradicts the affine."""
    pixdim = np.abs(np.asarray(header["pixdim"][1:4], dtype=np.float64)) * factor
    if np.allclose(pixdim, grid.spacing, rtol=1e-3, atol=0):
        return []
    said, used = (" × ".join(f"{size:.4g}" for size in sizes) for sizes in (pixdim, grid.spacing))
    return [
        f"{path.name}: its voxel sizes ({said} mm) contradict its affine ({used} mm); the affine is used."
    ]


def _format(image: Any) -> str:
    return "NIfTI-2" if isinstance(image.header, nib.Nifti2Header) else "NIfTI-1"
