"""Underdamped Langevin dynamics by the BAOAB splitting: the default sampler."""

from dataclasses import dataclass, replace
from typing import Annotated, Literal

import torch
from annotated_types import Gt

from credwarp.samplers.chain import Info, State, arrive, begin
from credwarp.samplers.target import Preconditioner, Target, column
from credwarp.shapes import Positions


@dataclass(frozen=True)
class Underdamped:
    """dw = v dt, dv = P ∇ log π dt − γ v dt + √(2γP) dξ; v ~ N(0, P) (Leimkuhler and Matthews 2013).

    Half a kick, half a drift, e v + √(1 − e²) S z with e = exp(−γh), half a drift, half a kick. The law of
    the positions is exact for every Gaussian at any step h < 2/√μ, μ the largest eigenvalue of P times
    curvature.
    """

    kind: Literal["underdamped"] = "underdamped"
    step_size: Annotated[float, Gt(0)] = 0.8
    friction: Annotated[float, Gt(0)] = 0.08

    def init(self, position: Positions, target: Target, preconditioner: Preconditioner, seed: int) -> State:
        """Chains at these positions, velocities from N(0, P)."""
        return begin(position, target, preconditioner, seed, self.step_size)

    def step(self, state: State, target: Target, preconditioner: Preconditioner) -> tuple[State, Info]:
        """One transition of every chain, for one gradient: the last kick's is the next one's first."""
        half = column(state.step_size / 2, state.position)
        decay = torch.exp(-self.friction * state.step_size)
        noise, randomness = state.randomness.normals(preconditioner.noises, state.position)
        velocity = state.velocity + half * state.pull
        position = state.position + half * velocity
        fresh = column(torch.sqrt(1 - decay**2), velocity) * preconditioner.sqrt(noise)
        velocity = column(decay, velocity) * velocity + fresh
        position = position + half * velocity
        state = replace(state, velocity=velocity, randomness=randomness)
        after, info = arrive(state, position, target, preconditioner)
        # A chain that was put back was at rest; it starts anew with this half kick.
        return replace(after, velocity=after.velocity + half * after.pull), info
