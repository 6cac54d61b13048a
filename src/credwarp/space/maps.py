"""Maps of points: affine, and affine round a displacement field; RAS+ millimetres in and out."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy.ndimage import map_coordinates

from credwarp.errors import InputError
from credwarp.shapes import Field, Points
from credwarp.space.grid import Grid

Mapping: TypeAlias = Callable[[Points], Points]
"""Takes points of one space to points of another."""


@dataclass(frozen=True, eq=False)
class Affine:
    """x ↦ Ax + b."""

    matrix: np.ndarray

    def __post_init__(self) -> None:
        matrix = np.array(self.matrix, dtype=np.float64)
        if matrix.shape != (4, 4) or not np.isfinite(matrix).all() or abs(np.linalg.det(matrix)) < 1e-9:
            raise InputError(f"the affine transform {matrix.tolist()} has no inverse; give another.")
        matrix.setflags(write=False)
        object.__setattr__(self, "matrix", matrix)

    @classmethod
    def identity(cls) -> "Affine":
        """x ↦ x."""
        return cls(np.eye(4))

    def __call__(self, points: Points) -> Points:
        """Where the points go."""
        return np.asarray(points @ self.matrix[:3, :3].T + self.matrix[:3, 3])

    def after(self, first: "Affine") -> "Affine":
        """x ↦ self(first(x))."""
        return Affine(self.matrix @ first.matrix)

    def inverse(self) -> "Affine":
        """The map back."""
        return Affine(np.linalg.inv(self.matrix))


@dataclass(frozen=True, eq=False)
class Warp:
    """x ↦ after(y + u(y)), y = before(x).

    `displacement` u is in millimetres along R, A, S at the voxels of `grid`, linear between them and zero
    outside the field of view, which is also how ITK reads a displacement field.
    """

    grid: Grid
    displacement: Field
    before: Affine
    after: Affine

    def __call__(self, points: Points) -> Points:
        """Where the points go."""
        moved = self.before(points)
        flat = moved.reshape(-1, 3)
        inside = self.grid.contains(flat)
        voxels = self.grid.to_voxels(flat[inside]).T
        out = flat.copy()
        for component in range(3):
            values = np.asarray(self.displacement[component])
            out[inside, component] += map_coordinates(
                values, voxels, output=np.float64, order=1, mode="nearest"
            )
        return self.after(out.reshape(moved.shape))


@dataclass(frozen=True, eq=False)
class Chain:
    """x ↦ the links one after the other, the first one first."""

    links: tuple[Affine | Warp, ...]

    def __call__(self, points: Points) -> Points:
        """Where the points go."""
        for link in self.links:
            points = link(points)
        return points
