"""Variational inference with the target's own structure: a full precision, by natural gradient."""

from dataclasses import dataclass
from typing import Annotated, Literal

import torch
from annotated_types import Ge, Gt, Le

from credwarp.samplers.approximation import Fitted, Reason
from credwarp.samplers.precondition import LOOSEST_TOLERANCE, GaussNewton
from credwarp.samplers.randomness import Randomness
from credwarp.samplers.target import Curved, Precision, adapted, dots
from credwarp.shapes import Positions, Vector


@dataclass(frozen=True, eq=False)
class StructuredNormal:
    """N(μ, (Q + H)⁻¹): a draw is one solve."""

    mean: Vector
    preconditioner: GaussNewton

    def draw(self, randomness: Randomness) -> tuple[Positions, Randomness]:
        """A draw for each stream."""
        noise, randomness = randomness.normals(self.preconditioner.noises, self.mean)
        return self.mean + self.preconditioner.sqrt(noise), randomness


@dataclass(frozen=True)
class Structured:
    """q = N(μ, (Q + H)⁻¹): μ ← μ + ρ (Q + H)⁻¹ E_q ∇ log π, H ← (1 − ρ) H + ρ E_q[Gauss–Newton].

    The natural gradient (Khan and Nielsen 2018), expectations over antithetic `pairs`, ρ = `rate`. The trace
    is the length of the full step in q's standard deviations per coordinate; below `tolerance` it has
    converged. Where a sample gives no number, the rate is halved and the iteration is drawn anew.
    """

    kind: Literal["structured"] = "structured"
    iterations: Annotated[int, Ge(1)] = 20
    pairs: Annotated[int, Ge(1)] = 1
    rate: Annotated[float, Gt(0), Le(1)] = 0.5
    tolerance: Annotated[float, Gt(0)] = 1e-3
    solving: Annotated[float, Gt(0), Le(LOOSEST_TOLERANCE)] = LOOSEST_TOLERANCE

    def fit(self, target: Curved, mean: Vector, seed: int) -> Fitted:
        """The law nearest to the target, starting at `mean`, best an optimum."""
        curvature = target.curvature(mean[None])
        randomness = Randomness.seeded(seed, self.pairs, mean.device)
        trace: list[float] = []
        rate, gradients = self.rate, 0
        while gradients < self.iterations * 2 * self.pairs and not self._has_settled(trace):
            metric = self._metric(target, curvature)
            noise, randomness = randomness.normals(metric.noises, mean)
            away = metric.sqrt(noise)
            position = torch.cat([mean + away, mean - away])
            slope = target.evaluate(position).gradient.mean(dim=0, keepdim=True)
            gradients += 2 * self.pairs
            if not bool(torch.isfinite(slope).all()):
                rate = rate / 2
                continue
            move = metric.apply(slope)
            trace.append(float(dots(slope, move).clamp(min=0).sqrt()) / len(mean) ** 0.5)
            mean = mean + rate * move[0]
            curvature = curvature.blended(target.curvature(position), rate)
            target = adapted(target, position, len(trace))
        reason: Reason = "converged" if self._has_settled(trace) else "capped" if trace else "diverged"
        law = StructuredNormal(mean, self._metric(target, curvature))
        return Fitted(law, tuple(trace), reason, gradients, target)

    def _metric(self, target: Curved, curvature: Precision) -> GaussNewton:
        return GaussNewton(target.prior, curvature, target.rough(curvature), self.solving)

    def _has_settled(self, trace: list[float]) -> bool:
        return bool(trace) and trace[-1] < self.tolerance
