"""Which preconditioner the chains get: built from the target's prior and a curvature of its likelihood."""

from dataclasses import dataclass
from typing import Annotated, Literal, Protocol, runtime_checkable

from annotated_types import Ge, Gt, Le

from credwarp.samplers.precondition import LOOSEST_TOLERANCE, GaussNewton
from credwarp.samplers.target import Graded, Precision, Preconditioner


@runtime_checkable
class Build(Protocol):
    """What a member offers."""

    def build(self, target: Graded, curvature: Precision) -> Preconditioner:
        """P, given the curvature H that it is to stand for."""


@dataclass(frozen=True)
class LowBlock:
    """The default: (Q + H)⁻¹ exactly on the `size` slowest coordinates, (Q + c)⁻¹ on the others."""

    kind: Literal["block"] = "block"
    size: Annotated[int, Ge(1)] = 3600

    def build(self, target: Graded, curvature: Precision) -> Preconditioner:
        """Dense where modes are slow, diagonal elsewhere."""
        return target.block(curvature, self.size)


@dataclass(frozen=True)
class Rough:
    """(Q + c)⁻¹: no more than the target's own rough guess."""

    kind: Literal["rough"] = "rough"

    def build(self, target: Graded, curvature: Precision) -> Preconditioner:
        """Diagonal where the prior is."""
        return target.rough(curvature)


@dataclass(frozen=True)
class Full:
    """(Q + H)⁻¹ by conjugate gradients at every step."""

    kind: Literal["full"] = "full"
    tolerance: Annotated[float, Gt(0), Le(LOOSEST_TOLERANCE)] = LOOSEST_TOLERANCE
    iterations: Annotated[int, Ge(1)] = 500

    def build(self, target: Graded, curvature: Precision) -> Preconditioner:
        """Solved anew each time it is applied."""
        rough = target.rough(curvature)
        return GaussNewton(target.prior, curvature, rough, self.tolerance, self.iterations)
