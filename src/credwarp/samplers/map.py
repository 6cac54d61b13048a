"""The most probable position: what an optimiser returns, and which optima are the same."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias, TypeVar, runtime_checkable

import torch

from credwarp.samplers.target import Curved, Preconditioner, Target
from credwarp.shapes import Vector

Reason: TypeAlias = Literal["converged", "stalled", "capped"]


@dataclass(frozen=True, eq=False)
class Optimum:
    """Where an optimiser ended, the log-densities on the way, and why it stopped.

    `stalled` means that no step along the last direction was better, or that several in a row gained nothing.
    """

    position: Vector
    trace: tuple[float, ...]
    reason: Reason
    gradients: int

    @property
    def log_density(self) -> float:
        """At the position."""
        return self.trace[-1]


@runtime_checkable
class Ascent(Protocol):
    """What a member offers: the top of the hill that a position stands on."""

    def maximise(self, target: Curved, start: Vector, metric: Preconditioner) -> Optimum:
        """From `start`; `metric` is a first guess of the inverse curvature."""


@runtime_checkable
class Found(Protocol):
    """An optimum, wherever it came from."""

    @property
    def log_density(self) -> float:
        """How good it is."""


F = TypeVar("F", bound=Found)


def distinct(optima: Sequence[F], tolerance: float, distance: Callable[[F, F], float]) -> list[list[F]]:
    """The optima by basin, the best basin and in it the best optimum first; never to be pooled.

    Two belong together where a chain of optima, each within `tolerance` of the next, joins them.
    """
    basins: list[list[F]] = []
    for optimum in sorted(optima, key=lambda o: -o.log_density):
        near = [b for b in basins if any(distance(optimum, o) <= tolerance for o in b)]
        basins = [b for b in basins if b not in near]
        basins.append([o for b in near for o in b] + [optimum])
    return sorted(basins, key=lambda b: -b[0].log_density)


@dataclass(frozen=True, eq=False)
class Place:
    """A position and what is known there."""

    position: Vector
    log_density: float
    gradient: Vector


def look(target: Target, position: Vector) -> Place:
    """One evaluation of one position."""
    evaluation = target.evaluate(position[None])
    return Place(position, float(evaluation.log_density[0]), evaluation.gradient[0])


def dot(first: Vector, second: Vector) -> float:
    """The inner product, in float64."""
    return float((first * second).sum(dtype=torch.float64))


def length(gradient: Vector, metric: Preconditioner) -> float:
    """√(gᵀPg / dimension): how far from the optimum, in standard deviations per coordinate, if P is right."""
    return math.sqrt(max(0.0, dot(gradient, metric.apply(gradient[None])[0])) / len(gradient))
