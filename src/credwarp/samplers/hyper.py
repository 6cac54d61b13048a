"""Hyperparameters without images: decaying averages, degrees of freedom, and the strength by evidence."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import torch
from annotated_types import Ge, Gt, Le
from torch import Tensor

from credwarp.samplers.randomness import Randomness
from credwarp.samplers.target import Precision, Preconditioner, dots
from credwarp.shapes import Vector


@dataclass(frozen=True)
class Decay:
    """SAEM's steps: 1 for the first `free`, then (k − free)^−`exponent` (Delyon et al. 1999)."""

    free: Annotated[int, Ge(0)] = 20
    exponent: Annotated[float, Gt(0.5), Le(1)] = 0.8

    def step(self, index: int) -> float:
        """The step numbered `index`, from 0."""
        return 1.0 if index < self.free else (index - self.free + 1) ** -self.exponent


@dataclass(frozen=True)
class Fixed:
    """The default: the mixture and α are fitted at an optimum, the strength is the prior's, then all stay."""

    kind: Literal["fixed"] = "fixed"


@dataclass(frozen=True)
class Saem:
    """The paper's: they follow a decaying average of statistics of the draws (eq. SAEM), then stay."""

    kind: Literal["saem"] = "saem"
    free: Annotated[int, Ge(0)] = 20
    exponent: Annotated[float, Gt(0.5), Le(1)] = 0.8

    @property
    def decay(self) -> Decay:
        """The steps of the average."""
        return Decay(self.free, self.exponent)


@dataclass(frozen=True, eq=False)
class StochasticAverage:
    """E[s(w)] of sufficient statistics along a chain: s̄ ← s̄ + γ_k (s(w_k) − s̄)."""

    value: Tensor
    decay: Decay
    seen: int = 0

    def updated(self, observation: Tensor) -> "StochasticAverage":
        """With one more observation."""
        value = torch.lerp(self.value, observation, self.decay.step(self.seen))
        return replace(self, value=value, seen=self.seen + 1)


def effective_dimension(
    preconditioner: Preconditioner, curvature: Precision, like: Vector, probes: int, seed: int
) -> float:
    """ν_eff = tr(M⁻¹H) by Hutchinson's estimator, P = M⁻¹: how many coordinates the data decide.

    On H, not as ν − tr(M⁻¹Q), whose noise is that of ν. The same seed gives the same probes, so that ν_eff is
    a smooth function of whatever M depends on.
    """
    uniform, _ = Randomness.seeded(seed, probes, like.device).uniforms(len(like), like)
    signs = torch.where(uniform < 0.5, -1.0, 1.0).to(like.dtype)
    return float(dots(signs, preconditioner.apply(curvature.product(signs))).mean())


@dataclass(frozen=True)
class Observed:
    """What the data say at one strength: ν_eff, and χ² of the optimum (λ χ² is the prior's energy, twice)."""

    effective: float
    energy: float


@dataclass(frozen=True)
class Strength:
    """The strength found, all that were tried with their ν_eff / χ², and whether the last two agree."""

    value: float
    trace: tuple[tuple[float, float], ...]
    converged: bool


@dataclass(frozen=True)
class Evidence:
    """The strength at which λ χ² = ν_eff, the optimum of the evidence for a Gaussian model (MacKay 1992).

    λ ← ν_eff / χ² crawls, so log λ takes secant steps towards the λ that the update leaves where it is, none
    longer than `longest`. Converged where the update changes log λ by less than `tolerance`. The mixture and
    α must stay as they are meanwhile: refitted along, they carry λ away.
    """

    kind: Literal["evidence"] = "evidence"
    iterations: Annotated[int, Ge(1)] = 8
    tolerance: Annotated[float, Gt(0)] = 0.02
    longest: Annotated[float, Gt(0)] = 1.5

    def find(self, observe: Callable[[float], Observed], start: float) -> Strength:
        """From a strength to begin with; `observe` finds the optimum at a strength."""
        here, trace = math.log(start), []
        before: tuple[float, float] | None = None
        for _ in range(self.iterations):
            seen = observe(math.exp(here))
            ahead = math.log(seen.effective / seen.energy)
            trace.append((math.exp(here), math.exp(ahead)))
            gap = ahead - here
            if abs(gap) < self.tolerance:
                return Strength(math.exp(here), tuple(trace), True)
            step = gap if before is None else _secant(here, gap, *before)
            before = here, gap
            here = here + min(self.longest, max(-self.longest, step))
        return Strength(math.exp(here), tuple(trace), False)

    def both_ends(self, observe: Callable[[float], Observed], start: float) -> tuple[Strength, Strength]:
        """From a quarter and from four times of `start`: where they differ, the data do not decide."""
        return self.find(observe, start / 4), self.find(observe, 4 * start)


def _secant(here: float, gap: float, there: float, other: float) -> float:
    """The step to where the line through two gaps is zero; the way the gap points where that leads away."""
    slope = (gap - other) / (here - there)
    return -gap / slope if slope < 0 else math.copysign(math.inf, gap)
