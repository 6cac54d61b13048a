"""Is displacement uncertain where labels are? The paper's correlation, with its interval."""

import math
from dataclasses import dataclass

import numpy as np
import torch
from scipy.special import ndtri

from credwarp.errors import InputError
from credwarp.shapes import Image, Labels

FEWEST = 4


@dataclass(frozen=True)
class Correlation:
    """Pearson's r over `count` labels, and the 95 % interval of its Fisher transform."""

    r: float
    low: float
    high: float
    count: int


def pearson(first: np.ndarray, second: np.ndarray, level: float = 0.95) -> Correlation:
    """r of two rows of numbers; pairs with one that is not a number are left out."""
    there = np.isfinite(first) & np.isfinite(second)
    count = int(there.sum())
    if count < FEWEST:
        raise InputError(
            f"{count} labels are too few for a correlation; give at least {FEWEST} that overlap."
        )
    one, other = (row[there] - row[there].mean() for row in (first, second))
    scale = math.sqrt(float((one**2).sum() * (other**2).sum()))
    if scale == 0.0:
        return Correlation(math.nan, -1.0, 1.0, count)
    r = float((one * other).sum()) / scale
    half = float(ndtri((1 + level) / 2)) / math.sqrt(count - 3)
    centre = math.atanh(max(-1 + 1e-15, min(1 - 1e-15, r)))
    return Correlation(r, math.tanh(centre - half), math.tanh(centre + half), count)


def displacement_uncertainty(sd: Image, regions: Labels, labels: tuple[int, ...]) -> np.ndarray:
    """u_d: the mean of the displacement's sd, in mm, within each label's region on the fixed image."""
    means = [sd[regions == label].mean(dtype=torch.float64) for label in labels]
    return np.array([float(mean) for mean in means])
