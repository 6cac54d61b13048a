"""Variations of a pair of images that a network must not care about: pose, shape, contrast, bias, noise."""

from dataclasses import dataclass
from typing import Annotated, TypeAlias

import torch
from annotated_types import Ge, Le
from torch import Tensor

from credwarp import kernels
from credwarp.shapes import Channels, Field, Image
from credwarp.space import Grid
from credwarp.spectral import idct, laplacian_eigenvalues
from credwarp.transforms import Svf

SMOOTHNESS = 4
LEAST_LENGTH, MOST_LENGTH = 8.0, 16.0
BIAS_MODES = 3
TISSUE = 0.02
Two: TypeAlias = tuple[Image, Image]


@dataclass(frozen=True)
class Augmentation:
    """How far variations go; 0 is none of them.

    `pose` is the sd of a turn (rad), of a relative stretch and, times 100, of a shift (mm), the same for both
    images; `motion` the most that a random flow moves the moving image on average (mm); the others are sds
    of the exponent of a contrast curve, of a bias field and, at most, of noise in tones.
    """

    pose: Annotated[float, Ge(0), Le(1)] = 0.05
    motion: Annotated[float, Ge(0)] = 4.0
    contrast: Annotated[float, Ge(0)] = 0.2
    bias: Annotated[float, Ge(0)] = 0.08
    noise: Annotated[float, Ge(0)] = 0.03

    def vary(self, pair: Two, transform: Svf, fixed_moves: bool, generator: torch.Generator) -> Channels:
        """Fixed and moving image on the transform's grid, varied; an atlas that is fixed stays as it is."""
        grid = transform.grid
        pose = self._pose(grid, generator) if fixed_moves else torch.zeros((3, *grid.shape))
        flow = self._flow(transform, generator)
        fixed = kernels.warp(pair[0][None], pose[None])[0, 0] if fixed_moves else pair[0]
        moving = kernels.warp(pair[1][None], kernels.compose(pose[None], flow[None]))[0, 0]
        first, second = (self._tone(grid, generator) for _ in range(2))
        seen = self._seen(fixed, first, generator) if fixed_moves else fixed
        return torch.stack([seen, self._seen(moving, second, generator)])

    def _seen(self, image: Image, tone: tuple[float, Tensor], generator: torch.Generator) -> Image:
        """Through another scanner. Noise stays where there is tissue, as where skulls are stripped."""
        exponent, bias = tone
        curved = image.clamp(min=0) ** exponent * bias
        sd = self.noise * float(torch.rand((), generator=generator))
        noise = sd * torch.randn(image.shape, generator=generator)
        return torch.where(image > TISSUE, curved + noise, curved)

    def _pose(self, grid: Grid, generator: torch.Generator) -> Field:
        """A near-identity affine map round the grid's middle, as a displacement in voxels."""
        lengths = torch.tensor(grid.spacing, dtype=torch.float32)
        deviation = self.pose * torch.randn((3, 3), generator=generator)
        turn = torch.linalg.matrix_exp((deviation - deviation.T) / 2**0.5)
        stretch = torch.diag(torch.exp(self.pose * torch.randn(3, generator=generator)))
        shift = 100 * self.pose * torch.randn(3, generator=generator)
        axes = [(torch.arange(n, dtype=torch.float32) - (n - 1) / 2) for n in grid.shape]
        places = torch.stack(torch.meshgrid(*axes, indexing="ij")) * lengths.view(3, 1, 1, 1)
        moved = torch.einsum("ab,bxyz->axyz", turn @ stretch, places) + shift.view(3, 1, 1, 1)
        return (moved - places) / lengths.view(3, 1, 1, 1)

    def _flow(self, transform: Svf, generator: torch.Generator) -> Field:
        """The flow of a random velocity, about as smooth as one structure of a brain or as several."""
        grid = transform.parameters
        length = LEAST_LENGTH + (MOST_LENGTH - LEAST_LENGTH) * float(torch.rand((), generator=generator))
        mean = self.motion * float(torch.rand((), generator=generator))
        precision = (length**-2 + laplacian_eigenvalues(grid.shape, grid.spacing)) ** SMOOTHNESS
        white = torch.randn((3, *grid.shape), generator=generator)
        velocity = idct(white * precision.rsqrt().to(white.dtype))
        size = torch.linalg.vector_norm(velocity, dim=0).mean().clamp(min=1e-12)
        lengths = torch.tensor(transform.grid.spacing).view(3, 1, 1, 1)
        return transform.displacement((velocity * (mean / size) / lengths)[None])[0]

    def _tone(self, grid: Grid, generator: torch.Generator) -> tuple[float, Tensor]:
        """The exponent of a contrast curve, and a smooth factor round 1."""
        exponent = float(torch.exp(self.contrast * torch.randn((), generator=generator)))
        modes = torch.zeros(grid.shape)
        modes[:BIAS_MODES, :BIAS_MODES, :BIAS_MODES] = torch.randn((BIAS_MODES,) * 3, generator=generator)
        modes[0, 0, 0] = 0.0
        field = idct(modes)
        return exponent, torch.exp(self.bias * field / field.std().clamp(min=1e-12))


def toned(image: Image) -> Image:
    """From 0 at the first percentile of tones to 1 at the 99th, at most half beyond."""
    ordered = image.flatten().sort().values
    low, high = (ordered[round(share * (len(ordered) - 1))] for share in (0.01, 0.99))
    return ((image - low) / (high - low).clamp(min=1e-12)).clamp(-0.5, 1.5)
