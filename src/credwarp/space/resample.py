"""Resampling between any two grids, through any map of points."""

import math
from collections.abc import Iterator

import numpy as np
import torch
from scipy.ndimage import gaussian_filter, map_coordinates

from credwarp.shapes import Points
from credwarp.space.grid import Grid
from credwarp.space.maps import Affine, Mapping
from credwarp.space.volume import Volume

IDENTITY = Affine.identity()
SLAB_POINTS = 2_000_000


def sample(volume: Volume, points: Points, outside: float = 0.0, order: int = 1) -> np.ndarray:
    """The values at points, nearest (order 0), linear (1) or cubic (3); `outside` beyond the image."""
    return _interpolate(np.asarray(volume.data, dtype=np.float32), volume.grid, points, outside, order)


def resample(
    volume: Volume, grid: Grid, through: Mapping = IDENTITY, outside: float = 0.0, order: int = 1
) -> Volume:
    """The image at the voxels of `grid`: value(through(x)); smoothed first where `grid` is coarser."""
    data = _smoothed(np.asarray(volume.data, dtype=np.float32), volume.grid, grid)
    return look_up(volume.with_data(torch.from_numpy(data)), grid, through, outside, order)


def look_up(
    volume: Volume, grid: Grid, through: Mapping = IDENTITY, outside: float = 0.0, order: int = 1
) -> Volume:
    """The image at the voxels of `grid`, value(through(x)), nothing smoothed: as ITK and FSL resample."""
    data = np.asarray(volume.data, dtype=np.float32)
    out = np.empty(grid.shape, dtype=np.float32)
    for first, last, points in _slabs(grid, through):
        out[first:last] = _interpolate(data, volume.grid, points, outside, order)
    return Volume(grid, torch.from_numpy(out), volume.name)


def resample_mask(volume: Volume, grid: Grid, through: Mapping = IDENTITY) -> Volume:
    """The mask at the voxels of `grid`: true where at least half of it is."""
    part = resample(volume.with_data(volume.data.to(torch.float32)), grid, through)
    return part.with_data(part.data >= 0.5)


def resample_labels(volume: Volume, grid: Grid, through: Mapping = IDENTITY) -> Volume:
    """Labels at the voxels of `grid`: the one with the largest linear share; none that fits is lost.

    Shares are interpolated, not indices rounded, so boundaries stay where the image has them. A label
    that would win nowhere keeps the voxel in which its share is largest.
    """
    shares = [_Share(volume, label, grid) for label in volume.labels]
    winner = np.zeros(grid.shape, dtype=np.int64)
    for first, last, points in _slabs(grid, through):
        voxels = volume.grid.to_voxels(points)
        best = _background(voxels, shares)
        for share in shares:
            share.compete(voxels, best, winner[first:last], first)
    present = set(np.unique(winner).tolist())
    for share in shares:
        if share.label not in present and share.peak > 0:
            winner[share.peak_voxel] = share.label
    return Volume(grid, torch.from_numpy(winner).to(volume.data.dtype), volume.name)


class _Share:
    """One label's share of each voxel, cropped to where it is not zero."""

    def __init__(self, volume: Volume, label: int, grid: Grid) -> None:
        self.label = label
        self.peak = 0.0
        self.peak_voxel = (0, 0, 0)
        member = np.asarray(volume.data) == label
        sigma = _sigma(volume.grid, grid)
        margin = 2 + int(math.ceil(4 * max(sigma)))
        corners = [np.flatnonzero(member.any(axis=tuple({0, 1, 2} - {a}))) for a in range(3)]
        self.low = np.array([max(0, int(c[0]) - margin) for c in corners])
        self.high = np.array(
            [min(n - 1, int(c[-1]) + margin) for c, n in zip(corners, member.shape, strict=True)]
        )
        crop = member[tuple(slice(a, b + 1) for a, b in zip(self.low, self.high, strict=True))]
        self.values = gaussian_filter(crop.astype(np.float32), sigma, mode="nearest")

    def at(self, voxels: Points) -> tuple[np.ndarray, np.ndarray]:
        """The share at voxel positions, and where it was looked up at all."""
        near = np.all((voxels >= self.low - 0.5) & (voxels <= self.high + 0.5), axis=-1)
        places = (voxels[near] - self.low).T
        return near, map_coordinates(self.values, places, output=np.float32, order=1, mode="nearest")

    def compete(self, voxels: Points, best: np.ndarray, winner: np.ndarray, first: int) -> None:
        near, share = self.at(voxels)
        if share.size == 0:
            return
        where = np.argwhere(near)
        top = int(share.argmax())
        if share[top] > self.peak:
            self.peak = float(share[top])
            x, y, z = where[top]
            self.peak_voxel = (int(x) + first, int(y), int(z))
        wins = share > best[near]
        places = tuple(where[wins].T)
        best[places] = share[wins]
        winner[places] = self.label


def _background(voxels: Points, shares: list[_Share]) -> np.ndarray:
    """What no label claims: all of it beyond the field of view, where none does."""
    rest = np.ones(voxels.shape[:-1], dtype=np.float32)
    for share in shares:
        near, part = share.at(voxels)
        rest[near] -= part
    return rest


def _slabs(grid: Grid, through: Mapping) -> Iterator[tuple[int, int, Points]]:
    """The grid's voxels a few planes at a time, as points where the map takes them."""
    planes = max(1, SLAB_POINTS // (grid.shape[1] * grid.shape[2]))
    for first in range(0, grid.shape[0], planes):
        last = min(first + planes, grid.shape[0])
        yield first, last, through(grid.points(first, last))


def _interpolate(data: np.ndarray, grid: Grid, points: Points, outside: float, order: int) -> np.ndarray:
    voxels = np.moveaxis(grid.to_voxels(points), -1, 0)
    values = map_coordinates(data, voxels, output=np.float32, order=order, mode="nearest")
    return np.where(grid.contains(points), values, np.float32(outside))


def _smoothed(data: np.ndarray, source: Grid, target: Grid) -> np.ndarray:
    sigma = _sigma(source, target)
    return gaussian_filter(data, sigma, mode="nearest") if max(sigma) > 0 else data


def _sigma(source: Grid, target: Grid) -> tuple[float, float, float]:
    """The Gaussian that makes the source's voxel the target's: their widths at half maximum, subtracted."""
    width = np.abs(source.directions.T @ target.directions) * np.array(target.spacing)
    ratio = width.max(axis=1) / np.array(source.spacing)
    sigma = np.sqrt(np.maximum(ratio**2 - 1, 0.0)) / (2 * math.sqrt(2 * math.log(2)))
    sigma[ratio < 1.05] = 0.0
    return float(sigma[0]), float(sigma[1]), float(sigma[2])
