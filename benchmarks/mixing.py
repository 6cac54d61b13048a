"""Effective draws per gradient and per second: the default sampler by size, and against the paper's."""

from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from credwarp.phantom import pair
from credwarp.plan import Plan
from credwarp.register import register
from credwarp.space import Affine, Pair, prepare
from credwarp.summaries.mixing import mixing

SIZES = (24, 32, 48, 64)
COMPARED = 64
DEFAULT = ["optimisation.starts=1", "sampling.draws=1200", "sampling.thin=4"]
# The paper's: voxel values behind the Sobolev kernel, A = diag σ² of its own VI, τ = 0.4, started from q.
PAPER = [
    "coordinates.kind=smoothed",
    "variational.kind=diagonal_low_rank",
    "variational.iterations=256",
    "sampler.kind=sgld",
    "sampling.draws=1200",
    "sampling.thin=8",
    "sampling.warmup=300",
]
UNMIXED = 1.1


@dataclass(frozen=True)
class Rate:
    """Of 300 random displacement components: effective draws per thousand gradients and per second."""

    least: float
    median: float
    each_second: float
    rhat: float

    def row(self) -> list[str]:
        """For a table; where chains have not met, what they seem worth is only a bound from above."""
        bound = "≤ " if self.rhat > UNMIXED else ""
        cells = (f"{bound}{self.least:.1f}", f"{bound}{self.median:.0f}", f"{bound}{self.each_second:.2f}")
        return [*cells, f"{self.rhat:.3f}"]


def main() -> None:
    """Print both tables."""
    table = Table("sides", "ESS/1000 gradients, least", "median", "least a second", "R-hat")
    ours = {size: rate(_pair(size), DEFAULT) for size in sorted({*SIZES, COMPARED})}
    for size in SIZES:
        table.add_row(f"{size}³", *ours[size].row())
    Console().print("default sampler, built-in pair, Mixture likelihood:", table)
    medians, leasts = [ours[s].median for s in SIZES], [ours[s].least for s in SIZES]
    print(f"largest over smallest: median {_spread(medians):.2f}, least {_spread(leasts):.2f}")
    paper, best = rate(_pair(COMPARED), PAPER), ours[COMPARED]
    against = Table("", "ESS/1000 gradients, least", "median", "least a second", "R-hat")
    against.add_row("default", *best.row())
    against.add_row("SGLD, τ = 0.4", *paper.row())
    mark = "≥ " if paper.rhat > UNMIXED else ""
    against.add_row(
        "ratio",
        f"{mark}{best.least / paper.least:.0f}",
        f"{mark}{best.median / paper.median:.0f}",
        f"{mark}{best.each_second / paper.each_second:.0f}",
        "",
    )
    Console().print(f"against the paper's sampler at {COMPARED}³:", against)


def rate(of: Pair, settings: list[str]) -> Rate:
    """How fast a plan's chains mix on a pair."""
    run = register(of, Plan().with_settings(settings))
    found, facts = mixing(run.series["displacement"].double()), run.facts["draws"]
    thousands = facts["gradients"] / 1000
    least, median = float(found.ess_bulk.min()), float(found.ess_bulk.median())
    return Rate(least / thousands, median / thousands, least / facts["seconds"], float(found.rhat.max()))


def _pair(size: int) -> Pair:
    heads = pair((size,) * 3, 0)
    return prepare(heads.fixed, heads.moving, Affine.identity(), None)


def _spread(values: list[float]) -> float:
    return max(values) / min(values)
