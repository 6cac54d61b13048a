"""One process at a time in a run's folder."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from credwarp.errors import Busy, InputError


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Nobody else works in the folder meanwhile; the lock goes with the process, however that ends."""
    path = folder / "state" / "lock"
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise InputError(f"{path} cannot be made ({error.strerror}); choose another folder.") from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise Busy(
            f"another process is at work in {folder}; wait for it, or choose another folder."
        ) from None
    try:
        yield
    finally:
        os.close(descriptor)
