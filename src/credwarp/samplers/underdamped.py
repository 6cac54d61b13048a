"""Underdamped Langevin dynamics by the BAOAB splitting: the default sampler."""

from dataclasses import dataclass, replace
from typing import Annotated, Literal

import torch
from annotated_types import Gt

from credwarp.samplers.chain import Info, State, arrive, begin
from credwarp.samplers.target import Preconditioner, Target, column
from credwarp.shapes import Positions

SHARPNESS = 8


@dataclass(frozen=True)
class Underdamped:
    """dw = v dt, dv = P ∇ log π dt − Γ v dt + √(2ΓP) dξ; v ~ N(0, P) (Leimkuhler and Matthews 2013).

    Half a kick, half a drift, e v + √(1 − e²) S z with e = exp(−Γh), half a drift, half a kick. The law of
    the positions is exact for every Gaussian at any step h < 2/√μ, μ the largest eigenvalue of P times
    curvature. Γ is diagonal: `friction` where modes may be slow, which little friction lets travel far,
    `damping` where the preconditioner is certain, so that energies forget as fast as anything.
    """

    kind: Literal["underdamped"] = "underdamped"
    step_size: Annotated[float, Gt(0)] = 0.8
    friction: Annotated[float, Gt(0)] = 0.08
    damping: Annotated[float, Gt(0)] = 1.0

    def init(self, position: Positions, target: Target, preconditioner: Preconditioner, seed: int) -> State:
        """Chains at these positions, velocities from N(0, P)."""
        return begin(position, target, preconditioner, seed, self.step_size)

    def step(self, state: State, target: Target, preconditioner: Preconditioner) -> tuple[State, Info]:
        """One transition of every chain, for one gradient: the last kick's is the next one's first."""
        half = column(state.step_size / 2, state.position)
        decay = self._decay(state, preconditioner)
        noise, randomness = state.randomness.normals(preconditioner.noises, state.position)
        velocity = state.velocity + half * state.pull
        position = state.position + half * velocity
        velocity = decay * velocity + torch.sqrt(1 - decay**2) * preconditioner.sqrt(noise)
        position = position + half * velocity
        state = replace(state, velocity=velocity, randomness=randomness)
        after, info = arrive(state, position, target, preconditioner)
        # A chain that was put back was at rest; it starts anew with this half kick.
        return replace(after, velocity=after.velocity + half * after.pull), info

    def _decay(self, state: State, preconditioner: Preconditioner) -> Positions:
        """exp(−Γh): between coordinates Γ goes with the `SHARPNESS`th power of the certainty."""
        share = torch.as_tensor(preconditioner.certainty, device=state.position.device) ** SHARPNESS
        friction = self.friction + (self.damping - self.friction) * share
        return torch.exp(-friction.to(state.position.dtype) * column(state.step_size, state.position))
