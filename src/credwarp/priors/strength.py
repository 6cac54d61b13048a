"""A Gaussian prior on a grid, its strength a given number."""

import math
from dataclasses import dataclass

import torch

from credwarp.priors.energy import Energy
from credwarp.shapes import Hyper, Parameters, PerChain


@dataclass(frozen=True)
class FixedStrength:
    """log p(w | λ) = ν/2 log λ − λ χ²(w) / 2, up to a constant; λ stays where it starts."""

    energy: Energy
    start: float

    def init(self, chains: int) -> Hyper:
        """λ of each chain, as `log_strength`."""
        return {"log_strength": torch.full((chains,), math.log(self.start), dtype=torch.float64)}

    def log_prob(self, w: Parameters, hyper: Hyper) -> PerChain:
        """The density of the velocity."""
        log_strength = hyper["log_strength"]
        return 0.5 * (self.energy.freedom * log_strength - torch.exp(log_strength) * self.energy(w))

    def hyper_log_prob(self, hyper: Hyper) -> PerChain:
        """Nothing is unknown."""
        return torch.zeros_like(hyper["log_strength"])

    def fit(self, energy: PerChain, hyper: Hyper) -> Hyper:
        """Nothing to fit."""
        return hyper

    def expected_energy(self, hyper: Hyper) -> PerChain:
        """ν/λ."""
        return self.energy.freedom * torch.exp(-hyper["log_strength"])

    def strength(self, energy: PerChain, hyper: Hyper) -> PerChain:
        """λ in ∇ log p(w) = −λ ∇χ²/2."""
        return torch.exp(hyper["log_strength"])
