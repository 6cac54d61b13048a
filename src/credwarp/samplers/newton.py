"""Damped Gauss–Newton ascent: the curvature's own step, solved for by conjugate gradients."""

from dataclasses import dataclass, replace
from typing import Annotated, Literal

from annotated_types import Ge, Gt, Lt

from credwarp.samplers.conjugate import solve
from credwarp.samplers.map import Optimum, Reason, dot, length, look
from credwarp.samplers.target import Curved, Precision, Preconditioner
from credwarp.shapes import Positions, Vector


@dataclass(frozen=True)
class Newton:
    """(Q + H + μ P⁻¹) d = ∇ log π, H the Gauss–Newton curvature, P the preconditioner (Levenberg 1944).

    The step is taken where log π rises; the damping μ falls where the rise is what the quadratic predicts
    and grows where it is not. Converged where √(gᵀPg / dimension) is below `tolerance`.
    """

    kind: Literal["newton"] = "newton"
    iterations: Annotated[int, Ge(1)] = 30
    damping: Annotated[float, Gt(0)] = 0.1
    solving: Annotated[float, Gt(0), Lt(1)] = 0.1
    solving_iterations: Annotated[int, Ge(1)] = 50
    tolerance: Annotated[float, Gt(0)] = 1e-3
    gain: Annotated[float, Ge(0)] = 1e-3
    patience: Annotated[int, Ge(1)] = 5

    def maximise(self, target: Curved, start: Vector, metric: Preconditioner) -> Optimum:
        """From `start`, whose log-density must be finite."""
        here = look(target, start)
        curvature = target.curvature(start[None])
        trace, gradients, idle = [here.log_density], 1, 0
        damped = _Damped(target.prior, curvature, metric, self.damping)
        reason: Reason = "capped"
        for _ in range(self.iterations):
            if length(here.gradient, metric) < self.tolerance:
                reason = "converged"
                break
            if idle >= self.patience:
                reason = "stalled"
                break
            right = here.gradient[None]
            step = solve(damped.product, right, metric, self.solving, self.solving_iterations).position
            there = look(target, here.position + step[0])
            gradients += 1
            expected = dot(here.gradient, step[0]) - 0.5 * dot(step[0], damped.undamped(step)[0])
            rise = there.log_density - here.log_density
            agreement = rise / expected if expected > 0 else 0.0
            damped = replace(damped, damping=damped.damping * _factor(agreement))
            idle = 0 if rise > self.gain else idle + 1
            if agreement > 1e-4:
                here = there
                trace.append(here.log_density)
                damped = replace(damped, curvature=target.curvature(here.position[None]))
        return Optimum(here.position, tuple(trace), reason, gradients)


@dataclass(frozen=True, eq=False)
class _Damped:
    prior: Precision
    curvature: Precision
    metric: Preconditioner
    damping: float

    def undamped(self, position: Positions) -> Positions:
        return self.prior.product(position) + self.curvature.product(position)

    def product(self, position: Positions) -> Positions:
        return self.undamped(position) + self.damping * self.metric.inverse(position)


def _factor(agreement: float) -> float:
    """What the damping is multiplied by; not a number counts as disagreement."""
    if agreement > 0.75:
        return 1 / 3
    return 1.0 if agreement > 0.25 else 4.0
