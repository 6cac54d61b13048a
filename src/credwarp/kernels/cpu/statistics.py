"""Local mean, variance and standardisation of images."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from credwarp.kernels import reference
from credwarp.kernels.cpu import oracle
from credwarp.kernels.cpu.memory import NOTHING, Rows, blank, empty, launch, readable, rows, voxels
from credwarp.kernels.cpu.windows import (
    ADJOINT,
    MEAN,
    SLAB,
    STANDARDISED,
    VARIANCE,
    Window,
    shares,
    windowed,
)


def local_mean(image: Tensor, radius: int) -> Tensor:
    """As in the reference."""
    return _compute(_Mean, image, radius)


def local_variance(image: Tensor, radius: int) -> Tensor:
    """As in the reference."""
    return _compute(_Variance, image, radius)


def standardise(image: Tensor, radius: int, floor: float) -> Tensor:
    """As in the reference."""
    return _compute(_Standardised, image, radius, floor)


class _Mean(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, image: Tensor, radius: int) -> Tensor:
        ctx.radius = radius
        return _statistic(image, radius, MEAN)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        x, y, z = (torch.from_numpy(shares(n, ctx.radius)[:n]).float() for n in voxels(gradient))
        part = x[:, None, None] * y[:, None] * z
        # The window is symmetric: what differs from the mean is who divides by how many there are.
        return _statistic(gradient * part, ctx.radius, MEAN) / part, None


class _Variance(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, image: Tensor, radius: int) -> Tensor:
        ctx.save_for_backward(image)
        ctx.radius = radius
        return _statistic(image, radius, VARIANCE)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, None]:
        def variance(image: Tensor) -> Tensor:
            return reference.local_variance(image, ctx.radius)

        (found,) = oracle.gradients(variance, ctx.saved_tensors, (gradient,))
        return found, None


class _Standardised(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, image: Tensor, radius: int, floor: float) -> Tensor:
        result = empty(image.shape)
        source = readable(_leads(image))
        inverse = blank(_leads(image).shape[0], 1, voxels(image))
        _launch(
            (source, rows(_leads(result)), inverse, NOTHING, NOTHING),
            result,
            (radius, STANDARDISED, floor**2),
        )
        ctx.save_for_backward(image, result)
        ctx.source, ctx.inverse, ctx.radius = source, inverse, radius
        return result

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        image, result = ctx.saved_tensors
        found = empty(image.shape)
        arriving, outcome = readable(_leads(gradient)), readable(_leads(result))
        ats = (ctx.source, rows(_leads(found)), ctx.inverse, outcome, arriving)
        _launch(ats, found, (ctx.radius, ADJOINT, 0.0))
        return found, None, None


def _statistic(image: Tensor, radius: int, kind: int) -> Tensor:
    result = empty(image.shape)
    ats = (readable(_leads(image)), rows(_leads(result)), NOTHING, NOTHING, NOTHING)
    _launch(ats, result, (radius, kind, 0.0))
    return result


def _launch(ats: tuple[Rows, ...], like: Tensor, window: Window) -> None:
    x, y, z = voxels(like)
    parts = (shares(x, window[0]), shares(y, window[0]), shares(z, window[0]))
    tasks = _leads(like).shape[0] * -(-x // SLAB)
    launch(windowed, tasks, ats, (x, y, z), window, parts)


def _leads(image: Tensor) -> Tensor:
    """All leading axes as one of chains, and one channel."""
    return image.reshape(-1, 1, *voxels(image))


def _compute(function: Any, *arguments: Any) -> Tensor:
    result: Tensor = function.apply(*arguments)
    return result
