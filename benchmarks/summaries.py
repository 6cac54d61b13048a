"""Draws summarised in one pass, against as many forward warps, and the memory that takes: from a few draws.

The bar: moments, 17 labels and 300 points of 1,000 draws at 96 × 112 × 96 within twice the time of as many
forward warps, in memory that does not grow with the number of draws.
"""

import itertools
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from credwarp import kernels, spectral
from credwarp.kernels import threads
from credwarp.plan import Plan
from credwarp.shapes import Parameters
from credwarp.space import Affine, Grid, Volume
from credwarp.summaries import DisplacementMoments, Fold, JacobianMoments, LabelVotes, PointMoments, folded
from credwarp.transforms import Svf

SHAPE, SPACING = (96, 112, 96), 1.82
LABELS, POINTS, DRAWS, ALL = 17, 300, 20, 1000
LONGEST = 6.0
# Times of forward warps that the summaries asked for most may take.
BAR = 2.0


def velocities(shape: tuple[int, ...]) -> Parameters:
    """A common velocity and a little of its own for each draw, as smooth as posterior draws."""
    white = torch.randn((DRAWS + 1, 3, *shape), generator=torch.Generator().manual_seed(0))
    laplacian = spectral.laplacian_eigenvalues(shape, (1.0, 1.0, 1.0))
    smooth = spectral.idct((1 / (0.1 + laplacian)).float() * white)
    smooth = smooth / smooth.norm(dim=2).amax(dim=(1, 2, 3), keepdim=True)[:, :, None]
    return LONGEST / 2 * (smooth[:1] + 0.15 * smooth[1:])


def structures(grid: Grid) -> Volume:
    """Balls of the sizes of subcortical structures."""
    random = np.random.default_rng(0)
    places = np.stack(np.meshgrid(*(np.arange(n) for n in grid.shape), indexing="ij"), axis=-1)
    data = torch.zeros(grid.shape, dtype=torch.int32)
    for label in range(1, LABELS + 1):
        centre = np.array(grid.shape) * random.uniform(0.3, 0.7, 3)
        inside = np.linalg.norm(places - centre, axis=-1) < random.uniform(4, 9)
        data[torch.from_numpy(inside)] = label
    return Volume(grid, data, "structures")


def seconds_per_draw(work: Callable[[], object]) -> float:
    """Of a processor, so that a busy machine does not matter: the least of three passes over the draws."""
    times = []
    for _ in range(3):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times) / DRAWS


def resident_mb() -> float:
    """What this process holds in memory now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") * 1e-6


def memory(transform: Svf, drawn: Parameters, asked: dict[str, Fold[object, object]]) -> str:
    """The most that is held while few draws are summarised, and while many are."""
    most = {}
    for count in (DRAWS, 5 * DRAWS):
        seen = []

        def watched(count: int = count, seen: list[float] = seen) -> Iterator[torch.Tensor]:
            for w in itertools.islice(itertools.cycle(drawn), count):
                yield transform.displacement(w[None])
                seen.append(resident_mb())

        folded(watched(), asked)
        most[count] = max(seen)
    return "at most " + ", ".join(f"{held:.0f} MB with {count} draws" for count, held in most.items())


def main() -> None:
    torch.set_grad_enabled(False)
    grid = Grid.isotropic(SHAPE, SPACING)
    transform: Svf = Plan().transform.bind(grid)
    drawn = velocities(transform.parameters.shape)
    transform = transform.tuned(drawn[:1])
    image, identity = torch.randn((1, *SHAPE)), Affine.identity()
    labels = structures(grid)
    points = grid.to_world(np.random.default_rng(1).uniform(0.2, 0.8, (POINTS, 3)) * SHAPE)
    other = labels.data.roll(1, 0)
    kinds: dict[str, Fold[object, object]] = {
        "moments": DisplacementMoments(grid),
        "Jacobian": JacobianMoments(),
        f"{LABELS} labels": LabelVotes.of(labels, grid, identity),
        f"{LABELS} labels, Dice and surfaces": LabelVotes.of(labels, grid, identity, other),
        f"{POINTS} points of fixed": PointMoments(points, "fixed", grid, identity),
        f"{POINTS} points of moving": PointMoments(points, "moving", grid, identity),
    }

    def displacements() -> Iterator[torch.Tensor]:
        return (transform.displacement(w[None]) for w in drawn)

    forward = seconds_per_draw(lambda: [kernels.warp(image, field) for field in displacements()])
    plain = seconds_per_draw(lambda: list(displacements()))
    title = f"{'×'.join(map(str, SHAPE))}, processor time, {threads.count()} threads"
    table = Table("", "ms a draw", f"s for {ALL} draws", "× forward warps", title=title)
    table.add_row("forward warps", f"{forward * 1e3:.1f}", f"{forward * ALL:.0f}", "1.00")
    table.add_row("displacements alone", f"{plain * 1e3:.1f}", f"{plain * ALL:.0f}", f"{plain / forward:.2f}")
    asked = {name: kinds[name] for name in ("moments", f"{LABELS} labels", f"{POINTS} points of fixed")}
    rows = [*((name, {name: fold}) for name, fold in kinds.items()), (", ".join(asked), asked)]
    for name, chosen in [*rows, ("all of these", kinds)]:
        spent = seconds_per_draw(lambda chosen=chosen: folded(displacements(), chosen))
        table.add_row(f"with {name}", f"{spent * 1e3:.1f}", f"{spent * ALL:.0f}", f"{spent / forward:.2f}")
        if chosen is asked:
            ratio = spent / forward
    verdict = f"{ratio:.2f} × forward warps, {'within' if ratio <= BAR else 'beyond'} the bar of {BAR:g}"
    Console(width=120).print(table, f"{', '.join(asked)}: {verdict}; {memory(transform, drawn, asked)}.")
