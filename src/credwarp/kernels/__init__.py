"""What must be fast: the reference on any device, compiled code for float32 on the CPU.

Each function means what the one of its name in `reference` says. All are differentiable.
"""

import importlib
from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from credwarp.kernels import reference
from credwarp.shapes import Channels, Fields, Images, PerChain, PerComponent, Weight

__all__ = [
    "compose",
    "expand",
    "exponential",
    "helmholtz",
    "inner",
    "local_mean",
    "local_variance",
    "mixture_log_prob",
    "mixture_statistics",
    "slope",
    "smooth",
    "square",
    "standardise",
    "warp",
]


def compose(outer: Fields, inner: Fields) -> Fields:
    """The displacement of (id + outer) ∘ (id + inner)."""
    alike = outer.shape == inner.shape
    result: Tensor = _for(outer, inner, where=alike).compose(outer, inner)
    return result


def square(field: Fields) -> Fields:
    """compose(field, field)."""
    result: Tensor = _for(field).square(field)
    return result


def exponential(velocity: Fields, squarings: int) -> Fields:
    """The displacement of the flow of `velocity` at time 1, by scaling and squaring."""
    result: Tensor = _for(velocity).exponential(velocity, squarings)
    return result


def warp(image: Channels, displacement: Fields) -> Images:
    """image(x + displacement(x)), linear."""
    alike = image.shape[1:] == displacement.shape[2:]
    result: Tensor = _for(image, displacement, where=alike).warp(image, displacement)
    return result


def slope(image: Channels, displacement: Fields) -> Tensor:
    """The derivative of `warp` in the displacement."""
    alike = image.shape[1:] == displacement.shape[2:]
    result: Tensor = _for(image, displacement, where=alike).slope(image, displacement)
    return result


def local_mean(image: Tensor, radius: int) -> Tensor:
    """The mean over the window round each voxel."""
    result: Tensor = _for(image).local_mean(image, radius)
    return result


def local_variance(image: Tensor, radius: int) -> Tensor:
    """The variance over the window round each voxel."""
    result: Tensor = _for(image).local_variance(image, radius)
    return result


def standardise(image: Tensor, radius: int, floor: float) -> Tensor:
    """(I − mean) / √(variance + floor²) in the window round each voxel."""
    result: Tensor = _for(image).standardise(image, radius, floor)
    return result


def smooth(field: Tensor, taps: Sequence[float]) -> Tensor:
    """Convolution along all three axes with a symmetric kernel, mirrored at the border."""
    result: Tensor = _for(field).smooth(field, taps)
    return result


def helmholtz(field: Fields, kappa: float, spacing: Sequence[float]) -> Fields:
    """(κ² − Δ) field with reflecting borders."""
    result: Tensor = _for(field).helmholtz(field, kappa, spacing)
    return result


def inner(left: Fields, right: Fields) -> Float[Tensor, "chains channels"]:
    """Σ_voxels left · right in float64."""
    alike = left.shape == right.shape
    result: Tensor = _for(left, right, where=alike).inner(left, right)
    return result


def expand(field: Tensor, matrices: Sequence[Tensor]) -> Tensor:
    """A linear map along each of the last three axes; the matrices are constants."""
    result: Tensor = _for(field).expand(field, matrices)
    return result


def mixture_log_prob(
    residual: Images, weight: Weight, log_proportion: PerComponent, log_precision: PerComponent
) -> PerChain:
    """Σ weight · log of the mixture's density, in float64; the weight is a constant."""
    room = _for(residual, weight)
    result: Tensor = room.mixture_log_prob(residual, weight, log_proportion, log_precision)
    return result


def mixture_statistics(
    residual: Images, weight: Weight, log_proportion: PerComponent, log_precision: PerComponent
) -> tuple[PerComponent, PerComponent]:
    """Σ weight · γ_l and Σ weight · γ_l r², γ the responsibilities."""
    room = _for(residual, weight)
    counts, squares = room.mixture_statistics(residual, weight, log_proportion, log_precision)
    return counts, squares


def _for(*tensors: Tensor, where: bool = True) -> Any:
    """The room whose functions suit these tensors. The compiled one is imported when it is first needed."""
    suits = where and all(
        type(tensor) in (Tensor, torch.nn.Parameter)
        and tensor.dtype == torch.float32
        and tensor.device.type == "cpu"
        and tensor.numel() > 0
        for tensor in tensors
    )
    return importlib.import_module("credwarp.kernels.cpu") if suits else reference
