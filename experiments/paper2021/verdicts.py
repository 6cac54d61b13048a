"""When a claim is reproduced, when it is not, when the contrary is so: a word for each measurement."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from experiments.paper2021.results import Result

Word: TypeAlias = Literal["reproduced", "not reproduced", "reversed"]
# Ratios nearer to 1 than this are no difference.
SAME = 1.05
# Up to here chains have met; from here they plainly have not.
MET, APART = 1.05, 1.2
# Two standard errors of a difference.
SURE = 1.96
# The paper rounds discrepancies to a tenth.
ROUNDING = 0.05


@dataclass(frozen=True)
class Claim:
    """A claim in our words, the verdict on it, and what was measured."""

    says: str
    word: Word
    measured: str


def folds(many: float, few: float) -> Word:
    """At least a voxel of a draw, and more than elsewhere."""
    if many >= 1 and many > few:
        return "reproduced"
    return "reversed" if few >= 1 and few > many else "not reproduced"


def few_folds(first: float, second: float) -> Word:
    """Less than a voxel of a draw each, with the second no more than with the first."""
    if max(first, second) >= 1:
        return "not reproduced"
    return "reproduced" if second <= first else "reversed"


def prevented(gain: float, other: float, share: float) -> Word:
    """The gain is less than a share of another one that is a gain; reversed where it is more than that."""
    if other <= 0:
        return "not reproduced"
    return "reproduced" if gain < share * other else "reversed" if gain > other else "not reproduced"


def between(low: float, middle: float, high: float) -> Word:
    """In this order; reversed in the contrary one."""
    return "reproduced" if low < middle < high else "reversed" if low > middle > high else "not reproduced"


def best(values: Sequence[float]) -> Word:
    """The first is the largest; reversed where it is the smallest."""
    if values[0] == max(values):
        return "reproduced"
    return "reversed" if values[0] == min(values) else "not reproduced"


def same(ratio: float) -> Word:
    """No difference."""
    return "reproduced" if 1 / SAME < ratio < SAME else "not reproduced"


def similar(values: Sequence[float]) -> Word:
    """None is more than another by more than what is no difference."""
    return "reproduced" if max(values) < SAME * min(values) else "not reproduced"


def larger(ratio: float) -> Word:
    """By more than what is no difference."""
    return "reproduced" if ratio > SAME else "reversed" if ratio < 1 / SAME else "not reproduced"


def all_larger(ratios: Sequence[float]) -> Word:
    """Each of them; reversed where each is smaller."""
    words = {larger(ratio) for ratio in ratios}
    return words.pop() if len(words) == 1 else "not reproduced"


def positive(value: float) -> Word:
    """More than nothing; reversed where it is less."""
    return "reproduced" if value > 0 else "reversed" if value < 0 else "not reproduced"


def majority(shares: Sequence[float]) -> Word:
    """More than half each; reversed where each is less."""
    if min(shares) > 0.5:
        return "reproduced"
    return "reversed" if max(shares) < 0.5 else "not reproduced"


def as_close(values: Sequence[float], limits: Sequence[float]) -> Word:
    """None is above its limit, which is a rounded number."""
    kept = all(value < limit + ROUNDING for value, limit in zip(values, limits, strict=True))
    return "reproduced" if kept else "not reproduced"


def met(rhat: float) -> Word:
    """By the worst R-hat."""
    return "reproduced" if rhat <= MET else "reversed" if rhat > APART else "not reproduced"


def sure(difference: float, error: float) -> Word:
    """Above nothing by two standard errors; reversed below it by as many."""
    if not abs(difference) > SURE * error:
        return "not reproduced"
    return "reproduced" if difference > 0 else "reversed"


def more_accurate(one: Result, other: Result) -> Word:
    """By the mean Dice, the structures being the sample."""
    apart = _apart(one, other)
    return sure(float(apart.mean()), float(apart.std(ddof=1)) / math.sqrt(len(apart)))


def share_better(one: Result, other: Result) -> float:
    """The share of structures with a larger mean Dice."""
    return float((_apart(one, other) > 0).mean())


def more_correlated(one: Mapping[str, Any], other: Mapping[str, Any]) -> Word:
    """By Fisher's transform, as if the two were of different structures."""
    error = math.sqrt(1 / (one["count"] - 3) + 1 / (other["count"] - 3))
    return sure(math.atanh(one["r"]) - math.atanh(other["r"]), error)


def _apart(one: Result, other: Result) -> np.ndarray:
    """The difference of mean Dice of each structure that both have."""
    apart = np.nanmean(one.overlap("dice"), axis=0) - np.nanmean(other.overlap("dice"), axis=0)
    return np.asarray(apart[np.isfinite(apart)])
