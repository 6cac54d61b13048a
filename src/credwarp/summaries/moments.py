"""Mean and spread over draws of the displacement and of the Jacobian's determinant, voxel by voxel."""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from credwarp.errors import InputError
from credwarp.fields import to_millimetres
from credwarp.kernels import streams
from credwarp.shapes import Field, Fields, Image
from credwarp.space import Grid
from credwarp.summaries.radius import radius95

Covariance = Float[Tensor, "6 x y z"]
# Where the six numbers of a covariance stand in the matrix.
PLACES = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))


@dataclass(frozen=True, eq=False)
class Displacement:
    """Of `count` draws: the mean (mm along R, A, S) and the covariance (mm²: xx yy zz xy xz yz)."""

    grid: Grid
    count: int
    mean: Field
    covariance: Covariance

    @property
    def sd(self) -> Image:
        """√trace of the covariance: the root mean square distance from the mean, in mm."""
        return self.covariance[:3].sum(dim=0).clamp(min=0).sqrt()

    @property
    def radius95(self) -> Image:
        """The radius, in mm, of the ball round the mean that holds 95 % of N(mean, covariance)."""
        return torch.stack([radius95(plane) for plane in self.covariance.unbind(1)])


@dataclass(frozen=True, eq=False)
class Jacobian:
    """The determinant of φ's Jacobian: mean, sd, the share of draws that fold; folded voxels per draw."""

    mean: Image
    sd: Image
    fold_probability: Image
    folds: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Sums:
    """What was added up, in place, and over how many draws."""

    count: int
    values: streams.Sums
    sides: int


@dataclass(frozen=True, eq=False)
class DisplacementMoments:
    """The fold that gives a `Displacement` on a grid."""

    grid: Grid

    def begin(self, like: Fields) -> Sums:
        """Nothing yet."""
        if tuple(like.shape[2:]) != self.grid.shape:
            raise InputError(
                f"the draws have {tuple(like.shape[2:])} voxels but the grid has {self.grid.shape}; "
                "give the grid of the run's pair."
            )
        return Sums(0, streams.blank_sums(9, like), like.shape[-1])

    def add(self, state: Sums, displacement: Fields) -> Sums:
        """One more draw."""
        count = state.count + 1
        streams.add_moments(state.values, displacement[0], count)
        return replace(state, count=count)

    def end(self, state: Sums) -> Displacement:
        """In millimetres, as of the population: divided by one draw less than there are."""
        values = state.values[..., : state.sides]
        mean = to_millimetres(values[:3], self.grid).contiguous()
        covariance = values[3:] / max(state.count - 1, 1)
        return Displacement(self.grid, state.count, mean, turned(covariance, self.grid))


@dataclass(frozen=True, eq=False)
class JacobianSums:
    """Sums, and the folds of each draw."""

    sums: Sums
    folds: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class JacobianMoments:
    """The fold that gives a `Jacobian`: a voxel folds where the determinant is not positive."""

    def begin(self, like: Fields) -> JacobianSums:
        """Nothing yet."""
        return JacobianSums(Sums(0, streams.blank_sums(3, like), like.shape[-1]), ())

    def add(self, state: JacobianSums, displacement: Fields) -> JacobianSums:
        """One more draw."""
        count = state.sums.count + 1
        folds = streams.add_determinants(state.sums.values, displacement[0], count)
        return JacobianSums(replace(state.sums, count=count), (*state.folds, folds))

    def end(self, state: JacobianSums) -> Jacobian:
        """Mean, sd and shares."""
        count = state.sums.count
        mean, spread, folded = state.sums.values[..., : state.sums.sides].unbind(0)
        sd = (spread / max(count - 1, 1)).sqrt()
        return Jacobian(mean.contiguous(), sd, folded / count, state.folds)


def turned(covariance: Covariance, grid: Grid) -> Covariance:
    """A covariance in voxels as mm² along R, A, S: M C Mᵀ."""
    matrix = torch.from_numpy(grid.affine[:3, :3].copy()).to(covariance)
    squares = torch.empty((6, 6), dtype=covariance.dtype, device=covariance.device)
    for row, (a, b) in enumerate(PLACES):
        for column, (c, d) in enumerate(PLACES):
            both = matrix[a, c] * matrix[b, d]
            squares[row, column] = both if c == d else both + matrix[a, d] * matrix[b, c]
    return torch.einsum("ab,bxyz->axyz", squares, covariance)
