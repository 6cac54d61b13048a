"""What a sampler may know: a log-density on flat vectors, and operators that describe its shape."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor

from credwarp.shapes import Noises, PerChain, Positions, Vector


@dataclass(frozen=True, eq=False)
class Evaluation:
    """log π of each chain, in float64, and ∇ log π, in the positions' precision."""

    log_density: PerChain
    gradient: Positions


@runtime_checkable
class Target(Protocol):
    """A density known up to a constant. One call is one gradient."""

    @property
    def dimension(self) -> int:
        """How many coordinates a position has."""

    def evaluate(self, position: Positions) -> Evaluation:
        """The log-density and its gradient at each chain's position."""


Kind = TypeVar("Kind", bound=Target)
Same = TypeVar("Same")


@runtime_checkable
class Adaptive(Target, Protocol):
    """A target with hyperparameters that follow the chains while they warm up."""

    def adapted(self: Kind, position: Positions, step: int) -> Kind:
        """The target after one update of its hyperparameters; `step` counts from 0."""


@runtime_checkable
class Preconditioner(Protocol):
    """P = S Sᵀ, positive definite: shapes drift (P) and noise (S) alike, so that they cannot disagree."""

    @property
    def noises(self) -> int:
        """How many standard normals `sqrt` takes."""

    def apply(self, position: Positions) -> Positions:
        """P x."""

    def sqrt(self, noise: Noises) -> Positions:
        """S z: a draw from N(0, P) where z is standard normal."""

    @property
    def certainty(self) -> Vector | float:
        """The share of each coordinate's precision that is the same everywhere: 1 where P is surely right.

        Diagonal with it commutes with P: coordinates that P couples have the same.
        """

    def inverse(self, position: Positions) -> Positions:
        """P⁻¹ x."""


@runtime_checkable
class Precision(Protocol):
    """A symmetric, positive semi-definite operator C = B Bᵀ."""

    @property
    def noises(self) -> int:
        """How many standard normals `sqrt` takes."""

    def product(self, position: Positions) -> Positions:
        """C x."""

    def sqrt(self, noise: Noises) -> Positions:
        """B z: a draw from N(0, C) where z is standard normal."""

    def blended(self: Same, other: Same, share: float) -> Same:
        """(1 − share) · this + share · other."""


@runtime_checkable
class Curved(Target, Protocol):
    """A target −½ wᵀQw + log p(data | w) that knows Q and a Gauss–Newton curvature H of its likelihood."""

    @property
    def prior(self) -> Precision:
        """Q."""

    def curvature(self, position: Positions) -> Precision:
        """H, averaged over the positions given."""

    def rough(self, curvature: Any) -> Preconditioner:
        """A cheap stand-in for (Q + H)⁻¹, such as (Q + c)⁻¹, H a curvature of this target's own."""


@runtime_checkable
class Graded(Curved, Protocol):
    """A target that knows which of its coordinates are slow."""

    def block(self, curvature: Any, size: int) -> Preconditioner:
        """(Q + H)⁻¹ exactly on about `size` of the slowest coordinates, `rough` on the others."""


@runtime_checkable
class Symmetric(Protocol):
    """An invertible symmetric operator, such as the Sobolev kernel."""

    @property
    def log_det(self) -> float:
        """log |det S|."""

    def apply(self, position: Positions) -> Positions:
        """S x."""


@dataclass(frozen=True, eq=False)
class Reparametrised:
    """The law of x where S x follows the target: log π(S x) + log |det S|, gradient S ∇ log π(S x).

    Sobolev gradients done so that value, gradient, noise and entropy speak of one law: whatever is inferred
    about x, `apply` takes to the target's own parameters.
    """

    target: Target
    operator: Symmetric

    @property
    def dimension(self) -> int:
        """How many coordinates a position has."""
        return self.target.dimension

    def evaluate(self, position: Positions) -> Evaluation:
        """The log-density and its gradient in x."""
        inner = self.target.evaluate(self.operator.apply(position))
        return Evaluation(inner.log_density + self.operator.log_det, self.operator.apply(inner.gradient))

    def apply(self, position: Positions) -> Positions:
        """The target's parameters, S x."""
        return self.operator.apply(position)


def adapted(target: Kind, position: Positions, step: int) -> Kind:
    """The target after an update of its hyperparameters, where it has some."""
    return target.adapted(position, step) if isinstance(target, Adaptive) else target


def dots(left: Positions, right: Positions) -> PerChain:
    """The inner product of each chain's rows, in float64."""
    return by_fours(left * right, lambda rows: rows.sum(dim=1, dtype=torch.float64))


def by_fours(rows: Positions, function: Callable[[Positions], Tensor]) -> Tensor:
    """The function of always four chains at a time, the last ones made up with zeros.

    How a sum or a product is rounded depends on how many rows it has: with a fixed number, a chain's bits do
    not depend on the other chains.
    """
    chains = rows.shape[0]
    padded = torch.nn.functional.pad(rows, (0, 0, 0, -chains % 4)) if chains % 4 else rows.contiguous()
    return torch.cat([function(group) for group in padded.split(4)])[:chains]


def column(values: PerChain, like: Tensor) -> Float[Tensor, "chains 1"]:
    """Per-chain numbers, shaped and typed to multiply positions."""
    return values.to(like.dtype)[:, None]
