"""Random smooth diffeomorphisms of a head, with their inverses."""

import functools
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from scipy.ndimage import map_coordinates
from torch import Tensor

from credwarp.fields import jacobian_determinant, to_millimetres, to_voxels
from credwarp.kernels import expand
from credwarp.phantom.anatomy import RADII
from credwarp.phantom.solids import Places
from credwarp.shapes import Field
from credwarp.space import Affine, Grid, Warp
from credwarp.spectral import Diagonal, dct, laplacian_eigenvalues

# Fields are cosine series on the coarse lattice, which holds the head with room to move; between voxels of
# the fine one they are linear, to about a hundredth of a millimetre.
COARSE = Grid.isotropic((45, 56, 47), 4.0)
FINE = Grid.isotropic((90, 112, 94), 2.0)
CORRELATION = 11.0
ORDER = 4
STEPS = 2
LARGEST = 10.0
LEAST_DETERMINANT = 0.3
SHRINK = 0.9
NOWHERE = Affine.identity()


@dataclass(frozen=True, eq=False)
class Deformation:
    """The flow of a velocity at time 1 and at time −1; all three in voxels of `COARSE`."""

    velocity: Field
    there: Field
    back: Field

    @functools.cached_property
    def forward(self) -> Warp:
        """The map of points along the flow."""
        return _warp(self.there)

    @functools.cached_property
    def inverse(self) -> Warp:
        """The map of points against it."""
        return _warp(self.back)

    def carry(self, places: Places) -> Places:
        """`forward` in single precision, for many places."""
        return np.asarray(places + _read(np.asarray(self.forward.displacement), places))

    def carry_back(self, places: Places) -> Places:
        """`inverse` in single precision, for many places."""
        return np.asarray(places + _read(np.asarray(self.inverse.displacement), places))


def drawn(seed: int, mean: float) -> Deformation:
    """A flow that moves the brain by `mean` millimetres on average, at most by 10 anywhere, without folds."""
    precision = (CORRELATION**-2 + laplacian_eigenvalues(COARSE.shape, COARSE.spacing)) ** ORDER
    draw = Diagonal(precision[None]).draw(torch.Generator().manual_seed(seed), 1)[0]
    radius = (np.abs(COARSE.points() / RADII) ** 3).sum(axis=-1) ** (1 / 3)
    velocity = draw * torch.from_numpy(np.cos(np.pi / 2 * np.clip((radius - 0.9) / 0.25, 0, 1)) ** 2).to(draw)
    length = torch.linalg.vector_norm(velocity, dim=0)[torch.from_numpy(radius < 0.85)]
    velocity = velocity * (mean / (COARSE.spacing[0] * length.mean()))
    fine = np.asarray(to_millimetres(on_grid(velocity, FINE), FINE))
    scale = 1.0
    there = _flow(fine)
    while not _plausible(there):
        scale *= SHRINK
        there = _flow(scale * fine)
    return Deformation(scale * velocity, there, _flow(-scale * fine))


def on_grid(field: Float[Tensor, "3 i j k"], grid: Grid) -> Field:
    """The cosine series of a coarse field, read at the voxels of an upright grid, in that grid's voxels."""
    matrices = [_cosine_rows(axis, grid) for axis in range(3)]
    return to_voxels(to_millimetres(expand(dct(field), matrices), COARSE), grid)


def _warp(field: Field) -> Warp:
    return Warp(FINE, to_millimetres(on_grid(field, FINE), FINE), NOWHERE, NOWHERE)


def _plausible(displacement: Field) -> bool:
    longest = COARSE.spacing[0] * torch.linalg.vector_norm(displacement, dim=0).max()
    return bool(longest < LARGEST) and bool(
        jacobian_determinant(displacement[None]).min() > LEAST_DETERMINANT
    )


def _flow(velocity: np.ndarray) -> Field:
    """How far each coarse voxel goes in unit time by Runge–Kutta steps; the velocity is fine, in mm."""
    start = np.ascontiguousarray(COARSE.points().reshape(-1, 3).T, dtype=np.float32)
    moving = np.flatnonzero(np.abs(_read(velocity, start)).max(axis=0) > 1e-5)
    start = start[:, moving]
    places, step = start, np.float32(1 / STEPS)
    for _ in range(STEPS):
        first = _read(velocity, places)
        second = _read(velocity, places + step / 2 * first)
        third = _read(velocity, places + step / 2 * second)
        fourth = _read(velocity, places + step * third)
        places = places + step / 6 * (first + 2 * second + 2 * third + fourth)
    displacement = np.zeros((3, COARSE.voxels), np.float32)
    displacement[:, moving] = (places - start) / np.float32(COARSE.spacing[0])
    return torch.from_numpy(displacement.reshape(3, *COARSE.shape))


def _read(field: np.ndarray, places: Places) -> Places:
    """A field at the fine voxels, linear between them."""
    there = (places - FINE.affine[:3, 3:].astype(np.float32)) / np.float32(FINE.spacing[0])
    return np.stack(
        [map_coordinates(part, there, output=np.float32, order=1, mode="nearest") for part in field]
    )


def _cosine_rows(axis: int, grid: Grid) -> torch.Tensor:
    """The value of each cosine at the grid's planes along one axis; zero beyond the lattice."""
    n = COARSE.shape[axis]
    corner = grid.affine[axis, 3] - COARSE.affine[axis, 3]
    places = (corner + grid.affine[axis, axis] * np.arange(grid.shape[axis])) / COARSE.spacing[axis]
    rows = np.cos(np.pi / n * np.outer(places + 0.5, np.arange(n))) * np.sqrt(2 / n)
    rows[:, 0] = np.sqrt(1 / n)
    rows[(places < -0.5) | (places > n - 0.5)] = 0
    return torch.from_numpy(rows).to(torch.float32)
