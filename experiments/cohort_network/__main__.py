"""Train on most subjects of a cohort; register the others by the network, by VI and by chains.

python -m experiments.cohort_network DATA/cohort [--spacing 3.64] [--pairs 2] [--model cohort.safetensors]

A cohort is a folder of images subNN.nii.gz with labels subNN_seg.nii.gz, aligned with each other.
"""

import argparse
import logging
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from credwarp.cli.console import following, listen
from credwarp.errors import InputError
from credwarp.files import TrainingFolder, read, read_labels, read_network
from credwarp.networks import Network, Recipe
from credwarp.plan import Plan
from credwarp.propagate import summarise, uncertainty_correlation
from credwarp.register import Memory, keep_network, register
from credwarp.space import Mapping, Pair, Scan, Volume, prepare
from credwarp.workflow import Files, begin_training, complete_training, known_pair, score

HELD_OUT = 4
# The noise of known warps, in standard deviations of the image.
NOISE = 0.05
DRAWS = 100
TISSUE = 0.1
SMALL = (f"sampling.draws={DRAWS}", "sampling.warmup=100", "sampling.thin=8", "optimisation.starts=1",
         "prealignment.kind=header")  # fmt: skip
METHODS = {
    "network": ("method=amortised",),
    "VI": ("method=vi",),
    "SG-MCMC (Langevin chains)": ("method=mcmc",),
}


@dataclass(frozen=True)
class Row:
    """One run: Dice and its spread over draws, the displacement's sd in mm, r(u_d, u_l), folds, seconds.

    Where the truth is known, also the error of the mean in mm and the coverage of nominal 50, 90 and 95 %.
    """

    dice: float
    dice_sd: float
    sd: float
    correlation: float
    folds: float
    seconds: float
    error: float = float("nan")
    coverage: tuple[float, ...] = (float("nan"),) * 3


def main() -> None:
    """Train where there is no model yet; register; print the table."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("cohort", type=Path)
    words.add_argument("--model", type=Path, default=Path("cohort.safetensors"))
    words.add_argument("--spacing", type=float, default=3.64)
    words.add_argument("--pairs", type=int, default=2)
    words.add_argument("--epochs", type=int, default=30)
    given = words.parse_args()
    listen(quiet=False)
    subjects = sorted(p for p in given.cohort.glob("*.nii.gz") if not p.name.endswith("_seg.nii.gz"))
    if len(subjects) <= HELD_OUT + 2:
        raise InputError(
            f"{given.cohort} holds {len(subjects)} subjects; at least {HELD_OUT + 3} are needed."
        )
    used, left = subjects[:-HELD_OUT], subjects[-HELD_OUT:]
    console = Console(width=150)
    console.print("trained on", *(p.name.split(".")[0] for p in used))
    console.print("left out for the table", *(p.name.split(".")[0] for p in left))
    trained(given.model, tuple(used), given.spacing, given.epochs)
    logging.getLogger("credwarp").setLevel(logging.WARNING)
    console.print(table(list(rows(read_network(given.model), left, given.spacing, given.pairs))))


def trained(model: Path, subjects: tuple[Path, ...], spacing: float, epochs: int) -> None:
    """From nothing, or from where it was left."""
    since = time.perf_counter()
    if not TrainingFolder(model).has_begun and not model.exists():
        recipe = Recipe().with_settings([f"epochs={epochs}", "images=64", "optimiser.step_size=0.002"])
        begin_training(Files(subjects, None, "header", spacing), recipe, model)
    if TrainingFolder(model).has_begun:
        with following() as watch:
            complete_training(model, watch=watch)
    Console().print(f"trained in {time.perf_counter() - since:.0f} s.")


def rows(network: Network, left: list[Path], spacing: float, pairs: int) -> Iterator[tuple[str, str, Row]]:
    """Real pairs of subjects left out, and each fixed one with itself under a warp drawn from the prior."""
    for number in range(pairs):
        fixed, moving = left[number % len(left)], left[(number + 1) % len(left)]
        pair = prepare(scan(fixed), scan(moving), spacing=spacing)
        yield from ((name, "real", measured(network, pair, s, None)) for name, s in METHODS.items())
        still = Volume(pair.grid, pair.fixed, fixed.name)
        moved, truth = known_pair(still, Plan(), NOISE, number)
        yield from ((name, "known", measured(network, moved, s, truth)) for name, s in METHODS.items())


def scan(path: Path) -> Scan:
    """An image with its labels."""
    labels = path.with_name(path.name.replace(".nii.gz", "_seg.nii.gz"))
    return Scan(read(path), labels=read_labels(labels))


def measured(network: Network, pair: Pair, settings: tuple[str, ...], truth: Mapping | None) -> Row:
    """One run and what its draws say."""
    keeper = Memory()
    keep_network(keeper, network)
    run = register(pair, Plan().with_settings([*SMALL, *settings]), keeper)
    summary = summarise(run)
    inside = pair.moving > TISSUE * pair.moving.max()
    seconds = sum(float(facts.get("seconds", 0.0)) for facts in run.facts.values())
    folds = max(summary.jacobian.folds) / pair.grid.voxels
    sd = float(summary.displacement.sd[inside].mean())
    dice, dice_sd, correlation = float("nan"), float("nan"), float("nan")
    if summary.labels is not None and summary.labels.agreement is not None:
        each = torch.as_tensor(summary.labels.agreement.dice)
        dice, dice_sd = float(each.mean()), float(each.std(dim=0).mean())
        told = uncertainty_correlation(summary)
        correlation = float("nan") if told is None else told.r
    if truth is None:
        return Row(dice, dice_sd, sd, correlation, folds, seconds)
    found = score(run, truth, inside)
    return Row(dice, dice_sd, sd, correlation, folds, seconds, found.after, found.coverage)


def table(found: list[tuple[str, str, Row]]) -> Table:
    """Means over pairs, a row for each method."""
    titles = ("method", "Dice", "its SD", "displacement SD (mm)", "r(u_d, u_l)", "error (mm)", "in 50 %",
              "in 90 %", "in 95 %", "folds", "seconds")  # fmt: skip
    printed = Table(*titles, title="labels of real pairs; errors and coverage of known warps")
    for name in METHODS:
        real = [row for method, kind, row in found if method == name and kind == "real"]
        known_rows = [row for method, kind, row in found if method == name and kind == "known"]
        cells = [
            f"{np.mean([getattr(r, w) for r in real]):.3f}" for w in ("dice", "dice_sd", "sd", "correlation")
        ]
        cells.append(f"{np.mean([row.error for row in known_rows]):.2f}")
        cells += [f"{100 * np.mean([row.coverage[n] for row in known_rows]):.0f} %" for n in range(3)]
        cells.append(f"{max(row.folds for row in real + known_rows):.1e}")
        cells.append(f"{np.mean([row.seconds for row in real]):.1f}")
        printed.add_row(name, *cells)
    return printed


if __name__ == "__main__":
    main()
