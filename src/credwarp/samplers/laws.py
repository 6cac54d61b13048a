"""Laws known in closed form, and how far draws are from them: what every sampler of the room must keep."""

from dataclasses import dataclass
from typing import TypeAlias

import torch
from jaxtyping import Float
from torch import Tensor

from credwarp.samplers.precondition import Block, Diagonal
from credwarp.samplers.target import Evaluation, Precision, Preconditioner, by_fours, dots
from credwarp.shapes import Noises, Positions, Vector

Matrix: TypeAlias = Float[Tensor, "dimension dimension"]


@dataclass(frozen=True, eq=False)
class Dense:
    """A precision given as a matrix, with its symmetric square root."""

    matrix: Matrix
    root: Matrix

    @classmethod
    def of(cls, matrix: Matrix) -> "Dense":
        """Semi-definite matrices have a root too."""
        values, vectors = torch.linalg.eigh(matrix)
        return cls(matrix, (vectors * values.clamp(min=0).sqrt()) @ vectors.T)

    @property
    def noises(self) -> int:
        """How many standard normals `sqrt` takes."""
        return self.matrix.shape[0]

    def product(self, position: Positions) -> Positions:
        """C x."""
        return _multiplied(position, self.matrix)

    def sqrt(self, noise: Noises) -> Positions:
        """C^½ z."""
        return _multiplied(noise, self.root)

    def blended(self, other: "Dense", share: float) -> "Dense":
        """(1 − share) · this + share · other."""
        return Dense.of((1 - share) * self.matrix + share * other.matrix)


@dataclass(frozen=True, eq=False)
class Gaussian:
    """N(mean, (Q + H)⁻¹), Q called the prior and H the curvature of the rest."""

    mean: Vector
    prior: Precision
    likelihood: Dense

    @property
    def dimension(self) -> int:
        """How many coordinates a position has."""
        return self.mean.shape[0]

    @property
    def precision(self) -> Matrix:
        """Q + H as a matrix."""
        identity = torch.eye(self.dimension, dtype=self.mean.dtype, device=self.mean.device)
        return self.prior.product(identity) + self.likelihood.product(identity)

    @property
    def covariance(self) -> Matrix:
        """(Q + H)⁻¹ as a matrix."""
        inverse: Matrix = torch.linalg.inv(self.precision)
        return inverse

    def evaluate(self, position: Positions) -> Evaluation:
        """The log-density up to its constant, and its gradient."""
        away = position - self.mean.to(position.dtype)
        slope = self.prior.product(away) + self.likelihood.product(away)
        return Evaluation(-0.5 * dots(away, slope), -slope)

    def curvature(self, position: Positions) -> Dense:
        """H, which is the same everywhere."""
        return self.likelihood

    def rough(self, curvature: Dense) -> Diagonal:
        """The inverse of the diagonal of Q + H."""
        identity = torch.eye(self.dimension, dtype=self.mean.dtype, device=self.mean.device)
        prior = self.prior.product(identity).diagonal()
        variances = 1 / (prior + curvature.product(identity).diagonal())
        return Diagonal(variances, prior * variances)

    def block(self, curvature: Dense, size: int) -> Block:
        """Exact on the first `size` coordinates."""
        identity = torch.eye(self.dimension, dtype=self.mean.dtype, device=self.mean.device)
        whole = self.prior.product(identity) + curvature.product(identity)
        index = torch.arange(min(size, self.dimension), device=self.mean.device)
        return Block.of(index, whole[index][:, index], Diagonal(1 / whole.diagonal()))


def sgld_covariance(precision: Matrix, preconditioner: Preconditioner, step_size: float) -> Matrix:
    """What `Sgld` draws from where the target is a Gaussian: (C − τ CAC/2)⁻¹."""
    curvature = precision - step_size / 2 * preconditioner.apply(precision) @ precision
    inverse: Matrix = torch.linalg.inv((curvature + curvature.T) / 2)
    return inverse


@dataclass(frozen=True, eq=False)
class Scores:
    """Deviations of chains from a law, each in its own Monte-Carlo error."""

    mean: Tensor
    variance: Tensor
    covariance: Tensor

    @property
    def worst(self) -> float:
        """The largest deviation of all; infinite where draws are not numbers."""
        values = torch.cat([self.mean, self.variance, self.covariance]).abs()
        return float(torch.where(torch.isfinite(values), values, torch.inf).max())


def scores(
    position: Float[Tensor, "chains draws dimension"], mean: Vector, covariance: Matrix, directions: Tensor
) -> Scores:
    """How far the chains' moments along `directions` (a row each) are from those of N(mean, covariance).

    Chains are independent, so the spread of their own averages is the error, however slowly each one mixes.
    Variances are compared by their logarithms, which are less skew. Covariances are those of each direction
    with the next.
    """
    along = (position - mean) @ directions.T
    truth = directions @ covariance @ directions.T
    following = along.roll(-1, dims=-1)
    return Scores(
        _deviation(along.mean(dim=1), torch.zeros_like(truth.diagonal())),
        _log_deviation(along.square().mean(dim=1), truth.diagonal()),
        _deviation((along * following).mean(dim=1), truth.roll(-1, dims=-1).diagonal()),
    )


def _deviation(average: Float[Tensor, "chains directions"], truth: Tensor) -> Tensor:
    error: Tensor = average.std(dim=0) / average.shape[0] ** 0.5
    return (average.mean(dim=0) - truth) / error


def _log_deviation(average: Float[Tensor, "chains directions"], truth: Tensor) -> Tensor:
    mean = average.mean(dim=0)
    error: Tensor = average.std(dim=0) / average.shape[0] ** 0.5 / mean
    return torch.log(mean / truth) / error


def _multiplied(position: Positions, matrix: Matrix) -> Positions:
    return by_fours(position, lambda rows: rows @ matrix.to(rows.dtype))
