"""A fixed and a moving image to be compared: features of both, where they count, and the residuals' law."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from credwarp import kernels
from credwarp.errors import InputError
from credwarp.fields import one_sided
from credwarp.likelihoods.noise import Noise
from credwarp.shapes import (
    Channels,
    Features,
    Fields,
    Hyper,
    Image,
    Images,
    Mask,
    PerChain,
    PerComponent,
    Weight,
)
from credwarp.space import Pair

log = logging.getLogger("credwarp")
STRUCTURE_RADIUS = 2
FLAT = 0.1


@dataclass(frozen=True, eq=False)
class Comparison:
    """log p(fixed | moving ∘ φ): features of the warped image minus those of the fixed one, under `noise`."""

    fixed: Channels
    moving: Image
    weight: Weight
    features: Callable[[Images], Features]
    noise: Noise

    def residual(self, displacement: Fields) -> Features:
        """What the warp leaves unexplained, per chain, channel and voxel."""
        return self.fixed - self.features(kernels.warp(self.moving[None], displacement))

    def init(self, residual: Features) -> Hyper:
        """Hyperparameters to start from."""
        return self.noise.init(residual, self.weight)

    def log_prob(self, residual: Features, hyper: Hyper) -> PerChain:
        """The paper's −E_data."""
        return self.noise.log_prob(residual, self.weight, hyper)

    def hyper_log_prob(self, hyper: Hyper) -> PerChain:
        """The density of the noise's own parameters."""
        return self.noise.hyper_log_prob(hyper)

    def fit(self, residual: Features, hyper: Hyper, iterations: int) -> Hyper:
        """The mixture by expectation–maximisation, α measured anew first."""
        return self.noise.fit(residual, self.weight, {**hyper, "alpha": self._alpha(residual)}, iterations)

    def statistics(self, residual: Features, hyper: Hyper) -> tuple[PerComponent, PerComponent]:
        """What a fit over several draws averages."""
        return self.noise.statistics(residual, self.weight, hyper)

    def maximise(self, counts: PerComponent, squares: PerComponent, hyper: Hyper) -> Hyper:
        """The mixture most probable given such averages."""
        return self.noise.maximise(counts, squares, hyper)

    def information(self, displacement: Fields, hyper: Hyper) -> Float[Tensor, "chains 6 x y z"]:
        """The Gauss–Newton curvature of −log p in the displacement of each voxel: xx, yy, zz, xy, xz, yz.

        α E[β | r] Σ g gᵀ over channels, g the gradient of the warped image's features: where a voxel moves a
        little, its features become its neighbour's. Linear interpolation has a slope on either side; squares
        are averaged over the two, or texture as fine as a voxel would seem flat.
        """
        features = self.features(kernels.warp(self.moving[None], displacement))
        precision = self.noise.precision(self.fixed - features, hyper) * self.weight[:, None]
        sides = [one_sided(features, axis) for axis in (2, 3, 4)]
        squares = [(rise.square() + fall.square()) / 2 for rise, fall in sides]
        x, y, z = ((rise + fall) / 2 for rise, fall in sides)
        products = (*squares, x * y, x * z, y * z)
        return torch.stack([(precision * p).sum(dim=1) for p in products], dim=1)

    def to(self, device: str | torch.device) -> "Comparison":
        """The same on another device."""
        fixed, moving, weight = (part.to(device) for part in (self.fixed, self.moving, self.weight))
        return replace(self, fixed=fixed, moving=moving, weight=weight)

    def _alpha(self, residual: Features) -> PerChain:
        return self.noise.decimate(residual, self.weight)


def compare(pair: Pair, features: Callable[[Images], Features], noise: Noise) -> Comparison:
    """The comparison of a pair; what does not depend on the warp is computed here, once."""
    return Comparison(features(pair.fixed[None, None])[0], pair.moving, voxel_weight(pair), features, noise)


def voxel_weight(pair: Pair) -> Weight:
    """1 where a voxel counts: inside both masks, and somewhere near it one of the images has structure."""
    masked = pair.fixed_mask & pair.moving_mask
    structured = _structured(pair.fixed, pair.fixed_mask) | _structured(pair.moving, pair.moving_mask)
    weight = masked & structured
    voxels = pair.grid.voxels
    log.info(
        "%d of %d voxels count: the fixed mask leaves out %d, the moving mask %d more, flat regions %d more",
        int(weight.sum()), voxels, voxels - int(pair.fixed_mask.sum()),
        int((pair.fixed_mask & ~pair.moving_mask).sum()), int((masked & ~structured).sum()),
    )  # fmt: skip
    if not bool(weight.any()):
        raise InputError("no voxel counts: the images are flat wherever both masks look; widen the masks.")
    return weight.to(pair.fixed.dtype)[None]


def typical_sd(image: Tensor, mask: Mask, radius: int) -> float:
    """The median local standard deviation where there is any."""
    sd = torch.sqrt(kernels.local_variance(image[None, None], radius)[0, 0])
    inside = sd[mask & (sd > 1e-4 * float(sd.max()))]
    return float(inside.median()) if inside.numel() else 1.0


def _structured(image: Tensor, mask: Mask) -> Mask:
    sd = torch.sqrt(kernels.local_variance(image[None, None], STRUCTURE_RADIUS)[0, 0])
    return sd > FLAT * typical_sd(image, mask, STRUCTURE_RADIUS)
