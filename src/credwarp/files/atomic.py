"""Writing so that a crash leaves the old file or the new one, never half of either."""

import errno
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from credwarp.errors import BudgetError, CredwarpError, InputError

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
ALMOST_FULL = 1 << 16
LONGEST_NAME = 200


@contextmanager
def replacing(path: str | Path, size: int = 0) -> Iterator[Path]:
    """A temporary name beside `path`, with its suffix; what is written there becomes `path` at the end.

    Whatever fails inside, the temporary file goes and the old one stays. `size` is what will be written,
    in bytes, where that is known: a disk without room for it is refused at once.
    """
    path = Path(path)
    refuse_unwritable(path, size)
    target = path.resolve()
    temporary = target.with_name(f".{secrets.token_hex(4)}-{path.name[-LONGEST_NAME:]}")
    try:
        yield temporary
        _flush(temporary)
        os.replace(temporary, target)
        with suppress(OSError):  # some network disks cannot flush a folder
            _flush(target.parent)
    except CredwarpError:
        raise
    except (OSError, RuntimeError) as error:
        raise _sentence(path, error) from error
    finally:
        temporary.unlink(missing_ok=True)


def refuse_unwritable(path: Path, size: int = 0) -> None:
    """Say before the work rather than after it that `path` cannot be written."""
    folder = path.absolute().parent
    if not folder.is_dir():
        raise InputError(f"{path} cannot be written: {folder} is not a folder; make it first.")
    if path.is_dir():
        raise InputError(f"{path} cannot be written: it is a folder; give the name of a file.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(f"{path} cannot be written: {folder} is read-only for this user; choose another.")
    free = shutil.disk_usage(folder).free
    if size > free:
        raise BudgetError(
            f"{path} needs {size / 1e6:,.1f} MB and its disk has {free / 1e6:,.1f} MB left; make room."
        )


def write_bytes(path: str | Path, content: bytes) -> None:
    """A whole file at once."""
    with replacing(path, len(content)) as temporary:
        temporary.write_bytes(content)


def write_text(path: str | Path, content: str) -> None:
    """A whole text at once."""
    write_bytes(path, content.encode())


def _sentence(path: Path, error: OSError | RuntimeError) -> CredwarpError:
    """SimpleITK does not say that the disk is full, so the disk is asked."""
    full = isinstance(error, OSError) and error.errno in FULL
    if full or shutil.disk_usage(path.absolute().parent).free < ALMOST_FULL:
        return BudgetError(f"{path} was not written: its disk or quota is full; make room and run again.")
    said = error.strerror if isinstance(error, OSError) and error.strerror else str(error).strip()
    said = said.splitlines()[-1] if said else type(error).__name__
    return InputError(f"{path} cannot be written ({said}); choose another place.")


def _flush(path: Path) -> None:
    """Wait until the disk has it."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
