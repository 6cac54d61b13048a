"""The mixture of Gaussians: log-density of residuals, and what EM needs of them."""

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from credwarp.kernels import reference
from credwarp.kernels.cpu import oracle
from credwarp.kernels.cpu.densities import mixture
from credwarp.kernels.cpu.memory import NOTHING, empty, launch, readable, rows, voxels
from credwarp.shapes import Images, PerChain, PerComponent, Weight


def mixture_log_prob(
    residual: Images, weight: Weight, log_proportion: PerComponent, log_precision: PerComponent
) -> PerChain:
    """As in the reference, except that `weight` is a constant."""
    result: Tensor = _LogProb.apply(residual, weight.detach(), log_proportion, log_precision)
    return result


def mixture_statistics(
    residual: Images, weight: Weight, log_proportion: PerComponent, log_precision: PerComponent
) -> tuple[PerComponent, PerComponent]:
    """As in the reference."""
    counts, squares = _Statistics.apply(residual, weight, log_proportion, log_precision)
    return counts, squares


class _LogProb(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, residual: Tensor, weight: Tensor, log_proportion: Tensor, log_precision: Tensor
    ) -> Tensor:
        slope = empty(residual.shape) if ctx.needs_input_grad[0] else None
        density, counts, squares = _sums(residual, weight, log_proportion, log_precision, slope)
        ctx.slope = slope
        ctx.of_proportion = counts
        ctx.of_precision = 0.5 * (counts - torch.exp(log_precision.double()) * squares)
        ctx.kinds = log_proportion.dtype, log_precision.dtype
        return density

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, None, Tensor, Tensor]:
        of_residual = None
        if ctx.slope is not None:
            of_residual = ctx.slope * gradient.to(ctx.slope).view(-1, 1, 1, 1, 1)
        of_proportion = (ctx.of_proportion * gradient[:, None]).to(ctx.kinds[0])
        of_precision = (ctx.of_precision * gradient[:, None]).to(ctx.kinds[1])
        return of_residual, None, of_proportion, of_precision


class _Statistics(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, residual: Tensor, weight: Tensor, log_proportion: Tensor, log_precision: Tensor
    ) -> tuple[Tensor, Tensor]:
        ctx.save_for_backward(residual, weight, log_proportion, log_precision)
        _, counts, squares = _sums(residual, weight, log_proportion, log_precision, None)
        return counts, squares

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, ...]:
        return oracle.gradients(reference.mixture_statistics, ctx.saved_tensors, gradients)


def _sums(
    residual: Tensor, weight: Tensor, log_proportion: Tensor, log_precision: Tensor, slope: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """Σ w log p per chain, Σ w γ and Σ w γ r² per chain and component."""
    (chains, components), (x, y, z) = log_proportion.shape, voxels(residual)
    weights = readable(weight[:, None])
    weights = weights if weight.shape[0] == chains else weights.shared()
    out = NOTHING if slope is None else rows(slope)
    log_beta = np.asarray(log_precision.detach(), np.float64)
    constant = np.asarray(log_proportion.detach(), np.float64) + 0.5 * (log_beta - math.log(2 * math.pi))
    sums = np.empty((chains, x, 1 + 2 * components))
    size = (residual.shape[1], x, y, z)
    ats = (readable(residual), weights, out)
    launch(mixture, chains * x, ats, size, (constant, np.exp(log_beta)), sums)
    found = torch.from_numpy(sums.sum(axis=1))
    return found[:, 0], found[:, 1 : 1 + components], found[:, 1 + components :]
