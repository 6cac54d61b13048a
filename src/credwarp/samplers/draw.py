"""Running chains: warming them up, and drawing from them chunk by chunk."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import torch
from annotated_types import Ge
from jaxtyping import Bool, Float
from torch import Tensor

from credwarp.samplers.chain import Info, State, Transition
from credwarp.samplers.target import Preconditioner, Target, adapted


@dataclass(frozen=True)
class Schedule:
    """`draws` positions of every chain are kept, one after each `thin` transitions, in chunks of `chunk`."""

    draws: Annotated[int, Ge(1)] = 1000
    thin: Annotated[int, Ge(1)] = 1
    chunk: Annotated[int, Ge(1)] = 50


@dataclass(frozen=True, eq=False)
class Chunk:
    """Draws, how the transitions between them went (thinned ones included), and the state they end in."""

    position: Float[Tensor, "chains draws dimension"]
    log_density: Float[Tensor, "chains steps"]
    virial: Float[Tensor, "chains steps"]
    acceptance: Float[Tensor, "chains steps"]
    diverged: Bool[Tensor, "chains steps"]
    state: State


def draw(
    sampler: Transition, target: Target, preconditioner: Preconditioner, state: State, schedule: Schedule
) -> Iterator[Chunk]:
    """Chunks of draws. Where chunks end changes no draw, so a run may stop and go on after any of them."""
    left = schedule.draws
    while left > 0:
        positions, infos = [], []
        for _ in range(min(schedule.chunk, left)):
            for _ in range(schedule.thin):
                state, info = sampler.step(state, target, preconditioner)
                infos.append(info)
            positions.append(state.position)
        left -= len(positions)
        yield _chunk(torch.stack(positions, dim=1), infos, state)


def warm(
    sampler: Transition, target: Target, preconditioner: Preconditioner, state: State, steps: int
) -> Iterator[tuple[State, Target, Info]]:
    """Transitions whose target's hyperparameters, if it has some, follow the chains (the paper's SAEM).

    A transition uses the gradient of the target before the last update. Freeze what is yielded last and
    continue from `refreshed`.
    """
    for step in range(steps):
        state, info = sampler.step(state, target, preconditioner)
        target = adapted(target, state.position, step)
        yield state, target, info


def _chunk(position: Tensor, infos: list[Info], state: State) -> Chunk:
    return Chunk(
        position,
        torch.stack([info.log_density for info in infos], dim=1),
        torch.stack([info.virial for info in infos], dim=1),
        torch.stack([info.acceptance for info in infos], dim=1),
        torch.stack([info.diverged for info in infos], dim=1),
        state,
    )
