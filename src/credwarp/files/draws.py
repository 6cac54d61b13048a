"""Draws on disk: zarr in ArviZ's layout, chunk by chunk, so that a crash costs the chunk being written."""

import errno
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
import zarr
from torch import Tensor

from credwarp.errors import BudgetError, InputError
from credwarp.files.atomic import ALMOST_FULL, FULL
from credwarp.shapes import Parameters

VELOCITY = "velocity"
CHAIN_DRAW = ("chain", "draw")
DIMENSIONS = {
    VELOCITY: ("component", "i", "j", "k"),
    "displacement": ("place",),
    "structure": ("structure_axis",),
    "low": ("mode",),
    "energy": ("energy_dim_0",),
    "data": ("data_dim_0",),
}
STATISTICS = ("lp", "virial", "acceptance", "diverging")


@dataclass(frozen=True)
class DrawStore:
    """`posterior` holds velocities and what is tracked of them, `sample_stats` how transitions went.

    Arrays are as long as the run is meant to be; what is not yet drawn is not a number.
    """

    path: Path

    def append(self, first: int, draws: int, series: Mapping[str, Tensor]) -> None:
        """Write draws `first` and following of `draws`, in chunks of as many as come at once."""
        try:
            root = zarr.open_group(self.path, mode="a", zarr_format=3)
            for name, values in series.items():
                array = _array(root, name, values, draws)
                array[:, first : first + values.shape[1]] = np.asarray(values.to("cpu"))
        except OSError as error:
            raise _sentence(self.path, error) from error

    def series(self, draws: int) -> dict[str, Tensor]:
        """What is tracked of the first `draws` of each chain."""
        root = self._opened()
        found: dict[str, Tensor] = {}
        for group in ("posterior", "sample_stats"):
            for name, array in _group(root, group).arrays():
                if name not in (VELOCITY, *CHAIN_DRAW):
                    found[name] = torch.from_numpy(np.asarray(array[:, :draws]))
        return found

    def _opened(self) -> zarr.Group:
        try:
            return zarr.open_group(self.path, mode="r")
        except (OSError, ValueError) as error:
            raise InputError(f"{self.path} holds no draws ({error}); register first.") from None


@dataclass(frozen=True)
class Stored:
    """The velocities of a store, read one at a time."""

    store: DrawStore
    draws: int

    @property
    def chains(self) -> int:
        """How many chains."""
        return int(self._array.shape[0])

    def parameters(self, chain: int, draw: int) -> Parameters:
        """One of them."""
        values = torch.from_numpy(np.asarray(self._array[chain, draw]))
        return values[None].to(torch.float32)

    @cached_property
    def _array(self) -> Any:
        return _group(self.store._opened(), "posterior")[VELOCITY]


def _group(root: zarr.Group, name: str) -> Any:
    return root[name]


def _array(root: zarr.Group, name: str, values: Tensor, draws: int) -> Any:
    """The array of that name, made or made longer if need be."""
    group = root.require_group("sample_stats" if name in STATISTICS else "posterior")
    shape = (values.shape[0], draws, *values.shape[2:])
    data = np.asarray(values[:0].to("cpu"))
    if name not in group:
        whole = 1 if name == VELOCITY else values.shape[0]
        for axis, count in zip(CHAIN_DRAW, shape[:2], strict=True):
            _coordinate(group, axis, count)
        return group.create_array(
            name,
            shape=shape,
            chunks=(whole, values.shape[1], *(max(n, 1) for n in shape[2:])),
            dtype=data.dtype,
            fill_value=np.nan if data.dtype.kind == "f" else 0,
            dimension_names=(*CHAIN_DRAW, *DIMENSIONS.get(name, ())),
        )
    array: Any = group[name]
    if array.shape[1] < draws:
        array.resize(shape)
        _coordinate(group, "draw", draws)
    return array


def _coordinate(group: zarr.Group, name: str, count: int) -> None:
    if name not in group:
        made = group.create_array(
            name, shape=(count,), chunks=(1 << 20,), dtype="int64", dimension_names=(name,)
        )
        made[:] = np.arange(count)
        return
    array: Any = group[name]
    if array.shape[0] < count:
        array.resize((count,))
        array[:] = np.arange(count)


def _sentence(path: Path, error: OSError) -> BudgetError | InputError:
    import shutil

    if error.errno in FULL or shutil.disk_usage(path.parent).free < ALMOST_FULL:
        return BudgetError(
            f"{path} could not be written: its disk or quota is full; make room, then go on with "
            f"`credwarp resume {path.parent}`."
        )
    said = error.strerror or errno.errorcode.get(error.errno or 0, type(error).__name__)
    return InputError(f"{path} cannot be written ({said}); mend that, then resume the run.")
