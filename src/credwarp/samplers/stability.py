"""Is the step small enough? By the virial, whose value is known, and by half the step."""

import math
from dataclasses import dataclass, replace
from typing import Annotated

from annotated_types import Ge, Gt
from jaxtyping import Float
from torch import Tensor

from credwarp.samplers.chain import State, Transition
from credwarp.samplers.draw import Chunk, Schedule, draw
from credwarp.samplers.target import Preconditioner, Target
from credwarp.shapes import Vector

# Long ones, because neighbours in time are alike.
BATCHES = 4
CUT = 0.7


@dataclass(frozen=True)
class Estimate:
    """A mean and its Monte-Carlo error."""

    value: float
    error: float


@dataclass(frozen=True)
class Pilot:
    """`steps` transitions before the virial is looked at, as many while it is; `cuts` at most."""

    steps: Annotated[int, Ge(8)] = 40
    tolerance: Annotated[float, Gt(0)] = 0.005
    cuts: Annotated[int, Ge(0)] = 8


@dataclass(frozen=True, eq=False)
class Checked:
    """The chains with the step found, the virials on the way, and whether the last was within bounds."""

    state: State
    virials: tuple[Estimate, ...]
    accepted: bool


def check_step(
    sampler: Transition,
    target: Target,
    preconditioner: Preconditioner,
    state: State,
    centre: Vector,
    pilot: Pilot,
) -> Checked:
    """Cut the step until −E[(w − m)·∇ log π] / dimension is 1, beyond two Monte-Carlo errors, m = `centre`.

    It checks the step, not convergence: it reads 1 beside chains that have not met.
    """
    virials: list[Estimate] = []
    state = replace(state, centre=centre)
    for cut in range(pilot.cuts + 1):
        settled = _run(sampler, target, preconditioner, state, pilot.steps).state
        chunk = _run(sampler, target, preconditioner, settled, pilot.steps)
        state = chunk.state
        virials.append(estimate(chunk.virial))
        excess = abs(virials[-1].value - 1) - 2 * virials[-1].error
        if excess <= pilot.tolerance and not bool(chunk.diverged.any()):
            return Checked(state, tuple(virials), True)
        if cut < pilot.cuts:
            state = replace(state, step_size=CUT * state.step_size)
    return Checked(state, tuple(virials), False)


def halving_score(
    sampler: Transition, target: Target, preconditioner: Preconditioner, state: State, steps: int
) -> float:
    """The difference of E[log π] at the chains' step and at half of it, in its own Monte-Carlo error.

    Both run the same time from the same state, so half the step takes twice as many transitions.
    """
    whole = _run(sampler, target, preconditioner, state, steps)
    shorter = replace(state, step_size=state.step_size / 2)
    half = _run(sampler, target, preconditioner, shorter, 2 * steps)
    first, second = (
        estimate(chunk.log_density[:, chunk.log_density.shape[1] // 3 :]) for chunk in (whole, half)
    )
    return (first.value - second.value) / math.hypot(first.error, second.error)


def estimate(series: Float[Tensor, "chains steps"]) -> Estimate:
    """The mean over chains and steps, its error from the spread of four batches a chain."""
    length = max(1, series.shape[1] // BATCHES)
    kept = series[:, series.shape[1] % length :] if length > 1 else series
    batches = kept.unflatten(1, (-1, length)).mean(dim=2).flatten()
    error = float(batches.std()) / math.sqrt(len(batches)) if len(batches) > 1 else math.inf
    return Estimate(float(series.mean()), error)


def _run(
    sampler: Transition, target: Target, preconditioner: Preconditioner, state: State, steps: int
) -> Chunk:
    return next(draw(sampler, target, preconditioner, state, Schedule(1, steps, 1)))
