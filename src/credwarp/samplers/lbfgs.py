"""Limited-memory BFGS from a preconditioner, with a line search for the weak Wolfe conditions."""

import math
from collections import deque
from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge, Gt

from credwarp.samplers.map import Optimum, Place, Reason, dot, length, look
from credwarp.samplers.target import Preconditioner, Target
from credwarp.shapes import Vector

RISE = 1e-4
FLATTENING = 0.9
LONGEST_SEARCH = 20


@dataclass(frozen=True)
class Lbfgs:
    """d = B ∇ log π by the two-loop recursion, its innermost metric the preconditioner (Nocedal 1980).

    Converged where √(gᵀPg / dimension) is below `tolerance`; stalled where `patience` iterations in a row
    gained less than `gain`, or where no step is better even along P ∇ log π.
    """

    kind: Literal["lbfgs"] = "lbfgs"
    iterations: Annotated[int, Ge(1)] = 60
    memory: Annotated[int, Ge(1)] = 8
    tolerance: Annotated[float, Gt(0)] = 1e-3
    gain: Annotated[float, Ge(0)] = 1e-3
    patience: Annotated[int, Ge(1)] = 5

    def maximise(self, target: Target, start: Vector, metric: Preconditioner) -> Optimum:
        """From `start`, whose log-density must be finite."""
        here = look(target, start)
        trace, gradients = [here.log_density], 1
        pairs: deque[_Pair] = deque(maxlen=self.memory)
        reason: Reason = "capped"
        for _ in range(self.iterations):
            if length(here.gradient, metric) < self.tolerance:
                reason = "converged"
                break
            there, taken = _climb(target, here, _direction(here.gradient, metric, pairs))
            gradients += taken
            if there is here and not pairs or self._is_idle(trace):
                reason = "stalled"
                break
            if there is here:
                pairs.clear()
                continue
            pair = _Pair(there.position - here.position, here.gradient - there.gradient)
            if pair.curvature > 1e-10 * math.sqrt(dot(pair.move, pair.move) * dot(pair.change, pair.change)):
                pairs.append(pair)
            trace.append(there.log_density)
            here = there
        return Optimum(here.position, tuple(trace), reason, gradients)

    def _is_idle(self, trace: list[float]) -> bool:
        return (
            len(trace) > self.patience and trace[-1] - trace[-1 - self.patience] < self.gain * self.patience
        )


@dataclass(frozen=True, eq=False)
class _Pair:
    """A move and the fall of the gradient over it."""

    move: Vector
    change: Vector

    @property
    def curvature(self) -> float:
        return dot(self.move, self.change)


def _direction(gradient: Vector, metric: Preconditioner, pairs: deque[_Pair]) -> Vector:
    direction = gradient
    shares = []
    for pair in reversed(pairs):
        share = dot(pair.move, direction) / pair.curvature
        direction = direction - share * pair.change
        shares.append(share)
    direction = metric.apply(direction[None])[0]
    if pairs:
        newest = pairs[-1].change
        direction = direction * (pairs[-1].curvature / dot(newest, metric.apply(newest[None])[0]))
    for pair, share in zip(pairs, reversed(shares), strict=True):
        direction = direction + (share - dot(pair.change, direction) / pair.curvature) * pair.move
    return direction


def _climb(target: Target, here: Place, direction: Vector) -> tuple[Place, int]:
    """A place that is higher and less steep, or `here`; and how many evaluations it took.

    Bisection between the longest step known too short and the shortest known too long, doubling before there
    is one; a first step too long is shortened by its parabola.
    """
    slope = dot(here.gradient, direction)
    if not slope > 0:
        return here, 0
    best, step, low, high = here, 1.0, 0.0, math.inf
    for taken in range(1, LONGEST_SEARCH + 1):
        there = look(target, here.position + step * direction)
        rise = there.log_density - here.log_density
        if not rise >= RISE * step * slope:
            high = step
        elif dot(there.gradient, direction) > FLATTENING * slope:
            best, low = there, step
        else:
            return there, taken
        if low == 0 and math.isfinite(rise):
            step = step * min(0.5, max(0.1, slope * step / (2 * (slope * step - rise))))
        else:
            step = (low + high) / 2 if math.isfinite(high) else 2 * step
    return best, LONGEST_SEARCH
