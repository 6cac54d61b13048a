"""Train a network on generated heads, then register pairs of heads it has never seen, beside MAP.

python -m experiments.demo_network [--model demo.safetensors] [--pairs 6]
"""

import argparse
import logging
import statistics
import time
from dataclasses import dataclass
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table

from credwarp.affine import align
from credwarp.cli.console import following, listen
from credwarp.files import TrainingFolder, read_network
from credwarp.networks import Network, Recipe
from credwarp.phantom import pair
from credwarp.plan import Plan
from credwarp.propagate import summarise
from credwarp.register import Memory, keep_network, register
from credwarp.space import Pair, prepare
from credwarp.workflow import Population, begin_training, complete_training

SIZE, HEADS = 64, 48
# Pairs far from the numbers of the heads trained on.
FIRST_PAIR = 5_000
EPOCHS = 40
RECIPE = (f"epochs={EPOCHS}", "images=64", "patience=60", "optimiser.step_size=0.002")


@dataclass(frozen=True)
class Result:
    """Mean Dice of the labels, seconds after the pre-alignment, and the share of folded voxels."""

    dice: float
    seconds: float
    folds: float


def main() -> None:
    """Train where there is no model yet; evaluate."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--model", type=Path, default=Path("demo.safetensors"))
    words.add_argument("--pairs", type=int, default=6)
    given = words.parse_args()
    listen(quiet=False)
    trained(given.model)
    compared(read_network(given.model), given.pairs)


def trained(model: Path) -> None:
    """From nothing, or from where it was left."""
    since, spent = time.perf_counter(), time.process_time()
    if not TrainingFolder(model).has_begun and not model.exists():
        begin_training(Population(HEADS, SIZE, 0), Recipe().with_settings(RECIPE), model)
    if TrainingFolder(model).has_begun:
        with following() as watch:
            complete_training(model, EPOCHS, watch=watch)
    passed, used = time.perf_counter() - since, time.process_time() - spent
    size = model.stat().st_size / 1e6
    Console().print(f"{model}: {passed:.0f} s ({used:.0f} s of processor), {size:.1f} MB.")


def compared(network: Network, pairs: int) -> None:
    """A row for each pair."""
    logging.getLogger("credwarp").setLevel(logging.WARNING)
    titles = ("pair", "Dice before", "MAP", "network", "share", "MAP (s)", "network (s)", "folds")
    table = Table(*titles)
    # The first pass of a process loads code, whichever network it is.
    measured(network, FIRST_PAIR)
    found = [measured(network, FIRST_PAIR + number) for number in range(pairs)]
    shares = []
    for number, (before, best, predicted) in enumerate(found):
        shares.append((predicted.dice - before) / (best.dice - before))
        table.add_row(
            str(FIRST_PAIR + number), f"{before:.3f}", f"{best.dice:.3f}", f"{predicted.dice:.3f}",
            f"{100 * shares[-1]:.0f} %", f"{best.seconds:.1f}", f"{predicted.seconds:.2f}",
            f"{predicted.folds:.1e}",
        )  # fmt: skip
    Console().print(table)
    middle = statistics.mean(shares)
    slowest, most = max(p.seconds for *_, p in found), max(p.folds for *_, p in found)
    Console().print(
        f"on average {100 * middle:.0f} % of MAP's rise (at least 50 asked), at most {slowest:.2f} s a pair "
        f"(1 asked), folds in at most {most:.1e} of the voxels of any draw (1e-4 asked)."
    )


def measured(network: Network, seed: int) -> tuple[float, Result, Result]:
    """Dice as pre-aligned, by MAP, and by the network's draws."""
    heads = pair((SIZE,) * 3, seed)
    images = prepare(heads.fixed, heads.moving, align(heads.fixed.image, heads.moving.image).affine)
    best = registered(images, Plan().with_settings(["method=map"]), Memory(), ("optimum",))
    keeper = Memory()
    keep_network(keeper, network)
    plan = Plan().with_settings(["method=amortised", "sampling.draws=20"])
    predicted = registered(images, plan, keeper, ("prediction",))
    return best[0], best[1], predicted[1]


def registered(images: Pair, plan: Plan, keeper: Memory, stages: tuple[str, ...]) -> tuple[float, Result]:
    """Dice before, and what came of it."""
    run = register(images, plan, keeper)
    summary = summarise(run)
    assert summary.labels is not None
    assert summary.labels.agreement is not None
    dice = summary.labels.agreement
    seconds = sum(run.facts[stage]["seconds"] for stage in stages)
    folds = max(summary.jacobian.folds) / images.grid.voxels
    return float(torch.as_tensor(dice.before[0]).mean()), Result(float(dice.dice.mean()), seconds, folds)


if __name__ == "__main__":
    main()
