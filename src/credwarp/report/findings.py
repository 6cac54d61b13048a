"""What a report tells: everything it needs of a run, in memory, wherever that came from."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from credwarp.shapes import Image, Labels, Mask
from credwarp.space import Grid

# The 95 % quantile of chi squared with three degrees of freedom.
CHI2_95 = 7.8147279


class Interval(NamedTuple):
    """A mean, and the two ends between which 95 % of the posterior lies (90 % for Dice)."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class LabelRow:
    """One structure: its volume in mm³, and how much of it agrees with the other side's, where known."""

    label: int
    name: str = ""
    volume: Interval | None = None
    dice: Interval | None = None
    dice_before: float | None = None


@dataclass(frozen=True, eq=False)
class Structures:
    """Labels: a row for each, the most probable one of every voxel, and how probable that one is."""

    rows: tuple[LabelRow, ...]
    most_probable: Labels | None = None
    probability: Image | None = None


@dataclass(frozen=True, eq=False)
class Landmark:
    """Where a point ends: mean and covariance in RAS+ millimetres of the fixed image, `known` if truth is."""

    name: str
    mean: np.ndarray
    covariance: np.ndarray
    radius95: float
    known: np.ndarray | None = None

    @property
    def error(self) -> float:
        """How far off the mean is, in mm; not a number where that is not known."""
        return np.nan if self.known is None else float(np.linalg.norm(self.known - self.mean))

    @property
    def inside95(self) -> bool:
        """Whether the known place lies in the ellipsoid that holds 95 %."""
        if self.known is None:
            return False
        away = np.asarray(self.known - self.mean, dtype=np.float64)
        return bool(away @ np.linalg.pinv(self.covariance) @ away <= CHI2_95)


@dataclass(frozen=True, eq=False)
class Tracked:
    """The functionals whose mixing was measured: their draws, and R-hat and effective sample size of each."""

    names: tuple[str, ...]
    values: Float[np.ndarray, "chains draws names"]
    rhat: Float[np.ndarray, " names"]
    ess: Float[np.ndarray, " names"]


@dataclass(frozen=True, eq=False)
class Residuals:
    """A histogram of what the warp leaves unexplained, with one more edge than counts."""

    edges: Float[np.ndarray, " edges"]
    counts: Float[np.ndarray, " bins"] | Int[np.ndarray, " bins"]


@dataclass(frozen=True, eq=False)
class Calibration:
    """How often the truth lay inside credible regions of each nominal content, over known `pairs`."""

    nominal: Float[np.ndarray, " levels"]
    observed: Float[np.ndarray, " levels"]
    pairs: int


@dataclass(frozen=True, eq=False)
class Maps:
    """Per voxel: length of the mean displacement and 95 % radius in mm, mean Jacobian, fold probability."""

    displacement: Image | None = None
    radius95: Image | None = None
    jacobian: Image | None = None
    fold_probability: Image | None = None


@dataclass(frozen=True, eq=False)
class Findings:
    """A run as its report tells it; what is left out is said to be missing, or not mentioned.

    Images lie on `grid`; `before` and `after` are the moving image as pre-aligned and under the mean warp,
    `plausible` the same under single draws. `qc` is what `qc.json` holds, `plan` is TOML.
    """

    grid: Grid
    fixed: Image
    before: Image
    after: Image
    mask: Mask
    qc: Mapping[str, Any]
    plan: str = ""
    provenance: Mapping[str, Any] = field(default_factory=dict)
    fixed_name: str = "fixed image"
    moving_name: str = "moving image"
    plausible: tuple[Image, ...] = ()
    maps: Maps = Maps()
    structures: Structures | None = None
    landmarks: tuple[Landmark, ...] = ()
    tracked: Tracked | None = None
    residuals: Residuals | None = None
    calibration: Calibration | None = None
