"""What a pair of each size costs one core, and so what a study does: docs/measured.

Searches and variational fits are run whole; of the chains a few steps are, and the rest is reckoned from
those, because every step costs the same.
"""

import csv
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table

from credwarp.phantom import pair
from credwarp.plan import Plan
from credwarp.register import Memory, register
from credwarp.space import Pair, prepare
from credwarp.workflow.forecast import memory_mb

TABLE = Path(__file__).parents[1] / "docs" / "measured" / "studies.csv"
SIZES = ((64, 64, 64), (96, 112, 96), (160, 160, 160))
STUDY = 10_000
STEPS, SOME = 20, 8
HEAD = ("voxels", "method", "minutes a pair", "pairs a core-hour", f"core-hours for {STUDY:,}", "GB")


def seconds(images: Pair) -> dict[str, float]:
    """Of one core, for a pair by each method's default plan."""
    whole, laws = Plan(), Memory()
    short = f"sampling.draws={SOME * whole.sampling.chains}"
    law = register(images, whole.with_settings(["method=vi", short]), laws)
    chains = Memory({stage: laws.stages[stage] for stage in ("optimum", "approximation")})
    run = register(images, whole.with_settings([short, f"sampling.warmup={STEPS}"]), chains)
    sought, near = law.facts["optimum"]["seconds"], law.facts["approximation"]["seconds"]
    each = {
        name: facts["draws"]["seconds"] / (SOME * whole.sampling.chains)
        for name, facts in (("vi", law.facts), ("mcmc", run.facts))
    }
    step = each["mcmc"] * whole.sampling.chains / whole.sampling.thin
    warmup = run.facts["warmup"]["seconds"] + (whole.sampling.warmup - STEPS) * step
    draws = whole.sampling.each * whole.sampling.chains
    return {
        "map": sought,
        "vi": sought + near + draws * each["vi"],
        "mcmc": sought + near + warmup + draws * each["mcmc"],
    }


def rows(shape: tuple[int, ...]) -> list[list[str]]:
    """One a method."""
    heads, found = pair(shape), []
    images = prepare(heads.fixed, heads.moving)
    for method, taken in seconds(images).items():
        hours = taken / 3600
        plan = Plan().with_settings([f"method={method}"])
        held = memory_mb(images.grid, plan, plan.sampling.chains) / 1000
        numbers = (60 * hours, 1 / hours, STUDY * hours)
        found.append(
            ["×".join(map(str, shape)), method, *(f"{number:.3g}" for number in numbers), f"{held:.1f}"]
        )
    return found


def main() -> None:
    """Measure every size and write the table."""
    torch.set_num_threads(1)
    all_rows: list[list[str]] = []
    for shape in SIZES:
        all_rows += rows(shape)
        with TABLE.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([HEAD, *all_rows])
    table = Table(*HEAD)
    for cells in all_rows:
        table.add_row(*cells)
    Console(width=120).print(table)
