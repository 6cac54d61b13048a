"""Metric, friction and block size of the default sampler, from one warmed state: what each is worth.

On a real pair at half resolution where CREDWARP_DATA says where the cohort is, else on the built-in one.
"""

import os
import time
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table

from credwarp.files import read
from credwarp.phantom import pair as built_in
from credwarp.plan import Plan
from credwarp.register import Memory, warmed
from credwarp.register.drawing import Recorder
from credwarp.register.warm import Warmed
from credwarp.samplers import Full, LowBlock, Metric, Rough, Underdamped, refreshed
from credwarp.space import Affine, Pair, Scan, prepare
from credwarp.summaries.mixing import mixing

STEPS, THIN, SETTLING = 600, 2, 200
LONG = 3
KINDS = ("displacement", "low", "energy")
FRICTIONS = (0.03, 0.08, 0.3)
SIZES = (1800, 3600, 7200)


@dataclass(frozen=True)
class Choice:
    """A metric, and how the chains are driven."""

    name: str
    metric: Metric
    sampler: Underdamped
    steps: int = STEPS


DEFAULT = Choice("block 3600, friction 0.08, damping 1", LowBlock(), Underdamped(), STEPS * LONG)
CHOICES = [
    DEFAULT,
    *(Choice(f"friction {f:g}", LowBlock(), Underdamped(friction=f)) for f in FRICTIONS if f != 0.08),
    Choice("damping as friction", LowBlock(), Underdamped(damping=0.08)),
    *(Choice(f"block {size}", LowBlock(size=size), Underdamped()) for size in SIZES if size != 3600),
    Choice("no block, (Q + c)⁻¹", Rough(), Underdamped()),
    Choice("Gauss–Newton by conjugate gradients", Full(), Underdamped(friction=0.7), STEPS // 4),
]


@dataclass(frozen=True, eq=False)
class Found:
    """Effective draws per thousand gradients of each kind, seconds a step, and the displacements' SDs."""

    rates: dict[str, torch.Tensor]
    rhat: float
    virial: float
    seconds: float
    sd: torch.Tensor


def main() -> None:
    """Print the table."""
    of = _real() if "CREDWARP_DATA" in os.environ else _made()
    plan = Plan().with_settings(["transform.coarsening=1", "sampling.warmup=300"])
    ready = warmed(of, plan, Memory())
    table = Table(
        "choice",
        "ms/step",
        "ESS/1000: least",
        "5 %",
        "median",
        "modes",
        "χ²",
        "ESS/s: 5 %",
        "R-hat",
        "virial",
        "SD",
    )
    longest: Found | None = None
    for choice in CHOICES:
        found = tried(choice, ready, of, plan)
        longest = longest or found
        table.add_row(choice.name, *_cells(found, longest, plan.sampling.chains))
    Console(width=170).print(table, "SD: of the displacements, median ratio to that of the first row.")


def tried(choice: Choice, ready: Warmed, of: Pair, plan: Plan) -> Found:
    """Chains from the warmed state, the first steps dropped."""
    target, state = ready.target, ready.state
    metric = choice.metric.build(target, target.curvature(state.position))
    state = refreshed(state, target, metric)
    recorder = Recorder.of(target, of, plan)
    rows, virials, seconds = [], [], 0.0
    for step in range(SETTLING + choice.steps):
        since = time.perf_counter()
        state, info = choice.sampler.step(state, target, metric)
        if step < SETTLING:
            continue
        seconds += time.perf_counter() - since
        virials.append(info.virial.mean())
        if step % THIN == 0:
            rows.append(recorder.record(target.parameters(state.position), state.log_density))
    thousands = choice.steps * len(state.position) / 1000
    series = {kind: torch.stack([row[kind] for row in rows], dim=1).double() for kind in KINDS}
    mixed = {kind: mixing(values) for kind, values in series.items()}
    return Found(
        {kind: found.ess_bulk / thousands for kind, found in mixed.items()},
        float(mixed["displacement"].rhat.max()),
        float(torch.stack(virials).mean()),
        seconds / choice.steps,
        series["displacement"].flatten(0, 1).std(dim=0),
    )


def _cells(found: Found, longest: Found, chains: int) -> list[str]:
    moved, seconds = found.rates["displacement"], found.seconds
    low = float(moved.quantile(0.05))
    numbers = (float(moved.min()), low, float(moved.median()))
    more = (float(found.rates["low"].min()), float(found.rates["energy"].min()))
    return [
        f"{1000 * seconds:.0f}",
        *(f"{number:.0f}" for number in (*numbers, *more)),
        f"{low * chains / 1000 / seconds:.2f}",
        f"{found.rhat:.3f}",
        f"{found.virial:.4f}",
        f"{float((found.sd / longest.sd).median()):.3f}",
    ]


def _real() -> Pair:
    folder = Path(os.environ["CREDWARP_DATA"]) / "cohort"
    scans = [Scan(read(folder / f"sub{number}.nii.gz"), None, None) for number in ("01", "03")]
    return prepare(*scans, Affine.identity(), 2 * scans[0].image.grid.spacing[0])


def _made() -> Pair:
    heads = built_in((48, 48, 48), 0)
    plain = [replace(scan, labels=None) for scan in (heads.fixed, heads.moving)]
    return prepare(*plain, Affine.identity(), None)
