"""A grid: how many voxels, and where in the patient each of them is."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from credwarp.errors import InputError
from credwarp.shapes import Points

Shape = tuple[int, int, int]


@dataclass(frozen=True, eq=False)
class Grid:
    """Voxels of `shape`; `affine` takes voxel indices to RAS+ millimetres."""

    shape: Shape
    affine: np.ndarray

    def __post_init__(self) -> None:
        shape = tuple(int(n) for n in self.shape)
        affine = np.array(self.affine, dtype=np.float64)
        _check(shape, affine)
        affine.setflags(write=False)
        object.__setattr__(self, "shape", shape)
        object.__setattr__(self, "affine", affine)

    @classmethod
    def isotropic(cls, shape: Sequence[int], spacing: float = 1.0) -> "Grid":
        """RAS+ axes, `spacing` millimetres, the middle of the image at the origin."""
        affine = np.diag([spacing, spacing, spacing, 1.0])
        affine[:3, 3] = [-spacing * (n - 1) / 2 for n in shape]
        return cls((shape[0], shape[1], shape[2]), affine)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Grid) and self.matches(other, tolerance=0.0)

    def __hash__(self) -> int:
        return hash((self.shape, self.affine.tobytes()))

    @property
    def spacing(self) -> tuple[float, float, float]:
        """Millimetres from a voxel to the next, per axis."""
        x, y, z = np.linalg.norm(self.affine[:3, :3], axis=0)
        return float(x), float(y), float(z)

    @property
    def directions(self) -> np.ndarray:
        """Unit vectors of the axes as columns, RAS+."""
        return np.asarray(self.affine[:3, :3] / np.array(self.spacing))

    @property
    def voxels(self) -> int:
        """How many voxels there are."""
        return math.prod(self.shape)

    @property
    def centre(self) -> np.ndarray:
        """The middle of the field of view, in RAS+ millimetres."""
        return self.to_world((np.array(self.shape) - 1) / 2)

    @property
    def orientation(self) -> str:
        """The anatomical direction nearest to each axis, such as `RAS`."""
        letters = ["", "", ""]
        votes = np.abs(self.directions)
        for _ in range(3):
            world, axis = np.unravel_index(np.argmax(votes), votes.shape)
            positive = self.directions[world, axis] > 0
            letters[axis] = ("RAS" if positive else "LPI")[world]
            votes[world, :] = -1
            votes[:, axis] = -1
        return "".join(letters)

    @property
    def is_orthogonal(self) -> bool:
        """Whether the axes stand at right angles, as ITK's formats demand."""
        return bool(np.allclose(self.directions.T @ self.directions, np.eye(3), atol=1e-4))

    def to_world(self, voxels: Points) -> Points:
        """Voxel indices to RAS+ millimetres."""
        return np.asarray(voxels @ self.affine[:3, :3].T + self.affine[:3, 3])

    def to_voxels(self, points: Points) -> Points:
        """RAS+ millimetres to voxel indices."""
        inverse = np.linalg.inv(self.affine)
        return np.asarray(points @ inverse[:3, :3].T + inverse[:3, 3])

    def points(self, first: int = 0, last: int | None = None) -> Points:
        """The places of all voxels, or of the slab `first` to `last` along the first axis."""
        x = np.arange(first, self.shape[0] if last is None else last, dtype=np.float64)
        y, z = (np.arange(n, dtype=np.float64) for n in self.shape[1:])
        return self.to_world(np.stack(np.meshgrid(x, y, z, indexing="ij"), axis=-1))

    def corners(self) -> Points:
        """The eight outermost voxels' places."""
        ends = [(0.0, n - 1.0) for n in self.shape]
        return self.to_world(np.array(list(itertools.product(*ends))))

    def contains(self, points: Points) -> np.ndarray:
        """Which points lie in the field of view: within half a voxel of a voxel."""
        voxels = self.to_voxels(points)
        return np.asarray(np.all((voxels >= -0.5) & (voxels <= np.array(self.shape) - 0.5), axis=-1))

    def matches(self, other: "Grid", tolerance: float = 1e-3) -> bool:
        """Whether every voxel of both is at the same place, to `tolerance` of a voxel."""
        if self.shape != other.shape:
            return False
        apart = np.linalg.norm(self.corners() - other.corners(), axis=1).max()
        return bool(apart <= tolerance * min(self.spacing))

    def with_spacing(self, spacing: float | Sequence[float]) -> "Grid":
        """The same field of view and directions, at another spacing, with at least one voxel a side."""
        wanted = np.broadcast_to(np.asarray(spacing, dtype=np.float64), 3)
        extent = np.array(self.shape) * np.array(self.spacing)
        shape = np.maximum(1, np.ceil(extent / wanted - 1e-6)).astype(int)
        affine = np.eye(4)
        affine[:3, :3] = self.directions * wanted
        affine[:3, 3] = self.centre - affine[:3, :3] @ ((shape - 1) / 2)
        return Grid((int(shape[0]), int(shape[1]), int(shape[2])), affine)

    def coarsened(self, factor: int) -> "Grid":
        """Every `factor` voxels as one, round the same centre."""
        return self.with_spacing([h * factor for h in self.spacing])

    def squared(self) -> "Grid":
        """The grid with right angles that is nearest to this one, round the same centre."""
        left, _, right = np.linalg.svd(self.directions)
        affine = np.eye(4)
        affine[:3, :3] = (left @ right) * np.array(self.spacing)
        affine[:3, 3] = self.centre - affine[:3, :3] @ ((np.array(self.shape) - 1) / 2)
        return Grid(self.shape, affine)


def _check(shape: tuple[int, ...], affine: np.ndarray) -> None:
    if len(shape) != 3 or min(shape) < 1:
        raise InputError(f"Grid.shape is {shape}; give three sides of at least one voxel.")
    if affine.shape != (4, 4) or not np.isfinite(affine).all():
        raise InputError(f"Grid.affine is {affine.tolist()}; give a finite 4 × 4 matrix.")
    if not np.allclose(affine[3], [0, 0, 0, 1]):
        raise InputError(f"Grid.affine ends with the row {affine[3].tolist()}; it must be 0, 0, 0, 1.")
    lengths = np.linalg.norm(affine[:3, :3], axis=0)
    if lengths.min() < 1e-6 or abs(np.linalg.det(affine[:3, :3] / lengths)) < 1e-3:
        raise InputError(
            f"Grid.affine is singular: its axes {affine[:3, :3].tolist()} span no volume; "
            "mend the header's orientation."
        )
