"""From tissues to an image: contrast, partial volume, bias field, Rician noise."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch

from credwarp.phantom.anatomy import MIDDLE, compose, outline
from credwarp.phantom.solids import Places
from credwarp.space import Grid, Scan, Volume

LABELS = (4, 10, 11, 12, 13, 16, 17, 18, 26, 43, 49, 50, 51, 52, 53, 54, 58)
FINEST = 1.7
MOST_PARTS = 3
CHUNK = 1 << 16


@dataclass(frozen=True)
class Contrast:
    """How bright each tissue is, and what the scanner adds; brightness in units of white matter's."""

    brightness: tuple[float, ...]
    white: float
    bias_sd: float
    noise_sd: float

    @classmethod
    def drawn(cls, generator: np.random.Generator) -> "Contrast":
        """A T1-weighted contrast: the typical one under a random monotone curve, on a random scale."""
        typical = np.array(TYPICAL)
        values = typical ** generator.uniform(0.75, 1.35) * np.exp(
            0.02 * generator.standard_normal(typical.size)
        )
        return cls(
            tuple(float(v) for v in np.where(typical > 0, values, 0.0)),
            float(generator.uniform(80, 1200)),
            float(generator.uniform(0.05, 0.10)),
            float(generator.uniform(0.015, 0.03)),
        )


TYPICAL = (0.0, 0.13, 0.63, 1.0, 0.87, 0.77, 0.96, 0.89, 0.65, 0.64)


def scan(
    grid: Grid,
    to_anatomy: Callable[[Places], Places],
    contrast: Contrast,
    generator: np.random.Generator,
    name: str,
) -> Scan:
    """The skull-stripped image, its mask and its labels on `grid`, seen through a map into the anatomy."""
    image = np.zeros(grid.voxels, np.float32)
    share_inside = np.zeros(grid.voxels, np.float32)
    labels = np.zeros(grid.voxels, np.int32)
    brightness = np.array(contrast.brightness, np.float32)
    for voxels, places in _cells(grid, to_anatomy):
        parts = compose(places, _cell_size(grid))
        values = (parts.shares @ brightness) * (1 + 0.02 * parts.texture)
        image[voxels] = values.reshape(len(voxels), -1).mean(axis=1)
        share_inside[voxels] = parts.inside.reshape(len(voxels), -1).mean(axis=1)
        labels[voxels] = _majority(parts.labels.reshape(len(voxels), -1))
    mask = (share_inside >= 0.5).reshape(grid.shape)
    seen = image.reshape(grid.shape) * bias_field(grid, contrast.bias_sd, generator)
    noise = contrast.noise_sd * generator.standard_normal((2, *grid.shape))
    seen = np.where(mask, np.hypot(seen + noise[0], noise[1]), 0.0) * contrast.white
    named = labels.reshape(grid.shape) * mask
    return Scan(
        Volume(grid, torch.from_numpy(seen.astype(np.float32)), f"{name} image"),
        Volume(grid, torch.from_numpy(mask), f"{name} mask"),
        Volume(grid, torch.from_numpy(named.astype(np.int32)), f"{name} labels"),
    )


def bias_field(grid: Grid, sd: float, generator: np.random.Generator) -> np.ndarray:
    """exp of a random quadratic-and-slower field whose standard deviation over the grid is `sd`."""
    axes = [np.linspace(-1, 1, n) if n > 1 else np.zeros(1) for n in grid.shape]
    waves = [np.stack([np.ones_like(a), np.sin(1.4 * a), np.cos(2.0 * a)]) for a in axes]
    weights = generator.standard_normal((3, 3, 3))
    field = np.einsum("abc,ax,by,cz->xyz", weights, *waves)
    return np.asarray(np.exp(sd * (field - field.mean()) / max(field.std(), 1e-9)))


def _cells(grid: Grid, to_anatomy: Callable[[Places], Places]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Voxels that may hold brain, a chunk at a time, with evenly spread places inside each of them."""
    offsets = _offsets(grid)
    per_chunk = max(1, CHUNK // len(offsets))
    # Distances are first-order ones and maps stretch a little, hence twice the way to a voxel's corner.
    reach = float(np.linalg.norm(grid.spacing))
    centres = [voxels[outline(_moved(points, to_anatomy)) < reach] for voxels, points in _planes(grid)]
    near = np.concatenate(centres)
    for start in range(0, len(near), per_chunk):
        chosen = near[start : start + per_chunk]
        middles = grid.to_world(np.stack(np.unravel_index(chosen, grid.shape), axis=-1).astype(np.float64))
        yield chosen, _moved((middles[:, None] + offsets).reshape(-1, 3), to_anatomy)


def _planes(grid: Grid) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """All voxels, some planes at a time: their numbers and their places."""
    plane = grid.shape[1] * grid.shape[2]
    planes = max(1, CHUNK // plane)
    for first in range(0, grid.shape[0], planes):
        points = grid.points(first, min(first + planes, grid.shape[0])).reshape(-1, 3)
        yield first * plane + np.arange(len(points)), points


def _moved(points: np.ndarray, to_anatomy: Callable[[Places], Places]) -> Places:
    places = np.ascontiguousarray(points.T, dtype=np.float32)
    return to_anatomy(places) + MIDDLE[:, None].astype(np.float32)


def _divisions(grid: Grid) -> list[int]:
    return [min(math.ceil(h / FINEST), MOST_PARTS) for h in grid.spacing]


def _cell_size(grid: Grid) -> float:
    return max(h / n for h, n in zip(grid.spacing, _divisions(grid), strict=True))


def _offsets(grid: Grid) -> np.ndarray:
    """From a voxel's centre to those of its equal parts: as wide as `FINEST`, or a third of the voxel."""
    axes = [(np.arange(n) + 0.5) / n - 0.5 for n in _divisions(grid)]
    cells = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    return np.asarray(cells @ grid.affine[:3, :3].T)


def _majority(labels: np.ndarray) -> np.ndarray:
    """The label that most of a voxel's parts carry, background too."""
    counts = np.stack([(labels == label).sum(axis=1) for label in (0, *LABELS)])
    return np.asarray(np.array((0, *LABELS))[counts.argmax(axis=0)])
