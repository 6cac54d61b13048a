"""Everything that one pass over a run's draws can tell."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from credwarp.register import Run
from credwarp.shapes import Labels, Points
from credwarp.space import Volume, resample_labels
from credwarp.summaries import (
    Correlation,
    Displacement,
    DisplacementMoments,
    Fold,
    Jacobian,
    JacobianMoments,
    LabelVotes,
    PointClouds,
    PointMoments,
    Probabilities,
    displacement_uncertainty,
    folded,
    pearson,
)
from credwarp.summaries.correlation import FEWEST


@dataclass(frozen=True, eq=False)
class Summary:
    """Moments of the displacement and of its Jacobian; labels and points of moving, where there are any.

    `regions` are the fixed image's labels on the run's grid, against which the labels were held.
    """

    displacement: Displacement
    jacobian: Jacobian
    labels: Probabilities | None = None
    regions: Labels | None = None
    points: PointClouds | None = None


def summarise(
    run: Run,
    moving_labels: Volume | None = None,
    fixed_labels: Volume | None = None,
    moving_points: Points | None = None,
) -> Summary:
    """One pass over all draws. Labels as they were given, or else the pair's, which were resampled once."""
    pair = run.pair
    regions = pair.fixed_labels if fixed_labels is None else resample_labels(fixed_labels, pair.grid).data
    folds: dict[str, Fold[Any, Any]] = {
        "displacement": DisplacementMoments(pair.grid),
        "jacobian": JacobianMoments(),
    }
    if moving_labels is not None:
        folds["labels"] = LabelVotes.of(moving_labels, pair.grid, pair.initial, regions)
    elif pair.moving_labels is not None:
        own = Volume(pair.grid, pair.moving_labels, "the moving labels")
        folds["labels"] = LabelVotes.of(own, pair.grid, type(pair.initial).identity(), regions)
    if moving_points is not None:
        folds["points"] = PointMoments(moving_points, "moving", pair.grid, pair.initial)
    found = folded(run.displacements(), folds)
    return Summary(regions=regions, **found)


def uncertainty_correlation(summary: Summary) -> Correlation | None:
    """The paper's r between the displacement's uncertainty and the labels': their Dice's sd over draws.

    None where it cannot be told: of one draw, of fewer than four labels that overlap, of one side's labels.
    """
    found, regions = summary.labels, summary.regions
    if found is None or found.agreement is None or regions is None or summary.displacement.count < 2:
        return None
    spread = displacement_uncertainty(summary.displacement.sd, regions, found.labels)
    doubt = np.asarray(found.agreement.dice.std(dim=0))
    if int((np.isfinite(spread) & np.isfinite(doubt)).sum()) < FEWEST:
        return None
    told = pearson(spread, doubt)
    return told if np.isfinite(told.r) else None
