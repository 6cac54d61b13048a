"""A finished run as tables, claims and figures read it: every number from a file in its folder."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from credwarp import Plan
from experiments.paper2021.anatomy import columns, members
from experiments.paper2021.cells import Cell, Experiment

MEASURED = "measured.json"


@dataclass(frozen=True)
class Spread:
    """A mean and a standard deviation."""

    mean: float
    sd: float


@dataclass(frozen=True)
class Result:
    """One cell's run."""

    cell: Cell
    folder: Path

    @cached_property
    def measured(self) -> Mapping[str, Any]:
        """`measured.json`."""
        return self._json(MEASURED)

    @cached_property
    def provenance(self) -> Mapping[str, Any]:
        """`provenance.json`."""
        return self._json("provenance.json")

    @property
    def plan(self) -> Plan:
        """The plan that was run."""
        return self.cell.plan

    def overlap(self, which: str) -> np.ndarray:
        """`dice` or `distance`: draws × the labels that this result has."""
        return np.array(self.measured[which], dtype=np.float64)

    def group(self, which: str, group: str) -> Spread:
        """Over all draws of all structures of a group."""
        return spread(self.overlap(which)[:, columns(self.measured["labels"], members(group))])

    def before(self, which: str) -> np.ndarray:
        """Of each label before the non-rigid registration."""
        return np.array(self.measured[f"{which}_before"], dtype=np.float64)

    @property
    def dice(self) -> float:
        """The mean over structures and draws."""
        return float(np.nanmean(self.overlap("dice")))

    @property
    def gain(self) -> float:
        """By how much that is more than before."""
        return self.dice - float(np.nanmean(self.before("dice")))

    @property
    def dice_spread(self) -> float:
        """The mean over structures of the standard deviation over draws: the labels' uncertainty."""
        return float(np.nanmean(self.overlap("dice").std(axis=0, ddof=1)))

    @property
    def folds(self) -> Spread:
        """Voxels of a draw that fold."""
        return spread(np.array(self.measured["folds"], dtype=np.float64))

    @property
    def sd(self) -> float:
        """The median over the brain of the displacement's standard deviation, in mm."""
        return float(self.measured["sd"]["median"])

    @property
    def registration_seconds(self) -> float:
        """Until the first draw could be made."""
        return sum(spent for stage, spent in self.measured["seconds"].items() if stage != "draws")

    @property
    def draw_seconds(self) -> float:
        """All draws together."""
        return float(self.measured["seconds"]["draws"])

    @property
    def draws(self) -> int:
        """How many there are, of all chains."""
        return int(self.measured["draws"])

    @property
    def effective(self) -> tuple[float, float]:
        """Effective draws by the worst functional tracked and the median one; independent draws all count."""
        mixed = self.measured["mixing"]
        return (float(self.draws),) * 2 if mixed is None else (mixed["ess_min"], mixed["ess_median"])

    @property
    def transitions(self) -> int:
        """Of each chain while draws were kept; a law's draws are independent and have none."""
        sampling = self.plan.sampling
        return sampling.each * sampling.thin if self.plan.method == "mcmc" else 0

    def _json(self, name: str) -> Mapping[str, Any]:
        found: Mapping[str, Any] = json.loads((self.folder / name).read_text(encoding="utf-8"))
        return found


@dataclass(frozen=True)
class Finished:
    """An experiment with the results of its cells."""

    experiment: Experiment
    results: tuple[Result, ...]

    @property
    def pairs(self) -> tuple[str, ...]:
        """The pairs it was run on."""
        return tuple(dict.fromkeys(result.cell.pair for result in self.results))

    def on(self, pair: str = "sample") -> dict[str, Result]:
        """Results on one pair, by the names of their cells."""
        return {result.cell.name: result for result in self.results if result.cell.pair == pair}


def spread(values: np.ndarray) -> Spread:
    """Of numbers that are numbers."""
    return Spread(float(np.nanmean(values)), float(np.nanstd(values, ddof=1)))
