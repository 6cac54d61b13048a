"""Volumes as a page holds them: upright, cropped to the anatomy, eight bits a voxel."""

import base64
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Shaped, UInt8
from torch import Tensor

from credwarp.shapes import Image, Labels, Mask
from credwarp.space import Grid, Volume, look_up, resample

MARGIN_MM = 8.0
AXES = ("LR", "PA", "IS")

Bytes = UInt8[np.ndarray, "right front top"]


@dataclass(frozen=True, eq=False)
class View:
    """Voxels of `grid`, the axes of `source` in the order R, A, S; `inside` is where maps are shown."""

    source: Grid
    grid: Grid
    inside: np.ndarray

    @classmethod
    def of(cls, source: Grid, mask: Mask, coarsening: float = 1.0) -> "View":
        """All of the mask with a margin, in voxels `coarsening` times as long."""
        upright = _cropped(_upright(source), source, mask)
        grid = upright.with_spacing([coarsening * h for h in upright.spacing]) if coarsening > 1 else upright
        inside = look_up(Volume(source, mask), grid, order=0).data > 0.5
        return cls(source, grid, np.asarray(inside))

    def image(self, data: Image, window: tuple[float, float]) -> Bytes:
        """Grey values, black to white over the window."""
        low, high = window
        return _bytes((self._seen(data) - low) / max(high - low, 1e-12) * 255)

    def map(self, data: Image, limits: tuple[float, float]) -> Bytes:
        """1 to 255 over the limits inside the mask, 0 outside."""
        low, high = limits
        scaled = 1 + np.clip((self._seen(data) - low) / max(high - low, 1e-12), 0, 1) * 254
        return np.asarray(np.where(self.inside, _bytes(scaled), 0).astype(np.uint8))

    def labels(self, data: Labels, known: Sequence[int]) -> Bytes:
        """The place of each label in `known`, from 1; 0 is background."""
        seen = np.asarray(look_up(Volume(self.source, data), self.grid, order=0).data).astype(np.int64)
        out = np.zeros(seen.shape, dtype=np.uint8)
        for place, label in enumerate(known[:255], start=1):
            out[seen == label] = place
        return out

    def _seen(self, data: Image) -> np.ndarray:
        finite = torch.nan_to_num(data.to(torch.float32))
        outside = float(finite.min())
        return np.asarray(resample(Volume(self.source, finite), self.grid, outside=outside).data)


def packed(data: Shaped[np.ndarray, "..."], relative: Shaped[np.ndarray, "..."] | None = None) -> str:
    """Bytes deflated, in base64; as differences from `relative` modulo 256 where that is given."""
    plain = data if relative is None else data - relative
    return base64.b64encode(zlib.compress(plain.tobytes(), 6)).decode("ascii")


def window(data: Image, mask: Mask) -> tuple[float, float]:
    """The grey values between which an image is shown."""
    values = _within(data, mask)
    low, high = np.quantile(values, [0.005, 0.998])
    return float(min(low, np.median(np.asarray(data)))), float(high)


def upper_limit(data: Image, mask: Mask, least: float) -> float:
    """A round number that nearly all of a map inside the mask is below."""
    top = max(float(np.quantile(np.abs(_within(data, mask)), 0.995)), least)
    scale = 10.0 ** np.floor(np.log10(top))
    return float(next(step * scale for step in (1, 1.5, 2, 3, 4, 5, 6, 8, 10) if step * scale >= top * 0.999))


def _within(data: Tensor, mask: Mask) -> np.ndarray:
    chosen = data[mask] if bool(mask.any()) else data.flatten()
    return np.asarray(torch.nan_to_num(chosen.to(torch.float64)))


def _bytes(values: np.ndarray) -> Bytes:
    return np.asarray(np.clip(np.rint(values), 0, 255).astype(np.uint8))


def _upright(grid: Grid) -> Grid:
    """The same voxels with axes reordered and turned round to be nearest to R, A, S."""
    letters = grid.orientation
    order = [next(a for a in range(3) if letters[a] in pair) for pair in AXES]
    columns = grid.affine[:, order].copy()
    origin = grid.affine[:, 3].copy()
    for world, axis in enumerate(order):
        if letters[axis] == AXES[world][0]:
            origin = origin + columns[:, world] * (grid.shape[axis] - 1)
            columns[:, world] *= -1
    x, y, z = (grid.shape[axis] for axis in order)
    return Grid((x, y, z), np.column_stack([columns, origin]))


def _cropped(grid: Grid, source: Grid, mask: Mask) -> Grid:
    """To the mask's box, with a margin."""
    places = np.argwhere(np.asarray(mask))
    if len(places) == 0:
        return grid
    corners = np.array([places.min(axis=0), places.max(axis=0)])
    there = np.rint(grid.to_voxels(source.to_world(corners.astype(np.float64)))).astype(int)
    margin = np.ceil(MARGIN_MM / np.array(grid.spacing)).astype(int)
    low = np.maximum(there.min(axis=0) - margin, 0)
    high = np.minimum(there.max(axis=0) + margin, np.array(grid.shape) - 1)
    affine = grid.affine.copy()
    affine[:3, 3] = grid.to_world(low.astype(np.float64))
    x, y, z = (int(n) for n in high - low + 1)
    return Grid((x, y, z), affine)
