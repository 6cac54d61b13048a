"""Pairs of a subject and the same subject moved by a known flow."""

import torch

from credwarp import kernels
from credwarp.fields import to_millimetres
from credwarp.networks.examples import generator
from credwarp.space import Affine, Grid, Mapping, Pair, Warp
from credwarp.spectral import Diagonal, laplacian_eigenvalues
from credwarp.transforms import DenseSvf, Svf

SQUARINGS, CORRELATION, ORDER = 7, 10.0, 4
MEAN, NOISE = 3.0, 0.02


def known(pair: Pair, seed: int) -> tuple[Pair, Mapping]:
    """The fixed image, itself moved by 3 mm on average under fresh noise, and the map between the two."""
    svf = DenseSvf(squarings=SQUARINGS).bind(pair.grid)
    w = _velocity(svf, seed)
    back = svf.inverse_displacement(w)
    moving = kernels.warp(pair.fixed[None], back)[0, 0]
    sd = NOISE * float(pair.fixed.max())
    noise = sd * torch.randn(moving.shape, generator=generator(seed, 1))
    moved = torch.where(moving > moving.min(), moving + noise, moving)
    images = Pair(
        pair.grid, pair.fixed, moved, pair.fixed_mask, pair.fixed_mask, Affine.identity(), pair.fixed_labels
    )
    displacement = to_millimetres(svf.displacement(w)[0], pair.grid)
    return images, Warp(pair.grid, displacement, Affine.identity(), Affine.identity())


def _velocity(svf: Svf, seed: int) -> torch.Tensor:
    """In voxels of the data, smooth over about a centimetre."""
    grid: Grid = svf.parameters
    precision = (CORRELATION**-2 + laplacian_eigenvalues(grid.shape, grid.spacing)) ** ORDER
    draw = Diagonal(precision[None]).draw(generator(seed), 1)
    size = torch.linalg.vector_norm(draw, dim=1).mean()
    lengths = torch.tensor(svf.grid.spacing).view(3, 1, 1, 1)
    return draw * (MEAN / size) / lengths
