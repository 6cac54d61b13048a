"""HDF5, where it is installed."""

from typing import Any

from credwarp.errors import InputError


def hdf5() -> Any:
    """The library h5py, or the sentence that names the extra with it."""
    try:
        import h5py
    except ImportError as error:
        raise InputError(
            "this file format needs h5py, which is not installed; run `pip install 'credwarp[interop]'`."
        ) from error
    return h5py
