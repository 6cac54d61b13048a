"""The strength of the prior: found by evidence where it is known, and the same on any grid."""

import os

import pytest
import torch
from rich.console import Console
from rich.table import Table

from cohort import brains, needs_data
from credwarp.fields import to_millimetres
from credwarp.phantom import subject
from credwarp.plan import Plan
from credwarp.register import register
from credwarp.space import Volume, resample
from credwarp.workflow import known_pair

PAIRS = ["01 03", "05 14", "02 04", "06 07"][: int(os.environ.get("PAIRS", "4"))]
EVIDENCE = Plan().with_settings(["method=map", "hyper.kind=evidence", "optimisation.starts=1"])
MAP = Plan().with_settings(["method=map", "optimisation.starts=1"])
NOISE = 0.2


def found(run) -> list[str]:
    evidence = run.facts["optimum"]["evidence"]
    low, high = evidence["ends"]
    return [f"{low:.2f}", f"{high:.2f}", f"{evidence['strength']:.2f}", str(evidence["agree"])]


def test_a_known_strength_is_found_from_a_quarter_and_from_four_times_it():
    table = Table("truth", "from below", "from above", "taken", "agree")
    for seed, truth in enumerate((1.0, 1.0, 4.0)):
        image = subject(seed, (40, 40, 40)).scan.image
        plan = EVIDENCE.with_settings([f"prior.strength={truth}"])
        run = register(known_pair(image, plan, NOISE, seed)[0], plan)
        table.add_row(f"{truth:g}", *found(run))
        assert 0.7 < run.facts["optimum"]["evidence"]["strength"] / truth < 1.3
    Console().print(table)


@needs_data
def test_both_ends_on_real_pairs_are_printed_and_neither_registers_nothing():
    table = Table("fixed ← moving", "from below", "from above", "taken", "agree", "mean displacement (mm)")
    for names in PAIRS:
        run = register(brains(*names.split(), 3.64), EVIDENCE.with_settings(["transform.coarsening=1"]))
        (field,) = run.displacements(1)
        inside = run.pair.fixed > 0
        moved = float(to_millimetres(field[0], run.pair.grid).norm(dim=0)[inside].mean())
        table.add_row(names.replace(" ", " ← "), *found(run), f"{moved:.2f}")
        assert moved > 0.5
    Console().print(table)


@needs_data
@pytest.mark.parametrize("names", PAIRS[:1])
def test_the_same_strength_means_the_same_on_any_spacing(names):
    fields = {}
    for spacing in (1.5, 1.82, 2.5):
        run = register(brains(*names.split(), spacing), MAP)
        (field,) = run.displacements(1)
        fields[spacing] = run.pair, to_millimetres(field[0], run.pair.grid)
    pair, reference = fields[1.82]
    for spacing in (1.5, 2.5):
        other, field = fields[spacing]
        moved = torch.stack([resample(Volume(other.grid, part), pair.grid, order=1).data for part in field])
        apart = (moved - reference).norm(dim=0)[pair.fixed > 0]
        print(f"{names}: {spacing} mm against 1.82 mm: {apart.mean():.3f} mm on average")
        assert float(apart.mean()) <= 0.3
