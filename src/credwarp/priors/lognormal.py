"""The paper's proposal: a log-normal prior on the energy itself, with hyperpriors on where and how wide."""

import math
from dataclasses import dataclass
from typing import Annotated, Literal

import torch
from annotated_types import Gt
from scipy.special import digamma

from credwarp.priors.energy import PAPER_VOXEL, Energy
from credwarp.shapes import Hyper, Parameters, PerChain
from credwarp.space import Grid

# χ² per parameter that counts as none, slopes of a thousandth: the paper's density is unbounded at χ² = 0.
NO_ENERGY = 1e-6


@dataclass(frozen=True)
class LogNormalEnergy:
    """χ² ~ Lognormal(μ, σ²), exp(μ) ~ Γ(ν/2, λ/2), σ² ~ Lognormal(η, ς²), λ = `strength` to begin with.

    E_reg(w) = ν/2 log χ² + log σ + (log χ² − μ)² / 2σ². Its gradient is that of a Gaussian of strength
    (ν + 2 (log χ² − μ)/σ²) / χ², so unless σ² is about 1/ν the prior is the scale-free χ^−ν. Below a
    millionth of ν, χ² counts as that much, so that chains can start at no deformation.
    """

    kind: Literal["lognormal"] = "lognormal"
    strength: Annotated[float, Gt(0)] = 1.2
    eta: float = 2.8
    varsigma: Annotated[float, Gt(0)] = 5.0
    unit: Annotated[float, Gt(0)] = PAPER_VOXEL

    def bind(self, parameters: Grid, data: Grid) -> "UnknownEnergy":
        """The prior on a grid of parameters that are in voxels of the data's."""
        energy = Energy.on(parameters, data, self.unit, order=1, kappa=0.0)
        return UnknownEnergy(energy, self.strength, self.eta, self.varsigma)


@dataclass(frozen=True)
class UnknownEnergy:
    """The velocity, the location μ of its log energy and the scale σ."""

    energy: Energy
    start: float
    eta: float
    varsigma: float

    def init(self, chains: int) -> Hyper:
        """`location` = E[μ] = ψ(ν/2) − log(λ/2); `log_scale` = log σ at the median of its prior."""
        location = float(digamma(self.energy.freedom / 2)) - math.log(self.start / 2)
        return {
            "location": torch.full((chains,), location, dtype=torch.float64),
            "log_scale": torch.full((chains,), self.eta / 2, dtype=torch.float64),
        }

    def log_prob(self, w: Parameters, hyper: Hyper) -> PerChain:
        """−E_reg(w)."""
        log_energy = self._log(self.energy(w))
        apart = (log_energy - hyper["location"]) * torch.exp(-hyper["log_scale"])
        return -0.5 * self.energy.freedom * log_energy - hyper["log_scale"] - 0.5 * apart**2

    def hyper_log_prob(self, hyper: Hyper) -> PerChain:
        """log p(μ) + log p(σ²), normalised, as densities of μ and of log σ²."""
        half = self.energy.freedom / 2
        location, log_variance = hyper["location"], 2 * hyper["log_scale"]
        of_location = half * (location + math.log(self.start / 2)) - math.lgamma(half)
        of_location = of_location - self.start / 2 * torch.exp(location)
        apart = (log_variance - self.eta) / self.varsigma
        return of_location - 0.5 * apart**2 - math.log(self.varsigma * math.sqrt(2 * math.pi))

    def fit(self, energy: PerChain, hyper: Hyper) -> Hyper:
        """The most probable μ and σ given χ²: coordinate-wise Newton steps, both concave."""
        log_energy = self._log(energy)
        location, log_scale = hyper["location"], hyper["log_scale"]
        for _ in range(50):
            location = self._fit_location(log_energy, location, log_scale)
            log_scale = self._fit_log_scale((log_energy - location) ** 2, log_scale)
        return {"location": location, "log_scale": log_scale}

    def expected_energy(self, hyper: Hyper) -> PerChain:
        """exp(μ)."""
        return torch.exp(hyper["location"])

    def strength(self, energy: PerChain, hyper: Hyper) -> PerChain:
        """λ in ∇ log p(w) = −λ ∇χ²/2, never below zero."""
        pull = 2 * (self._log(energy) - hyper["location"]) * torch.exp(-2 * hyper["log_scale"])
        return ((self.energy.freedom + pull) / energy).clamp(min=0)

    def _log(self, energy: PerChain) -> PerChain:
        return torch.log(energy.clamp(min=NO_ENERGY * self.energy.freedom))

    def _fit_location(self, log_energy: PerChain, location: PerChain, log_scale: PerChain) -> PerChain:
        half, sharpness = self.energy.freedom / 2, torch.exp(-2 * log_scale)
        for _ in range(20):
            mass = self.start / 2 * torch.exp(location)
            slope = half - mass + sharpness * (log_energy - location)
            location = location + (slope / (mass + sharpness)).clamp(-1, 1)
        return location

    def _fit_log_scale(self, square: PerChain, log_scale: PerChain) -> PerChain:
        for _ in range(20):
            share = square * torch.exp(-2 * log_scale)
            slope = share - 1 - 2 * (2 * log_scale - self.eta) / self.varsigma**2
            log_scale = log_scale + (slope / (2 * share + 4 / self.varsigma**2)).clamp(-1, 1)
        return log_scale
