"""Hamiltonian Monte Carlo with Metropolis' correction: exact at any step, so it certifies the others."""

import math
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import torch
from annotated_types import Ge, Gt, Lt

from credwarp.samplers.chain import Info, State, begin, keep, virial_of
from credwarp.samplers.target import Evaluation, Preconditioner, Target, column, dots
from credwarp.shapes import PerChain, Positions

# An error of the energy that no accurate trajectory makes.
DIVERGENCE = 1000.0
WANTED_ACCEPTANCE = 0.8


@dataclass(frozen=True)
class Hmc:
    """`leapfrogs` leapfrog steps from v ~ N(0, P), accepted with probability min(1, exp(−ΔH)).

    H = −log π(w) + vᵀP⁻¹v / 2, in float64. Each trajectory's step is `step_size` times 1 ± `jitter`, drawn
    uniformly, so that no mode comes back to where it began.
    """

    kind: Literal["hmc"] = "hmc"
    step_size: Annotated[float, Gt(0)] = 0.2
    leapfrogs: Annotated[int, Ge(1)] = 8
    jitter: Annotated[float, Ge(0), Lt(1)] = 0.2

    def init(self, position: Positions, target: Target, preconditioner: Preconditioner, seed: int) -> State:
        """Chains at these positions."""
        return begin(position, target, preconditioner, seed, self.step_size)

    def step(self, state: State, target: Target, preconditioner: Preconditioner) -> tuple[State, Info]:
        """One trajectory of every chain, for `leapfrogs` gradients."""
        noise, randomness = state.randomness.normals(preconditioner.noises, state.position)
        uniform, randomness = randomness.uniforms(2, state.log_density)
        velocity = preconditioner.sqrt(noise)
        start = _kinetic(velocity, preconditioner) - state.log_density
        step = state.step_size * (1 + self.jitter * (2 * uniform[:, 0] - 1))
        end = _leap(state.position, velocity, state.pull, step, target, preconditioner)
        for _ in range(self.leapfrogs - 1):
            end = _leap(end.position, end.velocity, end.pull, step, target, preconditioner)
        error = _kinetic(end.velocity, preconditioner) - end.evaluation.log_density - start
        state = replace(
            state,
            randomness=randomness,
            steps=state.steps + 1,
            gradients=state.gradients + self.leapfrogs,
        )
        return _decide(state, end, error, uniform[:, 1])


def tuned(
    sampler: Hmc, target: Target, preconditioner: Preconditioner, state: State, trajectories: int
) -> State:
    """Chains whose steps are accepted about four times in five, by Robbins–Monro on the steps' logarithm."""
    for turn in range(trajectories):
        state, info = sampler.step(state, target, preconditioner)
        factor = torch.exp((info.acceptance - WANTED_ACCEPTANCE) / math.sqrt(1 + turn))
        state = replace(state, step_size=torch.where(info.diverged, 1.0, factor) * state.step_size)
    return state


@dataclass(frozen=True, eq=False)
class _Phase:
    """Where a trajectory is."""

    position: Positions
    velocity: Positions
    pull: Positions
    evaluation: Evaluation


def _leap(
    position: Positions,
    velocity: Positions,
    pull: Positions,
    step: PerChain,
    target: Target,
    preconditioner: Preconditioner,
) -> _Phase:
    half = column(step / 2, position)
    velocity = velocity + half * pull
    position = position + column(step, position) * velocity
    evaluation = target.evaluate(position)
    pull = preconditioner.apply(evaluation.gradient)
    return _Phase(position, velocity + half * pull, pull, evaluation)


def _decide(state: State, end: _Phase, error: PerChain, uniform: PerChain) -> tuple[State, Info]:
    """The ends of the trajectories that are accepted, the beginnings of the others."""
    virial = virial_of(state, end.position, end.evaluation)
    diverged = ~(torch.isfinite(virial) & (error < DIVERGENCE))
    acceptance = torch.where(diverged, 0.0, torch.exp(-error.clamp(min=0.0)))
    accepted = uniform < acceptance
    log_density = torch.where(accepted, end.evaluation.log_density, state.log_density)
    after = replace(
        state,
        position=keep(accepted, end.position, state.position),
        velocity=keep(accepted, end.velocity, state.velocity),
        pull=keep(accepted, end.pull, state.pull),
        log_density=log_density,
        lowest=torch.minimum(state.lowest, -log_density),
        virial=torch.where(accepted, virial, state.virial),
        step_size=torch.where(diverged, state.step_size / 2, state.step_size),
        divergences=state.divergences + diverged.to(torch.int64),
    )
    return after, Info(log_density, after.virial, acceptance, diverged)


def _kinetic(velocity: Positions, preconditioner: Preconditioner) -> PerChain:
    return dots(velocity, preconditioner.inverse(velocity)) / 2
