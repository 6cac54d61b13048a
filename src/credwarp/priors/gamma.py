"""The paper's baseline: a gamma prior on the regularisation strength (Simpson et al. 2012)."""

import math
from dataclasses import dataclass
from typing import Annotated, Literal

import torch
from annotated_types import Gt

from credwarp.priors.energy import PAPER_VOXEL, Energy
from credwarp.shapes import Hyper, Parameters, PerChain
from credwarp.space import Grid


@dataclass(frozen=True)
class GammaStrength:
    """log p(w | λ) = ν/2 log λ − λ/2 ‖∇w‖², λ ~ Γ(s, r).

    `half_freedom`, s = r = ν/2, is what the paper calls uninformative; it is worth ν observations of λ = 1.
    """

    kind: Literal["gamma"] = "gamma"
    strength: Annotated[float, Gt(0)] = 1.2
    shape: Literal["half_freedom"] | Annotated[float, Gt(0)] = "half_freedom"
    rate: Literal["half_freedom"] | Annotated[float, Gt(0)] = "half_freedom"
    unit: Annotated[float, Gt(0)] = PAPER_VOXEL

    def bind(self, parameters: Grid, data: Grid) -> "UnknownStrength":
        """The prior on a grid of parameters that are in voxels of the data's."""
        energy = Energy.on(parameters, data, self.unit, order=1, kappa=0.0)
        half = energy.freedom / 2
        shape = half if self.shape == "half_freedom" else self.shape
        rate = half if self.rate == "half_freedom" else self.rate
        return UnknownStrength(energy, self.strength, shape, rate)


@dataclass(frozen=True)
class UnknownStrength:
    """The velocity and its strength, the latter's conditional optimum in closed form."""

    energy: Energy
    start: float
    shape: float
    rate: float

    def init(self, chains: int) -> Hyper:
        """λ of each chain, as `log_strength`."""
        return {"log_strength": torch.full((chains,), math.log(self.start), dtype=torch.float64)}

    def log_prob(self, w: Parameters, hyper: Hyper) -> PerChain:
        """The density of the velocity given λ."""
        log_strength = hyper["log_strength"]
        return 0.5 * (self.energy.freedom * log_strength - torch.exp(log_strength) * self.energy(w))

    def hyper_log_prob(self, hyper: Hyper) -> PerChain:
        """log Γ(λ; s, r), normalised."""
        log_strength = hyper["log_strength"]
        constant = self.shape * math.log(self.rate) - math.lgamma(self.shape)
        return constant + (self.shape - 1) * log_strength - self.rate * torch.exp(log_strength)

    def fit(self, energy: PerChain, hyper: Hyper) -> Hyper:
        """The most probable λ given χ² (its expectation under q, for EM)."""
        top = max(self.energy.freedom / 2 + self.shape - 1, 1e-12)
        return {"log_strength": math.log(top) - torch.log(0.5 * energy + self.rate)}

    def expected_energy(self, hyper: Hyper) -> PerChain:
        """ν/λ."""
        return self.energy.freedom * torch.exp(-hyper["log_strength"])

    def strength(self, energy: PerChain, hyper: Hyper) -> PerChain:
        """λ in ∇ log p(w) = −λ ∇χ²/2."""
        return torch.exp(hyper["log_strength"])
