"""From tissues to an image: contrast, partial volume, bias field, Rician noise."""

import functools
import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
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


# In the order of `Tissue`.
TYPICAL = (0.0, 0.13, 0.63, 1.0, 0.87, 0.77, 0.96, 0.89, 0.65, 0.64)


def scan(
    grid: Grid,
    to_anatomy: Callable[[Places], Places],
    contrast: Contrast,
    generator: np.random.Generator,
    name: str,
) -> Scan:
    """The skull-stripped image, its mask and its labels on `grid`, seen through a map into the anatomy."""
    image, share_inside = np.zeros((2, grid.voxels), np.float32)
    labels = np.zeros(grid.voxels, np.int32)
    eye = _Eye(grid, to_anatomy, np.array(contrast.brightness, np.float32))
    # Chunks are independent, so the result does not depend on how many threads share them.
    with ThreadPoolExecutor(torch.get_num_threads()) as pool:
        everything = _chunks(np.arange(grid.voxels), CHUNK)
        near = np.concatenate(list(pool.map(eye.near, everything)))
        chunks = _chunks(near, CHUNK // len(eye.offsets))
        for chosen, seen in zip(chunks, pool.map(eye.look, chunks), strict=True):
            image[chosen], share_inside[chosen], labels[chosen] = seen
    mask = (share_inside >= 0.5).reshape(grid.shape)
    biased = image.reshape(grid.shape) * bias_field(grid, contrast.bias_sd, generator)
    noise = contrast.noise_sd * generator.standard_normal((2, *grid.shape))
    noisy = np.where(mask, np.hypot(biased + noise[0], noise[1]), 0.0) * contrast.white
    named = labels.reshape(grid.shape) * mask
    return Scan(
        Volume(grid, torch.from_numpy(noisy.astype(np.float32)), f"{name} image"),
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


@dataclass(frozen=True, eq=False)
class _Eye:
    """Sees the anatomy at voxels of a grid, each divided into equal parts; voxels are given by number."""

    grid: Grid
    to_anatomy: Callable[[Places], Places]
    brightness: np.ndarray

    @functools.cached_property
    def divisions(self) -> list[int]:
        return [min(math.ceil(h / FINEST), MOST_PARTS) for h in self.grid.spacing]

    @functools.cached_property
    def offsets(self) -> np.ndarray:
        """From a voxel's centre to those of its parts, in millimetres."""
        axes = [(np.arange(n) + 0.5) / n - 0.5 for n in self.divisions]
        parts = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
        return np.asarray(parts @ self.grid.affine[:3, :3].T)

    def near(self, voxels: np.ndarray) -> np.ndarray:
        """Those that may hold brain."""
        # Distances are first-order ones and maps stretch a little, hence twice the way to a voxel's corner.
        reach = float(np.linalg.norm(self.grid.spacing))
        return voxels[outline(self._places(self._centres(voxels))) < reach]

    def look(self, voxels: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Their brightness, how much of them is inside the brain, and their labels."""
        width = max(h / n for h, n in zip(self.grid.spacing, self.divisions, strict=True))
        points = (self._centres(voxels)[:, None] + self.offsets).reshape(-1, 3)
        parts = compose(self._places(points), width)
        values = (parts.shares @ self.brightness) * (1 + 0.02 * parts.texture)
        rows = (len(voxels), -1)
        return (
            values.reshape(rows).mean(axis=1),
            parts.inside.reshape(rows).mean(axis=1),
            _majority(parts.labels.reshape(rows)),
        )

    def _centres(self, voxels: np.ndarray) -> np.ndarray:
        places = np.stack(np.unravel_index(voxels, self.grid.shape), axis=-1)
        return np.asarray(self.grid.to_world(places.astype(np.float64)))

    def _places(self, points: np.ndarray) -> Places:
        places = np.ascontiguousarray(points.T, dtype=np.float32)
        return self.to_anatomy(places) + MIDDLE[:, None].astype(np.float32)


def _chunks(voxels: np.ndarray, size: int) -> list[np.ndarray]:
    return np.array_split(voxels, max(1, math.ceil(len(voxels) / size)))


def _majority(labels: np.ndarray) -> np.ndarray:
    """The label that most of a voxel's parts carry, background too."""
    counts = np.stack([(labels == label).sum(axis=1) for label in (0, *LABELS)])
    return np.asarray(np.array((0, *LABELS))[counts.argmax(axis=0)])
