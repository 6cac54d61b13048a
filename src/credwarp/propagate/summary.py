"""Everything that one pass over a run's draws can tell."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from credwarp.errors import InputError
from credwarp.register import Run
from credwarp.space import Volume
from credwarp.summaries import (
    Correlation,
    Displacement,
    DisplacementMoments,
    Fold,
    Jacobian,
    JacobianMoments,
    LabelVotes,
    Probabilities,
    displacement_uncertainty,
    folded,
    pearson,
)


@dataclass(frozen=True, eq=False)
class Summary:
    """Moments of the displacement and of its Jacobian; the labels' probabilities, where there are labels."""

    displacement: Displacement
    jacobian: Jacobian
    labels: Probabilities | None


def summarise(run: Run, moving_labels: Volume | None = None) -> Summary:
    """One pass over all draws. Labels as they were given, or else the pair's, which were resampled once."""
    pair = run.pair
    folds: dict[str, Fold[Any, Any]] = {
        "displacement": DisplacementMoments(pair.grid),
        "jacobian": JacobianMoments(),
    }
    if moving_labels is not None:
        folds["labels"] = LabelVotes.of(moving_labels, pair.grid, pair.initial, pair.fixed_labels)
    elif pair.moving_labels is not None:
        own = Volume(pair.grid, pair.moving_labels, "the moving labels")
        folds["labels"] = LabelVotes.of(own, pair.grid, type(pair.initial).identity(), pair.fixed_labels)
    found = folded(run.displacements(), folds)
    return Summary(found["displacement"], found["jacobian"], found.get("labels"))


def uncertainty_correlation(run: Run, summary: Summary) -> Correlation:
    """The paper's r between the displacement's uncertainty and the labels': their Dice's sd over draws."""
    regions, found = run.pair.fixed_labels, summary.labels
    if regions is None or found is None or found.agreement is None:
        raise InputError(
            "the run has no labels of both sides; register with --fixed-labels and --moving-labels."
        )
    spread = displacement_uncertainty(summary.displacement.sd, regions, found.labels)
    return pearson(spread, np.asarray(found.agreement.dice.std(dim=0)))
