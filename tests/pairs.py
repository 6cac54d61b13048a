"""Small pairs of smooth random images, for laws that need no anatomy."""

import numpy as np
import torch
from scipy.ndimage import gaussian_filter

from credwarp.space import Affine, Grid, Pair


def smooth_noise(shape, sd: float, seed: int, dtype=torch.float64) -> torch.Tensor:
    noise = gaussian_filter(
        np.random.default_rng(seed).normal(size=shape), (0,) * (len(shape) - 3) + (sd,) * 3
    )
    return torch.from_numpy(noise / noise.std()).to(dtype)


def textured(shape=(7, 9, 8), dtype=torch.float64, spacing=1.0, noise=0.1) -> Pair:
    """Two images that share their texture, every voxel in both masks."""
    common = smooth_noise(shape, 1.0, 0, dtype)
    fixed = common + noise * smooth_noise(shape, 0.0, 1, dtype)
    moving = common + noise * smooth_noise(shape, 0.0, 2, dtype)
    everywhere = torch.ones(shape, dtype=torch.bool)
    grid = Grid.isotropic(shape, spacing)
    return Pair(grid, fixed, moving, everywhere, everywhere, Affine.identity())


def smooth_parameters(shape, size: float, chains=2, sd=1.0, dtype=torch.float64) -> torch.Tensor:
    return size * smooth_noise((chains, 3, *shape), sd, 3, dtype)
