"""What a plan's choices cost and give on the built-in pair, whose truth is known: docs/measured."""

import csv
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from credwarp.phantom import PhantomPair, pair
from credwarp.plan import Plan
from credwarp.register import Run, diagnose, register
from credwarp.register.targets import bound
from credwarp.register.track import Tracker
from credwarp.space import Pair, prepare
from credwarp.summaries import DisplacementMoments, JacobianMoments, folded
from credwarp.workflow import score

TABLE = Path(__file__).parents[1] / "docs" / "measured" / "choices.csv"
SIDES = 40
# Choices are compared by draws of the fitted law, which come sooner than those of chains.
SOON = ("method=vi", "sampling.draws=60")
CHOICES: dict[str, tuple[str, ...]] = {
    "the defaults": (),
    "method=vi": SOON,
    "method=map": ("method=map",),
    "likelihood.kind=gaussian": (*SOON, "likelihood.kind=gaussian"),
    "likelihood.kind=mind": (*SOON, "likelihood.kind=mind"),
    "prior.strength=4": (*SOON, "prior.strength=4"),
    "prior.strength=0.25": (*SOON, "prior.strength=0.25"),
    "prior.kind=gaussian": (*SOON, "prior.kind=gaussian"),
    "transform.coarsening=1": (*SOON, "transform.coarsening=1"),
    "transform.kind=bspline": (*SOON, "transform.kind=bspline"),
}
HEAD = (
    "choice",
    "seconds",
    "mm off",
    "median 95 % radius, mm",
    "50 % hold",
    "90 % hold",
    "folds",
    "R-hat",
    "ESS",
)
NONE = "–"


def row(name: str, heads: PhantomPair, images: Pair) -> list[str]:
    """What it took, and what came of it."""
    plan = Plan().with_settings(CHOICES[name])
    since = time.perf_counter()
    run = register(images, plan)
    seconds = time.perf_counter() - since
    assert images.fixed_labels is not None
    where = images.fixed_labels > 0
    found = score(run, heads.truth.warp, where)
    held = [f"{100 * share:.0f} %" for share in found.coverage[:2]] or [NONE] * 2
    answers = folded(run.displacements(), {"u": DisplacementMoments(images.grid), "j": JacobianMoments()})
    radius = f"{float(answers['u'].radius95[where].median()):.1f}" if run.total > 1 else NONE
    folds = str(max(answers["j"].folds))
    return [name, f"{seconds:.0f}", f"{found.after:.2f}", radius, *held, folds, *_mixing(run)]


def main(names: Sequence[str] = ()) -> None:
    """Measure the choices named, or all; the rows of the others stay."""
    known = {}
    if TABLE.exists():
        known = {cells[0]: cells for cells in list(csv.reader(TABLE.open(encoding="utf-8")))[1:]}
    heads = pair((SIDES,) * 3)
    images = prepare(heads.fixed, heads.moving)
    for name in names or CHOICES:
        known[name] = row(name, heads, images)
        TABLE.parent.mkdir(exist_ok=True)
        rows = [HEAD, *(known[choice] for choice in CHOICES if choice in known)]
        with TABLE.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(rows)
    table = Table(*HEAD)
    for cells in known.values():
        table.add_row(*cells)
    Console(width=140).print(table)


def _mixing(run: Run) -> list[str]:
    if run.plan.method != "mcmc":
        return [NONE] * 2
    tracker = Tracker.of(bound(run.pair, run.plan), run.hyper.prior, run.pair, run.plan.seed)
    facts = diagnose(run.series, tracker.names, run.plan.quality).facts(1)
    return [f"{facts['rhat_max']:.3f}", f"{facts['ess_min']:.0f}"]


if __name__ == "__main__":
    main(sys.argv[1:])
