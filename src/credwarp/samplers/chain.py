"""Chains: what a transition leaves behind, what it tells, and what becomes of a chain that runs away."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from credwarp.errors import InputError
from credwarp.samplers.randomness import Randomness
from credwarp.samplers.target import Evaluation, Preconditioner, Target, dots
from credwarp.shapes import PerChain, Positions, Vector

# In equilibrium −log π lies about dimension/2 above its least value; a stable chain never comes near these.
ENERGY_PER_COORDINATE = 10.0
ENERGY_ROOM = 1000.0
# The fields of a state that have a row for each chain.
PER_CHAIN = (
    "position", "velocity", "pull", "log_density", "lowest", "virial",
    "step_size", "divergences", "randomness",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class State:
    """All there is of the chains: saved and loaded, the draws that follow are the same bit for bit.

    `pull` is P ∇ log π at the position, `lowest` the least −log π seen, `virial` that of the position about
    `centre`, and `gradients` how many evaluations each chain has cost. Any centre gives the virial the same
    mean; one near the target's mean gives it the least noise.
    """

    position: Positions
    velocity: Positions
    pull: Positions
    centre: Vector
    log_density: PerChain
    lowest: PerChain
    virial: PerChain
    step_size: PerChain
    divergences: Int[Tensor, " chains"]
    randomness: Randomness
    steps: int
    gradients: int

    def to_tensors(self) -> dict[str, Tensor]:
        """Every field as a tensor of its own storage, by name."""
        tensors = {}
        for field in fields(self):
            value = getattr(self, field.name)
            value = value.states if isinstance(value, Randomness) else value
            tensors[field.name] = torch.as_tensor(value).detach().clone()
        return tensors

    @classmethod
    def from_tensors(cls, tensors: dict[str, Tensor]) -> "State":
        """The state that `to_tensors` was given."""
        rest = dict(tensors)
        randomness = Randomness(rest.pop("randomness"))
        steps, gradients = int(rest.pop("steps")), int(rest.pop("gradients"))
        return cls(**rest, randomness=randomness, steps=steps, gradients=gradients)

    def only(self, chains: slice) -> "State":
        """Some of the chains; what they draw is what they draw among the others."""
        tensors = self.to_tensors()
        return State.from_tensors(tensors | {name: tensors[name][chains].clone() for name in PER_CHAIN})

    @classmethod
    def together(cls, states: Sequence["State"]) -> "State":
        """Chains that were parted and have gone equally far."""
        tensors = [state.to_tensors() for state in states]
        return cls.from_tensors(
            tensors[0] | {name: torch.cat([one[name] for one in tensors]) for name in PER_CHAIN}
        )


@dataclass(frozen=True, eq=False)
class Info:
    """What a transition was like, per chain.

    `virial` is −(w − centre)·∇ log π / dimension, whose expectation is 1; `acceptance` a probability (1 where
    nothing is rejected); `diverged` says that the chain was put back and its step halved.
    """

    log_density: PerChain
    virial: PerChain
    acceptance: PerChain
    diverged: Bool[Tensor, " chains"]


@runtime_checkable
class Transition(Protocol):
    """What a sampler offers."""

    def init(self, position: Positions, target: Target, preconditioner: Preconditioner, seed: int) -> State:
        """Chains at these positions."""

    def step(self, state: State, target: Target, preconditioner: Preconditioner) -> tuple[State, Info]:
        """One transition of every chain."""


def begin(
    position: Positions, target: Target, preconditioner: Preconditioner, seed: int, step_size: float
) -> State:
    """Chains at these positions with velocities from N(0, P)."""
    chains = position.shape[0]
    randomness = Randomness.seeded(seed, chains, position.device)
    noise, randomness = randomness.normals(preconditioner.noises, position)
    evaluation = target.evaluate(position)
    broken = ~(torch.isfinite(evaluation.log_density) & torch.isfinite(evaluation.gradient).all(dim=1))
    if bool(broken.any()):
        raise InputError(
            f"{int(broken.sum())} of {chains} chains start where the log-density or its gradient is not "
            "finite; start them nearer to an optimum."
        )
    return State(
        position=position,
        velocity=preconditioner.sqrt(noise),
        pull=preconditioner.apply(evaluation.gradient),
        centre=torch.zeros_like(position[0]),
        log_density=evaluation.log_density,
        lowest=-evaluation.log_density,
        virial=-dots(position, evaluation.gradient) / position.shape[1],
        step_size=torch.full((chains,), step_size, dtype=torch.float64, device=position.device),
        divergences=torch.zeros(chains, dtype=torch.int64, device=position.device),
        randomness=randomness,
        steps=0,
        gradients=1,
    )


def refreshed(state: State, target: Target, preconditioner: Preconditioner) -> State:
    """The same chains on another target or with another preconditioner, at the cost of one gradient."""
    evaluation = target.evaluate(state.position)
    return replace(
        state,
        pull=preconditioner.apply(evaluation.gradient),
        log_density=evaluation.log_density,
        lowest=-evaluation.log_density,
        virial=virial_of(state, state.position, evaluation),
        gradients=state.gradients + 1,
    )


def arrive(
    state: State, position: Positions, target: Target, preconditioner: Preconditioner
) -> tuple[State, Info]:
    """The chains at new positions, evaluated there; a chain that has run away stays where it was, at rest.

    The velocity is not touched otherwise. A chain put back halves its step, and needs no random number: its
    velocity is rebuilt by the noise of the steps that follow, so other chains' streams are not disturbed.
    """
    evaluation = target.evaluate(position)
    virial = virial_of(state, position, evaluation)
    energy = -evaluation.log_density
    ceiling = state.lowest + ENERGY_PER_COORDINATE * position.shape[1] + ENERGY_ROOM
    good = torch.isfinite(virial) & (energy <= ceiling)
    after = replace(
        state,
        position=keep(good, position, state.position),
        velocity=keep(good, state.velocity, torch.zeros_like(state.velocity)),
        pull=keep(good, preconditioner.apply(evaluation.gradient), state.pull),
        log_density=torch.where(good, evaluation.log_density, state.log_density),
        lowest=torch.where(good, torch.minimum(state.lowest, energy), state.lowest),
        virial=torch.where(good, virial, state.virial),
        step_size=torch.where(good, state.step_size, state.step_size / 2),
        divergences=state.divergences + (~good).to(torch.int64),
        steps=state.steps + 1,
        gradients=state.gradients + 1,
    )
    return after, Info(after.log_density, after.virial, good.to(torch.float64), ~good)


def virial_of(state: State, position: Positions, evaluation: Evaluation) -> Float[Tensor, " chains"]:
    """−(w − centre)·∇ log π / dimension: 1 in the mean, not finite where the gradient is not."""
    return -dots(position - state.centre, evaluation.gradient) / position.shape[1]


def keep(good: Bool[Tensor, " chains"], value: Positions, otherwise: Positions) -> Positions:
    """The first for the chains that are good, the second for the others."""
    if bool(good.all()):
        return value
    return torch.where(good[:, None], value, otherwise)
