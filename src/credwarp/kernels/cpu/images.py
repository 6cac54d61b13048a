"""Images read where displaced voxels land."""

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from credwarp.kernels import reference
from credwarp.kernels.cpu import oracle
from credwarp.kernels.cpu.fields import hand_back, room
from credwarp.kernels.cpu.lanes import WIDTH
from credwarp.kernels.cpu.memory import (
    Rows,
    Size,
    blank,
    clear,
    empty,
    launch,
    padded,
    plain,
    readable,
    rows,
    voxels,
)
from credwarp.kernels.cpu.pulling import incline, pull
from credwarp.shapes import Channels, Fields, Images


def warp(image: Channels, displacement: Fields) -> Images:
    """As in the reference."""
    result: Tensor = _Warp.apply(image, displacement)
    return result


def slope(image: Channels, displacement: Fields) -> Tensor:
    """As in the reference."""
    result: Tensor = _Slope.apply(image, displacement)
    return result


class _Warp(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, image: Tensor, displacement: Tensor) -> Tensor:
        chains, size = displacement.shape[0], _size(image)
        result = empty((chains, *image.shape))
        source, shift = padded(image[None]).shared(), readable(displacement)
        ats = (source, shift, rows(result))
        launch(pull, chains * size[1], ats, size, 0, room(chains, size))
        ctx.save_for_backward(image, displacement)
        ctx.source, ctx.shift = source, shift
        return result

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None]:
        image, displacement = ctx.saved_tensors
        arriving, size = readable(gradient), _size(image)
        of_image = of_displacement = None
        if ctx.needs_input_grad[0]:
            of_image = _handed_back(ctx.shift, arriving, size, displacement.shape[0])
        if ctx.needs_input_grad[1]:
            of_displacement = empty(displacement.shape)
            ats = (ctx.source, ctx.shift, arriving, rows(of_displacement))
            launch(incline, displacement.shape[0] * size[1], ats, size, 0)
        return of_image, of_displacement


class _Slope(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, image: Tensor, displacement: Tensor) -> Tensor:
        chains, (channels, *shape) = displacement.shape[0], _size(image)
        result = empty((chains, channels, 3, *shape))
        ones = np.ones(shape[2] + WIDTH, np.float32)
        one = Rows((ones.ctypes.data, 0, 0, 0, 0), ones)
        shift = readable(displacement)
        for channel in range(channels):
            source = padded(image[None, channel : channel + 1]).shared()
            ats = (source, shift, one, rows(result[:, channel]))
            launch(incline, chains * shape[0], ats, (1, *shape), 0)
        ctx.save_for_backward(image, displacement)
        return result

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, ...]:
        return oracle.gradients(reference.slope, ctx.saved_tensors, (gradient,))


def _handed_back(shift: Rows, arriving: Rows, size: Size, chains: int) -> Tensor:
    """The sum over chains, one after the other: they share the image."""
    out = blank(1, size[0], size[1:])
    clear(out)
    reach = room(1, size)
    reach[...] = -1, 0, size[1] - 1
    for chain in range(chains):
        at, given = _of_chain(shift, chain), _of_chain(arriving, chain)
        hand_back(at, given, out, size, reach)
    return plain(out, (1, *size))[0]


def _of_chain(source: Rows, chain: int) -> Rows:
    return Rows((source.at[0] + chain * source.at[1], *source.at[1:]), source.memory)


def _size(image: Tensor) -> Size:
    return (image.shape[0], *voxels(image))
