"""A convolutional network from two images to the mean and log-variance of a velocity."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Literal, TypeAlias

import torch
from annotated_types import Ge, Gt, Le, MinLen
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from credwarp import kernels
from credwarp.fields import one_sided

Weights: TypeAlias = Mapping[str, Tensor]
Pairs: TypeAlias = Float[Tensor, "pairs 2 x y z"]
Heads: TypeAlias = Float[Tensor, "pairs 3 i j k"]
SLOPE = 0.2
TAPS = 27
SMALL = 1e-3
BOUND = 5.0
RADIUS, FLOOR = 2, 0.02


@dataclass(frozen=True)
class Unet:
    """A U-Net (Ronneberger et al. 2015) whose finest level has the resolution of the velocity.

    Each level of `channels` is half as fine as the one before. With a velocity on every second voxel the
    eight voxels of a block enter side by side, so that nothing of the images is lost and no convolution runs
    at full resolution. Variances start at `initial_variance` (the paper's Σ₀) and stay within e⁵ of it.
    """

    kind: Literal["unet"] = "unet"
    channels: Annotated[tuple[Annotated[int, Ge(1), Le(512)], ...], MinLen(2)] = (16, 32, 48, 64)
    coarsening: Literal[1, 2] = 2
    initial_variance: Annotated[float, Gt(0)] = 0.01

    @property
    def multiple(self) -> int:
        """Sides of images have to be multiples of this."""
        return int(self.coarsening * 2 ** (len(self.channels) - 1))

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """What each tensor of the weights has to look like."""
        found: dict[str, tuple[int, ...]] = {}
        for name, before, after in self._layers():
            found[f"{name}.kernel"] = (after, before, 3, 3, 3)
            found[f"{name}.bias"] = (after,)
        return found

    def init(self, generator: torch.Generator) -> Weights:
        """Weights that predict next to no velocity, with about the initial variance everywhere."""
        weights = {}
        for name, shape in self.shapes().items():
            if name.endswith(".bias"):
                weights[name] = torch.zeros(shape)
                continue
            last = name.startswith(("mean", "log_variance"))
            sd = SMALL if last else math.sqrt(2 / (1 + SLOPE**2) / (TAPS * shape[1]))
            weights[name] = sd * torch.randn(shape, generator=generator)
        return weights

    def apply(self, weights: Weights, images: Pairs) -> tuple[Heads, Heads]:
        """The mean and the log-variance of the velocity, fixed images first in each pair.

        The mean is a sum over levels, so that what is smooth can be said where the network is coarse.
        """
        depth = len(self.channels)
        field = _act(_convolve(weights, "enter", _features(images, self.coarsening)))
        skipped = [field]
        for level in range(1, depth):
            field = _act(_convolve(weights, f"down{level}", field, stride=2))
            field = _act(_convolve(weights, f"stay{level}", field))
            skipped.append(field)
        mean = _convolve(weights, f"mean{depth - 1}", field)
        for level in range(depth - 2, -1, -1):
            finer = functional.interpolate(field, scale_factor=2.0, mode="nearest")
            field = _act(_convolve(weights, f"up{level}", torch.cat([finer, skipped[level]], dim=1)))
            mean = functional.interpolate(mean, scale_factor=2.0, mode="trilinear", align_corners=False)
            mean = mean + _convolve(weights, f"mean{level}", field)
        # Bounded: an exponential of what is free runs away in training.
        raw = _convolve(weights, "log_variance", field)
        return mean, math.log(self.initial_variance) + BOUND * torch.tanh(raw / BOUND)

    def _layers(self) -> Iterator[tuple[str, int, int]]:
        """Name, channels in, channels out."""
        width = self.channels
        yield "enter", 2 * self.coarsening**3 + 3, width[0]
        for level in range(1, len(width)):
            yield f"down{level}", width[level - 1], width[level]
            yield f"stay{level}", width[level], width[level]
        for level in range(len(width) - 2, -1, -1):
            yield f"up{level}", width[level + 1] + width[level], width[level]
        for level, channels in enumerate(width):
            yield f"mean{level}", channels, 3
        yield "log_variance", width[0], 3


def _convolve(weights: Weights, name: str, field: Tensor, stride: int = 1) -> Tensor:
    kernel, bias = weights[f"{name}.kernel"], weights[f"{name}.bias"]
    return functional.conv3d(field, kernel, bias, stride=stride, padding=1)


def _act(field: Tensor) -> Tensor:
    return functional.leaky_relu(field, SLOPE)


@torch.no_grad()
def _features(images: Tensor, factor: int) -> Tensor:
    """Both images, locally standardised, and the force that would draw one onto the other.

    (F − M) ∇I / (|∇I|² + 1), I their mean: what the squared difference says of a voxel (Thirion 1998).
    """
    standard = kernels.standardise(images, RADIUS, FLOOR)
    fixed, moving = standard[:, :1], standard[:, 1:]
    middle = (fixed + moving) / 2
    sides = [one_sided(middle, axis) for axis in (2, 3, 4)]
    gradient = torch.cat([(rise + fall) / 2 for rise, fall in sides], dim=1)
    force = (fixed - moving) * gradient / (gradient.square().sum(dim=1, keepdim=True) + 1)
    return torch.cat([_gathered(standard, factor), functional.avg_pool3d(force, factor)], dim=1)


def _gathered(images: Tensor, factor: int) -> Tensor:
    """The voxels of each block of `factor`³ as channels."""
    if factor == 1:
        return images
    pairs, channels, *sides = images.shape
    x, y, z = (n // factor for n in sides)
    blocks = images.reshape(pairs, channels, x, factor, y, factor, z, factor)
    return blocks.permute(0, 1, 3, 5, 7, 2, 4, 6).reshape(pairs, -1, x, y, z)
