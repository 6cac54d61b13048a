"""Several runs beside each other: their figures, and where their warps differ."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from credwarp.errors import InputError
from credwarp.files import (
    PAIR,
    RunFolder,
    read,
    read_components,
    read_pair,
    write_bytes,
    write_table,
    write_volume,
)
from credwarp.report import differences
from credwarp.shapes import Field, Image, Mask
from credwarp.space import Grid, Volume

PAIR_COLUMNS = ("run", "other", "apart_median_mm", "apart_q95_mm", "radius_ratio", "apart_beyond_radius")


@dataclass(frozen=True, eq=False)
class Seen:
    """A finished run: its name and figures, and its maps where both of its masks look."""

    name: str
    qc: Mapping[str, Any]
    grid: Grid
    fixed: Image
    mask: Mask
    mean: Field
    radius95: Image

    @classmethod
    def of(cls, folder: Path, name: str) -> "Seen":
        """From the files of a run's folder."""
        place = RunFolder(folder)
        qc, pair = place.quality(), read_pair(folder / PAIR)
        mean, grid = read_components(place.map("displacement_mean"))
        radius = read(place.map("radius95")).data
        mask = pair.fixed_mask & pair.moving_mask
        return cls(name, qc, grid, pair.fixed, mask, torch.from_numpy(mean.astype(np.float32)), radius)

    @property
    def several(self) -> bool:
        """Whether there are draws to be unsure by."""
        return int(self.qc["draws"]) > 1

    def figures(self) -> dict[str, Any]:
        """What stands in the table of runs; None where it does not apply."""
        dice = self.qc["dice"].values()
        return {
            "method": self.qc["method"],
            "draws": self.qc["draws"],
            "converged": self.qc["converged"],
            "rhat_max": self.qc["rhat_max"],
            "ess_min": self.qc["ess_min"],
            "radius95_median_mm": float(self.radius95[self.mask].median()) if self.several else None,
            "dice_mean": float(np.mean([one["mean"] for one in dice])) if dice else None,
            "fold_fraction_max": self.qc["fold_fraction_max"],
            "seconds": self.qc["seconds"],
            "flags": len(self.qc["warnings"]),
        }


@dataclass(frozen=True, eq=False)
class Difference:
    """How far two runs' mean warps are apart, voxel by voxel, and the difference of their 95 % radii; in mm.

    `ratio` is the median of the first radius over the second, `beyond` the share of voxels whose means are
    farther apart than the larger of the two. None of these where a run is a single warp.
    """

    names: tuple[str, str]
    apart: Image
    wider: Image | None
    median: float
    high: float
    ratio: float | None
    beyond: float | None


@dataclass(frozen=True, eq=False)
class Comparison:
    """All runs, and every two of them that lie on one grid."""

    runs: tuple[Seen, ...]
    pairs: tuple[Difference, ...]

    def write(self, folder: Path) -> None:
        """Both tables, a picture, and maps of every two runs' differences."""
        rows = [(run.name, *_cells(run.figures().values())) for run in self.runs]
        write_table(folder / "runs.csv", ("run", *self.runs[0].figures()), rows)
        numbers = [(*one.names, *_cells((one.median, one.high, one.ratio, one.beyond))) for one in self.pairs]
        write_table(folder / "pairs.csv", PAIR_COLUMNS, numbers, ("inside both runs' masks",))
        grid, fixed = self.runs[0].grid, self.runs[0].fixed
        for one in self.pairs:
            for what, data in (("apart", one.apart), ("radius95_difference", one.wider)):
                if data is not None:
                    name = f"{what}_{one.names[0]}_{one.names[1]}"
                    write_volume(Volume(grid, data, name), folder / f"{name}.nii.gz")
        shown = {f"{run.name}: 95 % radius": run.radius95 for run in self.runs if run.several}
        shown |= {f"{one.names[0]} and {one.names[1]}: distance of means": one.apart for one in self.pairs}
        write_bytes(folder / "comparison.png", differences(grid, fixed, shown))


def compare(folders: Sequence[Path]) -> Comparison:
    """Runs of the same fixed image, read from their folders."""
    if len(folders) < 2:
        raise InputError("one run has nothing to be compared with; name two or more.")
    runs = tuple(Seen.of(folder, name) for folder, name in zip(folders, _names(folders), strict=True))
    other = next((run for run in runs if not run.grid.matches(runs[0].grid)), None)
    if other is not None:
        raise InputError(
            f"{other.name} lies on other voxels than {runs[0].name}, so their maps cannot be compared; "
            "register with the same fixed image and --set preparation.spacing."
        )
    return Comparison(runs, tuple(_difference(a, b) for a, b in itertools.combinations(runs, 2)))


def _cells(values: Iterable[Any]) -> list[Any]:
    return ["" if value is None else value for value in values]


def _names(folders: Sequence[Path]) -> list[str]:
    """Their folders' names, or numbers where these are not distinct."""
    names = [folder.resolve().name for folder in folders]
    return (
        names if len(set(names)) == len(names) else [f"{n}_{name}" for n, name in enumerate(names, start=1)]
    )


def _difference(first: Seen, second: Seen) -> Difference:
    apart = torch.linalg.vector_norm(first.mean - second.mean, dim=0)
    both = first.mask & second.mask
    inside = apart[both].to(torch.float64)
    median, high = torch.quantile(inside, torch.tensor([0.5, 0.95], dtype=torch.float64)).tolist()
    if not (first.several and second.several):
        return Difference((first.name, second.name), apart, None, median, high, None, None)
    larger = torch.maximum(first.radius95, second.radius95)
    return Difference(
        (first.name, second.name),
        apart,
        first.radius95 - second.radius95,
        median,
        high,
        float((first.radius95[both] / second.radius95[both]).median()),
        float((apart > larger)[both].float().mean()),
    )
