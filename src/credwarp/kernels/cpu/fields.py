"""Fields composed with fields: exponential, compose, square."""

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from credwarp.kernels.cpu.collecting import collect
from credwarp.kernels.cpu.memory import (
    Rows,
    Size,
    blank,
    empty,
    launch,
    padded,
    plain,
    readable,
    rows,
    voxels,
)
from credwarp.kernels.cpu.pulling import incline, pull
from credwarp.kernels.cpu.scattering import scatter
from credwarp.shapes import Fields

# Planes of the result that a task of `scatter` owns: each task looks through all rows.
SLAB = 16


def exponential(velocity: Fields, squarings: int) -> Fields:
    """As in the reference."""
    return _compute(_Flow, velocity, squarings, 0.5**squarings)


def square(field: Fields) -> Fields:
    """As in the reference."""
    return _compute(_Flow, field, 1, 1.0)


def compose(outer: Fields, inner: Fields) -> Fields:
    """As in the reference."""
    return _compute(_Composition, outer, inner)


def room(chains: int, size: Size) -> np.ndarray:
    """Where `pull` notes which voxels are not near."""
    return np.empty((chains, size[1], size[2], 3), np.int64)


def hand_back(displacement: Rows, gradient: Rows, out: Rows, size: Size, reach: np.ndarray) -> None:
    """Run `scatter`."""
    tasks = len(reach) * -(-size[1] // SLAB)
    launch(scatter, tasks, (displacement, gradient, out), size, SLAB, reach)


class _Flow(torch.autograd.Function):
    """scale · velocity, composed with itself."""

    @staticmethod
    def forward(ctx: Any, velocity: Tensor, squarings: int, scale: float) -> Tensor:
        if squarings == 0:
            ctx.levels, ctx.scale = [], scale
            return velocity * scale
        chains, size = velocity.shape[0], (3, *voxels(velocity))
        result = empty(velocity.shape)
        field, levels = padded(velocity, scale), []
        for level in range(squarings):
            last = level == squarings - 1
            out = rows(result) if last else blank(chains, 3, voxels(velocity))
            reach = room(chains, size)
            ats = (field, field, out)
            launch(pull, chains * size[1], ats, size, 1 if last else 2, reach)
            levels.append((field, reach))
            field = out
        ctx.levels, ctx.scale = levels if ctx.needs_input_grad[0] else None, scale
        return result

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, None, None]:
        if not ctx.levels:
            return gradient * ctx.scale, None, None
        chains, size = gradient.shape[0], (3, *voxels(gradient))
        arriving = readable(gradient)
        for field, reach in reversed(ctx.levels):
            out = blank(chains, 3, voxels(gradient))
            ats = (field, field, arriving, out)
            launch(collect, chains * size[1], ats, size, 1, reach)
            hand_back(field, arriving, out, size, reach)
            arriving = out
        return plain(arriving, gradient.shape, ctx.scale), None, None


class _Composition(torch.autograd.Function):
    """inner + outer ∘ (id + inner)."""

    @staticmethod
    def forward(ctx: Any, outer: Tensor, inner: Tensor) -> Tensor:
        chains, size = inner.shape[0], (3, *voxels(inner))
        result, reach = empty(inner.shape), room(chains, size)
        source, displacement = padded(outer), readable(inner)
        ats = (source, displacement, rows(result))
        launch(pull, chains * size[1], ats, size, 1, reach)
        ctx.save_for_backward(inner)
        ctx.source, ctx.displacement, ctx.reach = source, displacement, reach
        return result

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None]:
        (inner,) = ctx.saved_tensors
        chains, size = inner.shape[0], (3, *voxels(inner))
        arriving, displacement = readable(gradient), ctx.displacement
        of_outer = of_inner = None
        if ctx.needs_input_grad[0]:
            out = blank(chains, 3, voxels(inner))
            ats = (displacement, displacement, arriving, out)
            launch(collect, chains * size[1], ats, size, 0, ctx.reach)
            hand_back(displacement, arriving, out, size, ctx.reach)
            of_outer = plain(out, inner.shape)
        if ctx.needs_input_grad[1]:
            of_inner = empty(inner.shape)
            ats = (ctx.source, displacement, arriving, rows(of_inner))
            launch(incline, chains * size[1], ats, size, 1)
        return of_outer, of_inner


def _compute(function: Any, *arguments: Any) -> Tensor:
    result: Tensor = function.apply(*arguments)
    return result
