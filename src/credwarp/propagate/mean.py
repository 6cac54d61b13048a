"""One map for all draws, which can be undone: the posterior mean, and its inverse, checked."""

import logging
from dataclasses import dataclass

import numpy as np
import torch

from credwarp.fields import invert_warp, smallest_determinant, to_millimetres, to_voxels
from credwarp.register import Run
from credwarp.shapes import Field
from credwarp.space import Affine, Grid, Warp
from credwarp.summaries import Displacement

log = logging.getLogger("credwarp")

# The inverse is a field too: between its voxels it is linear, so it is refined until it is near enough.
REFINEMENTS = (1, 2)
NEAR_MM, SHARE = 0.03, 0.99


@dataclass(frozen=True, eq=False)
class MeanTransform:
    """`to_fixed` takes points of fixed to points of moving, `to_moving` undoes it.

    `error_mm` is how far from themselves points of fixed come back: 99 % of the grid's voxels are nearer.
    """

    to_fixed: Warp
    to_moving: Warp
    error_mm: float
    smallest_determinant: float


def mean_transform(run: Run, displacement: Displacement) -> MeanTransform:
    """The mean displacement where it can be undone, else the flow of the mean velocity."""
    grid, mean = displacement.grid, displacement.mean
    least = _least(mean, grid)
    if least <= 0:
        log.warning("the mean displacement folds; the flow of the mean velocity is taken instead.")
        mean = to_millimetres(_flow_of_mean(run), grid)
        least = _least(mean, grid)
    if least <= 0:
        log.warning("the mean of the draws folds, so its inverse is right only where it is unique.")
    there = Warp(grid, mean, Affine.identity(), run.pair.initial)
    for refinement in REFINEMENTS:
        back = invert_warp(there, _around(there, refinement))
        error = _error(there, back)
        if error <= NEAR_MM:
            break
    return MeanTransform(there, back, error, least)


def _least(mean: Field, grid: Grid) -> float:
    return float(smallest_determinant(to_voxels(mean, grid)[None]).min())


@torch.no_grad()
def _flow_of_mean(run: Run) -> Field:
    total = torch.zeros((3, *run.transform.parameters.shape), dtype=torch.float64)
    for chain, draw in run.places():
        total += run.draws.parameters(chain, draw)[0]
    return run.transform.displacement((total / run.total)[None].to(torch.float32))[0]


def _around(warp: Warp, refinement: int) -> Grid:
    """The warp's grid, as far as its border is moved outwards, on finer voxels."""
    field = to_voxels(warp.displacement, warp.grid).abs()
    pads = []
    for axis in range(3):
        faces = field[axis].movedim(axis, 0)[[0, -1]]
        pads.append(int(np.ceil(float(faces.max()))) + 1)
    affine = warp.grid.affine.copy()
    affine[:3, 3] = warp.grid.to_world(-np.array(pads, dtype=np.float64))
    x, y, z = (n + 2 * pad for n, pad in zip(warp.grid.shape, pads, strict=True))
    padded = Grid((x, y, z), affine)
    return padded if refinement == 1 else padded.with_spacing([h / refinement for h in padded.spacing])


def _error(there: Warp, back: Warp) -> float:
    apart = []
    for plane in range(there.grid.shape[0]):
        points = there.grid.points(plane, plane + 1).reshape(-1, 3)
        apart.append(np.linalg.norm(back(there(points)) - points, axis=1))
    return float(np.quantile(np.concatenate(apart), SHARE))
