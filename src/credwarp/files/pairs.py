"""The prepared pair in a run's folder, so that a run goes on without the files it came from."""

from pathlib import Path

import numpy as np
import torch

from credwarp.files.state import read_state, write_state
from credwarp.space import Affine, Grid, Pair

PARTS = ("fixed", "moving", "fixed_mask", "moving_mask", "fixed_labels", "moving_labels")


def write_pair(path: Path, pair: Pair) -> None:
    """Every voxel of it, and where they are."""
    tensors = {name: part for name in PARTS if (part := getattr(pair, name)) is not None}
    tensors["affine"] = torch.from_numpy(pair.grid.affine.copy())
    tensors["initial"] = torch.from_numpy(pair.initial.matrix.copy())
    write_state(path, tensors, {})


def read_pair(path: Path) -> Pair:
    """The pair that was written."""
    tensors, _ = read_state(path)
    affine, initial = (np.asarray(tensors.pop(name)) for name in ("affine", "initial"))
    x, y, z = tensors["fixed"].shape
    return Pair(grid=Grid((x, y, z), affine), initial=Affine(initial), **tensors)
