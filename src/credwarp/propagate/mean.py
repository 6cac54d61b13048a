"""One map for all draws, which can be undone: the posterior mean, and its inverse, checked."""

import logging
from dataclasses import dataclass

import torch

from credwarp.fields import smallest_determinant, to_millimetres, to_voxels
from credwarp.propagate.inverse import inverse
from credwarp.register import Run
from credwarp.shapes import Field
from credwarp.space import Affine, Grid, Warp
from credwarp.summaries import Displacement

log = logging.getLogger("credwarp")


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
    back, error = inverse(there)
    return MeanTransform(there, back, error, least)


def _least(mean: Field, grid: Grid) -> float:
    return float(smallest_determinant(to_voxels(mean, grid)[None]).min())


@torch.no_grad()
def _flow_of_mean(run: Run) -> Field:
    total = torch.zeros((3, *run.transform.parameters.shape), dtype=torch.float64)
    for chain, draw in run.places():
        total += run.draws.parameters(chain, draw)[0]
    return run.transform.displacement((total / run.total)[None].to(torch.float32))[0]
