"""The prepared pair in a run's folder, and its landmarks: a run goes on without the files it came from."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from credwarp.files.state import read_state, write_state
from credwarp.shapes import Points
from credwarp.space import Affine, Grid, Pair

PAIR = Path("state") / "pair.safetensors"
LANDMARKS = Path("state") / "landmarks.safetensors"
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


@dataclass(frozen=True, eq=False)
class Landmarks:
    """Points of moving by name, RAS+ mm, and where in fixed they truly are, if that is known."""

    names: tuple[str, ...]
    moving: Points
    fixed: Points | None


def write_landmarks(path: Path, landmarks: Landmarks) -> None:
    """Names and places."""
    tensors = {"moving": torch.from_numpy(np.ascontiguousarray(landmarks.moving))}
    if landmarks.fixed is not None:
        tensors["fixed"] = torch.from_numpy(np.ascontiguousarray(landmarks.fixed))
    write_state(path, tensors, {"names": list(landmarks.names)})


def read_landmarks(path: Path) -> Landmarks | None:
    """The landmarks that were written, if any were."""
    if not path.exists():
        return None
    tensors, facts = read_state(path)
    fixed = None if "fixed" not in tensors else np.asarray(tensors["fixed"])
    return Landmarks(tuple(facts["names"]), np.asarray(tensors["moving"]), fixed)
