"""MetaImage files (MHA, MHD), read here: ITK crashes on broken headers and passes broken voxels on."""

import math
import zlib
from pathlib import Path

import numpy as np

from credwarp.errors import InputError
from credwarp.files.explain import explained
from credwarp.files.memory import demand
from credwarp.files.stored import Stored, check_length, placed, spatial_shape
from credwarp.itk import FLIP

LONGEST_HEADER = 1 << 16
# Long integers are four bytes in every MetaImage, whatever the machine that wrote it.
TYPES = {
    "MET_CHAR": "i1",
    "MET_UCHAR": "u1",
    "MET_SHORT": "i2",
    "MET_USHORT": "u2",
    "MET_INT": "i4",
    "MET_UINT": "u4",
    "MET_LONG": "i4",
    "MET_ULONG": "u4",
    "MET_LONG_LONG": "i8",
    "MET_ULONG_LONG": "u8",
    "MET_FLOAT": "f4",
    "MET_DOUBLE": "f8",
}
SYNONYMS = {
    "Position": "Offset",
    "Origin": "Offset",
    "Rotation": "TransformMatrix",
    "Orientation": "TransformMatrix",
    "ElementByteOrderMSB": "BinaryDataByteOrderMSB",
}


def read_metaimage(path: Path, components: int = 1) -> Stored:
    """One 3-D image with so many numbers per voxel, component last, in MHA or MHD."""
    with explained(path, "MetaImage"):
        entries, header = _entries(path)
        dimensions = _whole(path, entries, "NDims", "", 1)[0]
        if not 1 <= dimensions <= 10:
            raise _broken(path, f"NDims = {dimensions}")
        sides = _whole(path, entries, "DimSize", "", dimensions)
        shape = spatial_shape(path, sides)
        channels = _whole(path, entries, "ElementNumberOfChannels", "1", 1)[0]
        if channels != components:
            raise InputError(f"{path} has {channels} numbers per voxel; give one with {components}.")
        affine = _affine(path, entries, dimensions)
        dtype = _dtype(path, entries)
        demand(path, math.prod(shape) * channels * (2.0 * dtype.itemsize + 4))
        data = _numbers(path, entries, header, dtype, math.prod(shape) * channels)
        data = data.reshape((channels, *shape), order="F")
        data = data[0] if channels == 1 else np.moveaxis(data, 0, -1)
        return Stored(path, "MetaImage", dtype.name, data, placed(path, shape, affine))


def _entries(path: Path) -> tuple[dict[str, str], int]:
    """The header's `key = value` lines up to the one that says where the voxels are, and its length."""
    with path.open("rb") as stream:
        block = stream.read(LONGEST_HEADER)
    entries: dict[str, str] = {}
    length = 0
    for line in block.split(b"\n"):
        length += len(line) + 1
        key, equals, value = line.decode("ascii", "replace").strip().partition("=")
        if not equals or not (key + value).isprintable() or not (key + value).isascii():
            raise _broken(path, "a line that is no `key = value`")
        entries[SYNONYMS.get(key.strip(), key.strip())] = value.strip()
        if key.strip() == "ElementDataFile":
            return entries, length
    raise _broken(path, "no ElementDataFile")


def _affine(path: Path, entries: dict[str, str], dimensions: int) -> np.ndarray:
    identity = " ".join("1" if i == j else "0" for i in range(dimensions) for j in range(dimensions))
    rows = _real(path, entries, "TransformMatrix", identity, dimensions**2)
    sizes = entries.get("ElementSize", " ".join(["1"] * dimensions))
    spacing = _real(path, entries, "ElementSpacing", sizes, dimensions)
    affine = np.eye(4)
    affine[:3, :3] = rows.reshape(dimensions, dimensions)[:3, :3].T * spacing[:3]
    affine[:3, 3] = _real(path, entries, "Offset", " ".join(["0"] * dimensions), dimensions)[:3]
    return FLIP @ affine


def _dtype(path: Path, entries: dict[str, str]) -> np.dtype:
    kind = entries.get("ElementType", "missing").removesuffix("_ARRAY")
    if kind not in TYPES:
        raise _broken(path, f"ElementType = {kind}")
    return np.dtype((">" if _true(entries, "BinaryDataByteOrderMSB", "False") else "<") + TYPES[kind])


def _numbers(path: Path, entries: dict[str, str], header: int, dtype: np.dtype, count: int) -> np.ndarray:
    held, start = path, header
    where = entries["ElementDataFile"]
    if where.upper() not in ("LOCAL", "LOCAL_DATA"):
        held, start = path.parent / where, 0
        if where.upper().startswith("LIST") or "%" in where:
            raise InputError(f"{path} keeps each slice in a file of its own; convert it to one file.")
        if not held.is_file():
            raise InputError(f"{path} keeps its voxels in {where}, which is not there; put both together.")
    if not _true(entries, "BinaryData", "True"):
        raise InputError(f"{path} writes its voxels out as text; convert it to binary.")
    packed = _true(entries, "CompressedData", "False")
    skip = _whole(path, entries, "HeaderSize", "0", 1)[0]
    needed = count * dtype.itemsize
    start = held.stat().st_size - needed if skip == -1 and not packed else start + max(0, skip)
    check_length(held, float(start), float(needed), packed)
    with held.open("rb") as stream:
        stream.seek(start)
        block = _unpacked(stream.read(), needed) if packed else stream.read(needed)
    return np.frombuffer(block, dtype, count)


def _unpacked(block: bytes, needed: int) -> bytes:
    """Inflated, and tested to be whole: one byte more lets zlib reach its checksum."""
    inflate = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)
    out = inflate.decompress(block, needed + 1)
    if not inflate.eof or len(out) != needed:
        raise ValueError("its compressed voxels are cut off or too many")
    return out


def _true(entries: dict[str, str], key: str, otherwise: str) -> bool:
    return entries.get(key, otherwise).upper().startswith(("T", "1", "Y"))


def _real(path: Path, entries: dict[str, str], key: str, otherwise: str, count: int) -> np.ndarray:
    said = entries.get(key, otherwise)
    try:
        values = np.array([float(word) for word in said.split()])
    except ValueError as error:
        raise _broken(path, f"{key} = {said}") from error
    if len(values) != count or not np.isfinite(values).all():
        raise _broken(path, f"{key} = {said or 'missing'}")
    return values


def _whole(path: Path, entries: dict[str, str], key: str, otherwise: str, count: int) -> list[int]:
    values = _real(path, entries, key, otherwise, count)
    if (values != np.round(values)).any() or (np.abs(values) > 2**53).any():
        raise _broken(path, f"{key} = {entries.get(key, otherwise)}")
    return [int(value) for value in values]


def _broken(path: Path, what: str) -> InputError:
    return InputError(f"{path} is not a readable MetaImage ({what}); copy it again, or export it anew.")
