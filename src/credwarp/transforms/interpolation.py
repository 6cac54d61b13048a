"""Matrices of one axis that take values at coarse places to finer ones: cubic convolution, cubic B-spline."""

import math
from functools import lru_cache

import torch
from torch import Tensor


def coarse_positions(sides: int, factor: int) -> tuple[int, float]:
    """How many coarse voxels cover `sides` fine ones, and where the first one's centre is among those."""
    count = math.ceil(sides / factor)
    return count, (sides - 1 - factor * (count - 1)) / 2


@lru_cache(maxsize=64)
def cubic(sides: int, factor: int) -> Tensor:
    """Fine voxel × coarse voxel: cubic convolution (Keys 1981), straight on beyond the ends, in float64."""
    count, first = coarse_positions(sides, factor)
    place = (torch.arange(sides, dtype=torch.float64) - first) / factor
    matrix = torch.zeros((sides, count), dtype=torch.float64)
    for index in range(-2, count + 2):
        weight = _keys((place - index).abs())
        end, inner = (0, 1) if index < 0 else (count - 1, count - 2)
        beyond = max(-index, index - count + 1, 0) if count > 1 else 0
        matrix[:, min(max(index, 0), count - 1) if not beyond else end] += (1 + beyond) * weight
        if beyond:
            matrix[:, inner] -= beyond * weight
    return matrix


@lru_cache(maxsize=64)
def nearest(sides: int, factor: int) -> Tensor:
    """Fine voxel × coarse voxel: each fine one belongs to the coarse one that covers it, in float64."""
    count, first = coarse_positions(sides, factor)
    place = ((torch.arange(sides, dtype=torch.float64) - first) / factor).round().clamp(0, count - 1)
    return torch.nn.functional.one_hot(place.long(), count).to(torch.float64)


@lru_cache(maxsize=64)
def cubic_bspline(sides: int, spacing: float, factor: int) -> Tensor:
    """Coarse voxel × control point: the cubic B-spline, control point k at voxel `spacing` · (k − 1)."""
    count, first = coarse_positions(sides, factor)
    place = (first + factor * torch.arange(count, dtype=torch.float64)).clamp(0, sides - 1) / spacing
    distance = (place[:, None] - torch.arange(-1, controls(sides, spacing) - 1, dtype=torch.float64)).abs()
    near = 2 / 3 - distance**2 + distance**3 / 2
    far = (2 - distance).clamp(min=0) ** 3 / 6
    return torch.where(distance < 1, near, far)


def controls(sides: int, spacing: float) -> int:
    """How many control points an axis needs: its intervals, and one and two beyond the ends."""
    return math.ceil((sides - 1) / spacing - 1e-9) + 3


def _keys(distance: Tensor) -> Tensor:
    near = 1.5 * distance**3 - 2.5 * distance**2 + 1
    far = -0.5 * distance**3 + 2.5 * distance**2 - 4 * distance + 2
    return torch.where(distance < 1, near, torch.where(distance < 2, far, torch.zeros_like(distance)))
