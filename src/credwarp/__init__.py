"""Credible warps: registers two 3-D medical images non-rigidly and says how sure it is."""

import importlib
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "Affine": "credwarp.space",
    "Grid": "credwarp.space",
    "Pair": "credwarp.space",
    "Plan": "credwarp.plan",
    "Posterior": "credwarp.posterior",
    "Run": "credwarp.register",
    "Scan": "credwarp.space",
    "Volume": "credwarp.space",
    "Warp": "credwarp.space",
    "prepare": "credwarp.space",
    "open_run": "credwarp.files",
    "read": "credwarp.files",
}

__all__ = [*_HOMES]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for, so that the command line starts at once."""
    if name not in _HOMES:
        raise AttributeError(f"module 'credwarp' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*_HOMES, "__version__"])
