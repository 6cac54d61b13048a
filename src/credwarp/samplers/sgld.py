"""Stochastic gradient Langevin dynamics: the paper's sampler, with its noise kept in the state."""

from dataclasses import dataclass, replace
from typing import Annotated, Literal

import torch
from annotated_types import Gt

from credwarp.samplers.chain import Info, State, arrive, begin
from credwarp.samplers.target import Preconditioner, Target, column
from credwarp.shapes import Positions


@dataclass(frozen=True)
class Sgld:
    """w ← w + τ A ∇ log π(w) + √(2τA) ξ (eq. update; Welling and Teh 2011), τ = `step_size`.

    Where log π has curvature C, the variances are those of (C − τ CAC/2)⁻¹: too large by 1/(1 − τμ/2) in a
    direction where AC has eigenvalue μ.
    """

    kind: Literal["sgld"] = "sgld"
    step_size: Annotated[float, Gt(0)] = 0.4

    def init(self, position: Positions, target: Target, preconditioner: Preconditioner, seed: int) -> State:
        """Chains at these positions."""
        return begin(position, target, preconditioner, seed, self.step_size)

    def step(self, state: State, target: Target, preconditioner: Preconditioner) -> tuple[State, Info]:
        """One transition of every chain, for one gradient."""
        noise, randomness = state.randomness.normals(preconditioner.noises, state.position)
        drift = column(state.step_size, state.position) * state.pull
        diffusion = column(torch.sqrt(2 * state.step_size), state.position) * preconditioner.sqrt(noise)
        state = replace(state, randomness=randomness)
        return arrive(state, state.position + drift + diffusion, target, preconditioner)
