"""What is added up over draws: moments of a field, its determinants, votes for labels, distances of surfaces.

Sums are changed in place: they are as large as several fields, and a run has thousands of draws. Moments and
determinants are compiled for float32 on the CPU and plain PyTorch elsewhere; the others run on the CPU.
"""

import importlib
from typing import Any, TypeAlias

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from credwarp.shapes import Field, Image

# Rows of sums are this many numbers long, or several times: the widest vector that is read at once.
LANES = 16

Sums = Float[Tensor, "sums x y padded"]
Arrays: TypeAlias = tuple[np.ndarray, ...]


def blank_sums(count: int, like: Tensor) -> Sums:
    """Zeros for the voxels of `like`, the last axis filled up."""
    x, y, z = like.shape[-3:]
    return torch.zeros((count, x, y, -(-z // LANES) * LANES), dtype=like.dtype, device=like.device)


def add_moments(sums: Sums, field: Field, count: int) -> None:
    """The `count`-th draw of a field: three means, then Σ (a − ā)(b − b̄) of xx, yy, zz, xy, xz, yz."""
    if _compiled(sums, field):
        _streaming().add_moments(sums, field, count)
        return
    kept = sums[..., : field.shape[-1]]
    apart = field - kept[:3]
    kept[:3] += apart / count
    products = [apart[a] * apart[b] for a, b in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]
    kept[3:] += torch.stack(products) * ((count - 1) / count)


def add_determinants(sums: Sums, field: Field, count: int) -> int:
    """The `count`-th draw's determinants: mean, Σ (J − J̄)², how often J ≤ 0; and how many voxels fold here.

    J is the determinant of id + field by central differences, one-sided at borders of two voxels or more.
    """
    if _compiled(sums, field):
        folds: int = _streaming().add_determinants(sums, field, count)
        return folds
    kept = sums[..., : field.shape[-1]]
    columns = torch.stack(torch.gradient(field, dim=(1, 2, 3)), dim=-1).movedim(0, -2)
    determinant = torch.linalg.det(columns + torch.eye(3, dtype=field.dtype, device=field.device))
    apart = determinant - kept[0]
    kept[0] += apart / count
    kept[1] += apart**2 * ((count - 1) / count)
    kept[2] += determinant <= 0
    return int((determinant <= 0).sum())


def look_up(
    values: Float[Tensor, "a b c"], field: Field, matrix: Float[Tensor, "3 4"], outside: float
) -> Image:
    """values(M (x + field(x))) at every voxel x, linear; `outside` farther than half a voxel from any."""
    found: Tensor = _streaming().look_up(values, field.to("cpu"), matrix, outside)
    return found


def vote(sources: Arrays, matrix: np.ndarray, boxes: Arrays, results: Arrays) -> np.ndarray:
    """Add a draw's shares of labels to the votes and note the winners; what `cpu.voting` says of each array.

    Returns the shares, voxels and agreeing voxels of each code.
    """
    found: np.ndarray = _streaming().vote(sources, matrix, boxes, results)
    return found


def edges(codes: np.ndarray, around: np.ndarray, out: np.ndarray, count: int) -> np.ndarray:
    """Mark in `out` the surfaces of codes 1 to `count` in a box; returns how many voxels each has."""
    found: np.ndarray = _streaming().edges(codes, around, out, count)
    return found


def distances(surfaces: Arrays, around: np.ndarray, search: Arrays, counts: np.ndarray) -> list[np.ndarray]:
    """Per code the millimetres from each voxel of the first surface to the second."""
    found: list[np.ndarray] = _streaming().distances(surfaces, around, search, counts)
    return found


def _compiled(sums: Tensor, field: Tensor) -> bool:
    return all(part.dtype == torch.float32 and part.device.type == "cpu" for part in (sums, field))


def _streaming() -> Any:
    return importlib.import_module("credwarp.kernels.cpu.streaming")
