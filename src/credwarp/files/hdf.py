"""HDF5, kept from what its library does not survive."""

import io
import mmap
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from credwarp.files.atomic import write_bytes

HEAP = b"GCOL\x01\0\0\0"


@contextmanager
def opened_hdf5(path: Path) -> Iterator[Any]:
    """An HDF5 file to read; one with broken heaps of text is refused, for the library loops in them."""
    import h5py  # loads slowly, and few commands need it

    with path.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as block:
        start = block.find(HEAP)
        while start >= 0:
            _check_heap(block, start)
            start = block.find(HEAP, start + len(HEAP))
    with h5py.File(path, "r") as file:
        yield file


@contextmanager
def new_hdf5(path: Path) -> Iterator[Any]:
    """An empty HDF5 file, made in memory, for the library crashes on a full disk, and written at the end."""
    import h5py

    block = io.BytesIO()
    with h5py.File(block, "w") as file:
        yield file
    write_bytes(path, block.getvalue())


def _check_heap(block: mmap.mmap, start: int) -> None:
    """Each entry says how long it is; index 0 is what is free; together they fill the heap."""
    (size,) = struct.unpack_from("<Q", block, start + 8)
    place, end = start + 16, start + size
    while place + 16 <= end:
        index, length = struct.unpack_from("<H6xQ", block, place)
        place += length if index == 0 else 16 + (length + 7) // 8 * 8
        if place > end or (index == 0 and length < 16):
            raise ValueError("a heap of text in it is broken")
