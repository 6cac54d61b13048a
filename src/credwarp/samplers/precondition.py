"""Preconditioners: one object gives P and a square root of P, so drift and noise cannot disagree."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from credwarp.errors import PlanError
from credwarp.samplers.conjugate import solve
from credwarp.samplers.target import Precision, Preconditioner, by_fours
from credwarp.shapes import Noises, Positions, Vector

LOOSEST_TOLERANCE = 1e-2


@dataclass(frozen=True)
class Identity:
    """P = 1."""

    dimension: int

    @property
    def noises(self) -> int:
        """How many standard normals `sqrt` takes."""
        return self.dimension

    def apply(self, position: Positions) -> Positions:
        """The position itself."""
        return position

    def sqrt(self, noise: Noises) -> Positions:
        """The noise itself."""
        return noise

    @property
    def certainty(self) -> float:
        """Nothing is known of any coordinate."""
        return 0.0

    def inverse(self, position: Positions) -> Positions:
        """The position itself."""
        return position


@dataclass(frozen=True, eq=False)
class Diagonal:
    """P = diag(variances): the paper's A = diag σ²_w, or a spectrum where positions are coefficients."""

    variances: Vector
    certainty: Vector | float = 0.0

    @property
    def noises(self) -> int:
        """How many standard normals `sqrt` takes."""
        return self.variances.shape[0]

    def apply(self, position: Positions) -> Positions:
        """P x."""
        return position * self.variances.to(position.dtype)

    def sqrt(self, noise: Noises) -> Positions:
        """P^½ z."""
        return noise * self.variances.sqrt().to(noise.dtype)

    def inverse(self, position: Positions) -> Positions:
        """P⁻¹ x."""
        return position / self.variances.to(position.dtype)


@dataclass(frozen=True, eq=False)
class Block:
    """P dense on the coordinates `index` (`matrix`, its root and its inverse), diagonal on the others.

    `root` is L⁻¹, L the precision's Cholesky factor: P = L⁻ᵀ L⁻¹, and a row of noise times L⁻¹ is L⁻ᵀ z.
    The default: the slow modes are smooth, so the lowest frequencies get the whole Gauss–Newton block.
    """

    index: Int[Tensor, " block"]
    matrix: Float[Tensor, "block block"]
    root: Float[Tensor, "block block"]
    precision: Float[Tensor, "block block"]
    variances: Vector
    certainty: Vector

    @classmethod
    def of(
        cls, index: Int[Tensor, " block"], precision: Float[Tensor, "block block"], rest: Diagonal
    ) -> "Block":
        """From the precision on the chosen coordinates and the preconditioner of the others."""
        variances = rest.variances
        lower = torch.linalg.cholesky(precision.to(torch.float64))
        identity = torch.eye(len(index), dtype=torch.float64, device=precision.device)
        inverse = torch.linalg.solve_triangular(lower, identity, upper=False)
        kind = variances.dtype
        certainty = torch.zeros_like(variances) + rest.certainty
        certainty[index] = 0.0
        matrices = ((inverse.T @ inverse).to(kind), inverse.to(kind), precision.to(kind))
        return cls(index, *matrices, variances, certainty)

    @property
    def noises(self) -> int:
        """How many standard normals `sqrt` takes."""
        return self.variances.shape[0]

    def apply(self, position: Positions) -> Positions:
        """P x."""
        return self._through(self.matrix, position, position * self.variances.to(position.dtype))

    def sqrt(self, noise: Noises) -> Positions:
        """S z, with S = L⁻ᵀ on the block."""
        return self._through(self.root, noise, noise * self.variances.sqrt().to(noise.dtype))

    def inverse(self, position: Positions) -> Positions:
        """P⁻¹ x."""
        return self._through(self.precision, position, position / self.variances.to(position.dtype))

    def _through(self, matrix: Tensor, position: Tensor, elsewhere: Tensor) -> Tensor:
        elsewhere[:, self.index] = by_fours(position[:, self.index], lambda rows: rows @ matrix)
        return elsewhere


@dataclass(frozen=True, eq=False)
class GaussNewton:
    """P = (Q + H)⁻¹ by conjugate gradients; a draw is P (Q^½ z₁ + H^½ z₂).

    The tolerance is relative, in the norm of `rough`. Looser than 1e-2 the draws lose their spread.
    """

    prior: Precision
    curvature: Precision
    rough: Preconditioner
    tolerance: float = LOOSEST_TOLERANCE
    iterations: int = 500

    def __post_init__(self) -> None:
        if not 0 < self.tolerance <= LOOSEST_TOLERANCE:
            raise PlanError(
                f"the tolerance of conjugate gradients is {self.tolerance:g}; give one in "
                f"(0, {LOOSEST_TOLERANCE:g}], because looser ones shrink the posterior's spread."
            )

    @property
    def noises(self) -> int:
        """How many standard normals `sqrt` takes."""
        return self.prior.noises + self.curvature.noises

    def apply(self, position: Positions) -> Positions:
        """P x."""
        return solve(self.inverse, position, self.rough, self.tolerance, self.iterations).position

    def sqrt(self, noise: Noises) -> Positions:
        """P (Q^½ z₁ + H^½ z₂), whose covariance is P (Q + H) P = P."""
        first, second = noise.split([self.prior.noises, self.curvature.noises], dim=1)
        return self.apply(self.prior.sqrt(first) + self.curvature.sqrt(second))

    @property
    def certainty(self) -> float:
        """P couples all coordinates, so none can be told from the others."""
        return 0.0

    def inverse(self, position: Positions) -> Positions:
        """(Q + H) x."""
        return self.prior.product(position) + self.curvature.product(position)
