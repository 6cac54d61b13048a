"""HDF5, where it is installed; files are made in memory, for the library crashes when a disk is full."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from credwarp.errors import InputError
from credwarp.files.atomic import write_bytes


def hdf5() -> Any:
    """The library h5py, or the sentence that names the extra with it."""
    try:
        import h5py
    except ImportError as error:
        raise InputError(
            "this file format needs h5py, which is not installed; run `pip install 'credwarp[interop]'`."
        ) from error
    return h5py


@contextmanager
def new_hdf5(path: Path) -> Iterator[Any]:
    """An empty HDF5 file, which is written to `path` at the end."""
    library = hdf5()
    block = io.BytesIO()
    with library.File(block, "w") as file:
        yield file
    write_bytes(path, block.getvalue())
