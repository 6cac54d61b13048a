"""Findings from a run: what its pair, plan and a few of its draws tell; the rest is added by who has it."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from scipy.ndimage import binary_closing, binary_fill_holes

from credwarp import kernels
from credwarp.fields import jacobian_determinant, to_millimetres
from credwarp.likelihoods import Comparison
from credwarp.register import Run
from credwarp.report.findings import Findings, Maps, Residuals
from credwarp.report.layers import MOST_WARPS
from credwarp.shapes import Field, Fields, Image, Mask
from credwarp.space import Grid, Pair

MOST_DRAWS = 12
BINS = 120
# Voxels across which structure is bridged, so that the anatomy is of one piece.
CLOSED = 2
REACH = 4.0
# The 95 % quantile of the standard normal law.
NORMAL95 = 1.6449


@torch.no_grad()
def gather(run: Run, qc: Mapping[str, Any]) -> Findings:
    """A run's findings from at most a dozen of its draws.

    Maps of so few are rough: `dataclasses.replace` them by those of all draws where there are any, and add
    provenance, names, structures, landmarks and series in the same way.
    """
    pair = run.pair
    fields = torch.cat(list(run.displacements(min(MOST_DRAWS, run.total))))
    middle = fields.mean(dim=0)
    several = len(fields) > 1
    comparison = run.plan.likelihood.bind(pair)
    return Findings(
        grid=pair.grid,
        fixed=pair.fixed,
        before=pair.moving,
        after=kernels.warp(pair.moving[None], middle[None])[0, 0],
        mask=_anatomy(pair, comparison),
        qc=qc,
        plan=run.plan.to_toml(),
        plausible=tuple(kernels.warp(pair.moving[None], fields[:MOST_WARPS])[:, 0]) if several else (),
        maps=_maps(pair.grid, fields, middle),
        residuals=_residuals(comparison, middle),
    )


def _maps(grid: Grid, fields: Fields, middle: Field) -> Maps:
    """Of these draws and their mean."""
    determinants = jacobian_determinant(fields)
    return Maps(
        displacement=torch.linalg.vector_norm(to_millimetres(middle, grid), dim=0),
        radius95=_radius95(to_millimetres(fields - middle, grid)) if len(fields) > 1 else None,
        jacobian=determinants.mean(dim=0),
        fold_probability=(determinants <= 0).to(fields.dtype).mean(dim=0),
    )


def _radius95(away: Fields) -> Image:
    """Of the ball that holds 95 % of a normal law with the spread of these deviations from their mean.

    |x|² counts as a multiple of a chi-square with its two moments; the quantile is Wilson and Hilferty's.
    """
    covariance = torch.einsum("nixyz,njxyz->ijxyz", away, away) / (len(away) - 1)
    total = covariance.diagonal(dim1=0, dim2=1).sum(dim=-1)
    squares = covariance.square().sum(dim=(0, 1))
    part = 2 * squares / (9 * total.square()).clamp(min=torch.finfo(total.dtype).tiny)
    radius: Image = (total * (1 - part + NORMAL95 * part.sqrt()) ** 3).clamp(min=0).sqrt()
    return radius


def _anatomy(pair: Pair, comparison: Comparison) -> Mask:
    """Where both masks look and images have structure, without holes: elsewhere maps mean nothing."""
    both = pair.fixed_mask & pair.moving_mask
    counted = np.asarray((comparison.weight[0] > 0) & both)
    filled = torch.from_numpy(binary_fill_holes(binary_closing(counted, iterations=CLOSED)))
    return filled & both if bool((filled & both).any()) else both


def _residuals(comparison: Comparison, middle: Field) -> Residuals:
    """Of the features under the mean warp, where voxels count."""
    residual = comparison.residual(middle[None])[0]
    counted = (comparison.weight[0] > 0).expand_as(residual)
    counts, edges = np.histogram(np.asarray(residual[counted].to(torch.float64)), BINS, (-REACH, REACH))
    return Residuals(edges, counts)
