"""Compilation with numba, set up once: the options, and where machine code is kept between processes."""

import hashlib
import logging
import os
import pickle
import tempfile
from collections.abc import Callable
from functools import cache
from inspect import unwrap
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.core import caching

_config: Any = numba.config

Function = TypeVar("Function", bound=Callable[..., Any])

# `contract` alone: multiply and add may fuse, NaN and infinity keep their meaning, sums keep their order.
_OPTIONS: dict[str, Any] = {
    "nogil": True,
    "fastmath": {"contract"},
    "error_model": "numpy",
    "boundscheck": False,
}
_TORN = (EOFError, pickle.UnpicklingError)


def kernel(function: Function) -> Function:
    """Compile an entry point at its first call, or load it from the cache folder."""
    dispatcher: Any = numba.njit(**_OPTIONS)(unwrap(function))
    folder = cache_folder()
    if folder is not None:
        before, _config.CACHE_DIR = _config.CACHE_DIR, str(folder)
        try:
            dispatcher._cache = _ForgivingCache(caching.FunctionCache(dispatcher.py_func))
        finally:
            _config.CACHE_DIR = before
    return dispatcher  # type: ignore[no-any-return]


def inlined(function: Function) -> Function:
    """Compile a part of kernels, which becomes part of their code."""
    only_inside: dict[str, Any] = {"forceinline": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    dispatcher: Any = numba.njit(**_OPTIONS, **only_inside)(unwrap(function))
    return dispatcher  # type: ignore[no-any-return]


@cache
def cache_folder() -> Path | None:
    """The first folder of the environment, the user and the system that can be written, if any."""
    # numba looks at the file of an entry point only; the digest notices a change in the parts it calls.
    sources = sorted(Path(__file__).parent.rglob("*.py"))
    digest = hashlib.sha256(numba.__version__.encode())
    for source in sources:
        digest.update(source.read_bytes())
    for parent in _parents():
        folder = parent / f"kernels-{digest.hexdigest()[:16]}"
        if _is_ours(parent) and _is_ours(folder):
            return folder
    logging.getLogger("credwarp").warning(
        "no folder can be written to keep compiled kernels, so every run compiles them again; "
        "set XDG_CACHE_HOME to a folder that can."
    )
    return None


class _ForgivingCache:
    """A numba cache for which a full disk, a removed folder or a torn file is a miss, not an error."""

    def __init__(self, within: Any) -> None:
        self._within = within
        self.cache_path = within.cache_path

    def load_overload(self, signature: Any, target: Any) -> Any:
        try:
            return self._within.load_overload(signature, target)
        except (OSError, *_TORN):
            return None

    def save_overload(self, signature: Any, compiled: Any) -> None:
        try:
            try:
                self._within.save_overload(signature, compiled)
            except _TORN:
                self._within.flush()
                self._within.save_overload(signature, compiled)
        except OSError as error:
            logging.getLogger("credwarp").warning("a compiled kernel could not be kept: %s.", error)

    def enable(self) -> None:
        self._within.enable()

    def disable(self) -> None:
        self._within.disable()

    def flush(self) -> None:
        self._within.flush()


def _parents() -> list[Path]:
    parents = []
    if "NUMBA_CACHE_DIR" in os.environ:
        parents.append(Path(os.environ["NUMBA_CACHE_DIR"]) / "credwarp")
    if "XDG_CACHE_HOME" in os.environ:
        parents.append(Path(os.environ["XDG_CACHE_HOME"]) / "credwarp")
    home = Path("~").expanduser()
    if home.is_dir():
        parents.append(home / ".cache" / "credwarp")
    user = os.getuid() if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")
    return [*parents, Path(tempfile.gettempdir()) / f"credwarp-{user}"]


def _is_ours(folder: Path) -> bool:
    """Whether the folder exists or can be made, is writable, and nobody else could have put code into it."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
        status = folder.stat()
    except (OSError, RuntimeError):
        return False
    return not hasattr(os, "getuid") or (status.st_uid == os.getuid() and not status.st_mode & 0o022)
