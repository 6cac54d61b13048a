"""Is uncertainty where errors are? Curves over voxels sorted by it, and probabilities against frequencies."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

POINTS = 21
BINS = 10
Row = Float[np.ndarray, " n"]


@dataclass(frozen=True)
class Curve:
    """y over x, and its mean height."""

    x: tuple[float, ...]
    y: tuple[float, ...]

    @property
    def mean(self) -> float:
        """By the trapezoidal rule, over the span of x."""
        return float(np.trapezoid(self.y, self.x)) / (self.x[-1] - self.x[0])


def sparsification(error: Row, uncertainty: Row) -> Curve:
    """The mean error of what is left when a share of the voxels is removed, the most uncertain first."""
    ordered = error[np.argsort(uncertainty, kind="stable")]
    shares = np.linspace(0, 0.95, POINTS)
    left = [max(1, round(len(error) * (1 - share))) for share in shares]
    sums = np.cumsum(ordered, dtype=np.float64)
    return Curve(tuple(shares.tolist()), tuple(float(sums[n - 1] / n) for n in left))


def risk_coverage(wrong: Bool[np.ndarray, " n"], confidence: Row) -> Curve:
    """The share of wrong labels among the most confident share of the voxels."""
    ordered = wrong[np.argsort(-confidence, kind="stable")].astype(np.float64)
    shares = np.linspace(0.05, 1, POINTS - 1)
    kept = [max(1, round(len(wrong) * share)) for share in shares]
    sums = np.cumsum(ordered)
    return Curve(tuple(shares.tolist()), tuple(float(sums[n - 1] / n) for n in kept))


@dataclass(frozen=True)
class Reliability:
    """Per bin of predicted probability: its mean, how often it came true, how many; and Brier's score."""

    predicted: tuple[float, ...]
    observed: tuple[float, ...]
    count: tuple[int, ...]
    brier: float

    @property
    def error(self) -> float:
        """The expected calibration error: |predicted − observed|, weighted by how many."""
        apart = np.abs(np.array(self.predicted) - np.array(self.observed))
        return float(np.average(apart, weights=self.count))


def reliability(probability: Row, true: Bool[np.ndarray, " n"]) -> Reliability:
    """Of many statements, each with its probability; empty bins are left out."""
    bins = np.minimum((probability * BINS).astype(int), BINS - 1)
    there = [index for index in range(BINS) if (bins == index).any()]
    return Reliability(
        predicted=tuple(float(probability[bins == index].mean()) for index in there),
        observed=tuple(float(true[bins == index].mean()) for index in there),
        count=tuple(int((bins == index).sum()) for index in there),
        brier=float(np.mean((probability - true) ** 2)),
    )
