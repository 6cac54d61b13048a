"""How far each pair is from its cohort, in robust standard deviations, in the direction that is bad."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

# Which way each figure is bad, and what it is called.
FIGURES = {
    "dice": (-1, "Dice"),
    "dice_worst": (-1, "Dice of the worst label"),
    "radius95": (1, "95 % radius"),
    "radius95_q95": (1, "95 % radius at the 95th percentile"),
    "landmark_radius95": (1, "landmarks’ 95 % radius"),
    "rhat_max": (1, "R-hat"),
    "ess_min": (-1, "effective draws"),
    "folds": (1, "folded voxels"),
}
FEWEST = 5
# A median absolute deviation in standard deviations of a normal law.
NORMAL_MAD = 1.4826


@dataclass(frozen=True)
class Distance:
    """The largest over all figures, and of which figure it is."""

    score: float = 0.0
    figure: str = ""


def distances(rows: Sequence[Mapping[str, Any]]) -> list[Distance]:
    """One for each row; fewer than five rows with a figure are no cohort to be far from."""
    best = [Distance() for _ in rows]
    for name, (sign, title) in FIGURES.items():
        values = np.array([np.nan if row[name] is None else row[name] for row in rows], dtype=np.float64)
        if np.isfinite(values).sum() < FEWEST:
            continue
        away = sign * (values - np.nanmedian(values))
        spread = NORMAL_MAD * np.nanmedian(np.abs(away)) or float(np.nanmean(np.abs(away)))
        for place, score in enumerate(away / spread if spread > 0 else 0 * away):
            if score > best[place].score:
                best[place] = Distance(float(score), title)
    return best
