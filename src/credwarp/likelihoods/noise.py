"""The law of the residuals: a zero-mean Gaussian mixture with hyperpriors, a weight, and their fit."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from credwarp import kernels
from credwarp.likelihoods.decimation import decimation
from credwarp.shapes import Hyper, Images, PerChain, PerComponent, Weight

NEWTON_STEPS = 30
SMALLEST_SHARE = 1e-6


@dataclass(frozen=True)
class Noise:
    """r ~ Σ_l ϱ_l N(0, 1/β_l), β_l ~ Lognormal(μ_β, σ_β²), ϱ ~ Dir(κ); its log-density counts α times.

    Hyperparameters, per chain: `log_proportion`, `log_precision` (components) and `alpha`. Precisions stay
    below `bound`: flat regions would otherwise claim a spike of infinite precision.
    """

    components: int
    location: float
    scale: float
    concentration: float
    bound: float
    alpha: float | None
    alpha_bound: float = 1.0

    def init(self, residual: Images, weight: Weight) -> Hyper:
        """Equal shares, standard deviations from a fifth to twice the residual's; α measured unless given."""
        chains = residual.shape[0]
        total = weight.sum(dtype=torch.float64) * residual.shape[1] * chains / weight.shape[0]
        mean_square = (weight[:, None] * residual**2).sum(dtype=torch.float64) / total.clamp(min=1)
        spread = torch.logspace(-0.7, 0.3, self.components, dtype=torch.float64, device=residual.device)
        if self.components == 1:
            spread = torch.ones_like(spread)
        precision = 1 / (mean_square.clamp(min=1e-12) * spread**2)
        start = {
            "log_proportion": torch.full((chains, self.components), -math.log(self.components)),
            "log_precision": torch.log(precision.clamp(max=self.bound)).expand(chains, -1).clone(),
        }
        hyper = {name: value.to(residual.device, torch.float64) for name, value in start.items()}
        return {**hyper, "alpha": self.decimate(residual, weight)}

    def decimate(self, residual: Images, weight: Weight) -> PerChain:
        """α as given, or by virtual decimation of these residuals, at most `alpha_bound`."""
        if self.alpha is None:
            return decimation(residual, weight).clamp(max=self.alpha_bound)
        return torch.full((residual.shape[0],), self.alpha, dtype=torch.float64, device=residual.device)

    def log_prob(self, residual: Images, weight: Weight, hyper: Hyper) -> PerChain:
        """α Σ log p(r), the paper's −E_data."""
        like = residual.dtype
        density = kernels.mixture_log_prob(
            residual, weight, hyper["log_proportion"].to(like), hyper["log_precision"].to(like)
        )
        return hyper["alpha"] * density

    def hyper_log_prob(self, hyper: Hyper) -> PerChain:
        """log p(β) + log p(ϱ), normalised; nothing where there is nothing to choose."""
        log_beta, log_share = hyper["log_precision"], hyper["log_proportion"]
        normal = math.log(self.scale * math.sqrt(2 * math.pi))
        of_beta = -log_beta - 0.5 * ((log_beta - self.location) / self.scale) ** 2 - normal
        total = self.components * self.concentration
        constant = math.lgamma(total) - self.components * math.lgamma(self.concentration)
        return of_beta.sum(1) + constant + (self.concentration - 1) * log_share.sum(1)

    def precision(self, residual: Images, hyper: Hyper) -> Images:
        """α E[β | r] of each residual: how sharply it is pulled to zero."""
        shape = (*hyper["log_precision"].shape, 1, 1, 1, 1)
        log_beta = hyper["log_precision"].to(residual.dtype).view(shape)
        logits = hyper["log_proportion"].to(residual.dtype).view(shape) + 0.5 * log_beta
        share = torch.softmax(logits - 0.5 * torch.exp(log_beta) * residual[:, None] ** 2, dim=1)
        alpha = hyper["alpha"].to(residual.dtype).view(-1, 1, 1, 1, 1)
        return alpha * (share * torch.exp(log_beta)).sum(dim=1)

    def statistics(self, residual: Images, weight: Weight, hyper: Hyper) -> tuple[PerComponent, PerComponent]:
        """What a fit needs of the residuals: per component how many there are, and their sum of squares."""
        like = residual.dtype
        return kernels.mixture_statistics(
            residual, weight, hyper["log_proportion"].to(like), hyper["log_precision"].to(like)
        )

    def maximise(self, counts: PerComponent, squares: PerComponent, hyper: Hyper) -> Hyper:
        """The M step: ϱ and β most probable given the statistics, each counted α times."""
        alpha = hyper["alpha"][:, None]
        least = SMALLEST_SHARE * alpha * counts.sum(1, True)
        share = torch.maximum(alpha * counts + self.concentration - 1, least)
        log_beta = self._precision(alpha * counts, alpha * squares, hyper["log_precision"])
        order = torch.argsort(log_beta, dim=1)
        return {
            "log_proportion": torch.log(share / share.sum(1, True)).gather(1, order),
            "log_precision": log_beta.gather(1, order),
            "alpha": hyper["alpha"],
        }

    def fit(self, residual: Images, weight: Weight, hyper: Hyper, iterations: int) -> Hyper:
        """Expectation–maximisation on these residuals."""
        for _ in range(iterations):
            hyper = self.maximise(*self.statistics(residual, weight, hyper), hyper)
        return hyper

    def _precision(self, counts: Tensor, squares: Tensor, log_beta: Tensor) -> Tensor:
        """The root of n/2 − 1 − βs/2 − (log β − μ)/σ² in log β, a decreasing function: Newton, steps ≤ 2."""
        for _ in range(NEWTON_STEPS):
            data = 0.5 * torch.exp(log_beta) * squares
            slope = 0.5 * counts - 1 - data - (log_beta - self.location) / self.scale**2
            log_beta = log_beta + (slope / (data + 1 / self.scale**2)).clamp(-2, 2)
        return log_beta.clamp(max=math.log(self.bound))
