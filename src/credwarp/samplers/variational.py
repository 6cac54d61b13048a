"""Variational inference with a diagonal plus low-rank covariance: the paper's."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

import torch
from annotated_types import Ge, Gt
from torch import Tensor

from credwarp.samplers.adam import Adam, Moments
from credwarp.samplers.approximation import Fitted, Reason
from credwarp.samplers.lowrank import LowRankNormal
from credwarp.samplers.randomness import Randomness
from credwarp.samplers.target import Target, adapted
from credwarp.shapes import Vector


@dataclass(frozen=True)
class DiagonalLowRank:
    """q = N(μ, diag σ² + U Uᵀ), maximising ELBO = E_q log π + H(q) by Adam on (μ, log σ², U).

    Expectations over w = μ ± (σ ε + U x), antithetic `pairs`; H(q) and its gradient are exact (appendix B).
    The law that is drawn from is the one whose entropy is counted: to smooth samples, fit a `Reparametrised`
    target instead. Stops when `patience` windows in a row have not raised the ELBO's mean over a `window` of
    iterations, and returns the mean parameters of the last one.
    """

    kind: Literal["diagonal_low_rank"] = "diagonal_low_rank"
    rank: Annotated[int, Ge(1)] = 1
    pairs: Annotated[int, Ge(1)] = 1
    iterations: Annotated[int, Ge(1)] = 4096
    window: Annotated[int, Ge(2)] = 128
    patience: Annotated[int, Ge(1)] = 2
    step_size: Annotated[float, Gt(0)] = 1e-2
    decay: Annotated[float, Ge(0)] = 1e-3
    initial_sd: Annotated[float, Gt(0)] = 0.5
    initial_factor: Annotated[float, Gt(0)] = 0.1

    def fit(self, target: Target, mean: Vector, seed: int) -> Fitted:
        """The law nearest to the target, its mean starting at `mean`."""
        trace: list[float] = []
        average = torch.zeros_like(self._start(mean))
        earlier = average
        reason: Reason = "capped"
        for parameters, elbo, after in self._ascent(target, mean, seed):
            trace.append(elbo)
            target = after
            average = average + parameters / self.window
            if len(trace) % self.window == 0:
                earlier, average = average, torch.zeros_like(average)
                if self._has_settled(trace):
                    reason = "converged"
                    break
        left = len(trace) % self.window
        shares = earlier if len(trace) >= self.window else average * (self.window / max(left, 1))
        return Fitted(self._law(shares, len(mean)), tuple(trace), reason, 2 * self.pairs * len(trace), target)

    def _ascent(self, target: Target, mean: Vector, seed: int) -> Iterator[tuple[Tensor, float, Target]]:
        """Parameters after each step, the ELBO estimated before it, and the target after it."""
        adam = Adam(self.step_size, self.decay)
        parameters = self._start(mean)
        moments = Moments.zeros(parameters)
        randomness = Randomness.seeded(seed, 1, mean.device)
        for step in range(self.iterations):
            law = self._law(parameters, len(mean))
            flat, randomness = randomness.normals(self.pairs * (len(mean) + self.rank), mean)
            white = flat.view(self.pairs, -1)
            away = law.deviation(white)
            position = torch.cat([law.mean + away, law.mean - away])
            evaluation = target.evaluate(position)
            slope = _gradient(law, white, evaluation.gradient)
            # A sample too far out for a number: leave it out, the next ones are drawn anew.
            slope = torch.nan_to_num(slope, nan=0.0, posinf=0.0, neginf=0.0)
            parameters, moments = adam.update(parameters, slope, moments)
            target = adapted(target, position, step)
            yield parameters, float(evaluation.log_density.mean()) + law.entropy, target

    def _start(self, mean: Vector) -> Tensor:
        log_variance = torch.full_like(mean, self.initial_sd).square().log()
        columns = [torch.full_like(mean, self.initial_factor)]
        # Ranks that begin alike would stay alike: each next one changes its sign more often.
        places = torch.arange(len(mean), device=mean.device)
        columns += [columns[0] * (1 - 2 * (places // 2**r % 2)).to(mean.dtype) for r in range(self.rank - 1)]
        return torch.cat([mean, log_variance, *columns])

    def _law(self, parameters: Tensor, dimension: int) -> LowRankNormal:
        rows = parameters.view(2 + self.rank, dimension)
        return LowRankNormal(rows[0], rows[1], rows[2:])

    def _has_settled(self, trace: list[float]) -> bool:
        sums = [sum(trace[i : i + self.window]) for i in range(0, len(trace), self.window)]
        return len(sums) > self.patience and not max(sums[-self.patience :]) > max(sums[: -self.patience])


def _gradient(law: LowRankNormal, white: Tensor, slope: Tensor) -> Tensor:
    """The ELBO's in (μ, log σ², U), the slopes being ∇ log π at μ + a and then at μ − a."""
    above, below = slope.chunk(2)
    odd = (above - below) / 2
    diagonal, shared = white.split([len(law.mean), len(law.factor)], dim=1)
    of_variance, of_factor = law.entropy_gradient()
    pairs = len(odd)
    in_mean = slope.mean(dim=0)
    in_variance = (odd * diagonal).mean(dim=0) * torch.exp(law.log_variance / 2) / 2 + of_variance
    in_factor = shared.T @ odd / pairs + of_factor
    return torch.cat([in_mean, in_variance, in_factor.flatten()])
