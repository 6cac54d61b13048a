"""What variational inference returns: a law to draw from, and how it was found."""

from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from credwarp.samplers.randomness import Randomness
from credwarp.samplers.target import Curved, Preconditioner, Target
from credwarp.shapes import Positions, Vector

Reason: TypeAlias = Literal["converged", "capped", "diverged"]


@runtime_checkable
class Law(Protocol):
    """Something to draw from independently."""

    @property
    def mean(self) -> Vector:
        """μ."""

    def draw(self, randomness: Randomness) -> tuple[Positions, Randomness]:
        """A draw for each stream."""


@runtime_checkable
class Approximation(Law, Protocol):
    """A Gaussian law q that stands in for the target."""

    @property
    def preconditioner(self) -> Preconditioner:
        """What its covariance offers a sampler."""


@dataclass(frozen=True, eq=False)
class Fitted:
    """The law, the trace of what was followed, why it stopped, and the target it ended with."""

    approximation: Approximation
    trace: tuple[float, ...]
    reason: Reason
    gradients: int
    target: Target


@runtime_checkable
class Fit(Protocol):
    """What a member offers: a law fitted from a first guess of its mean."""

    def fit(self, target: Curved, mean: Vector, seed: int) -> Fitted:
        """The law of the family nearest to the target."""
