"""Calibration: how often intervals hold a truth that is known."""

import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from credwarp.cli.console import working
from credwarp.cli.examine import Settings

if TYPE_CHECKING:
    from credwarp.space import Volume
    from credwarp.workflow import Score


def calibrate(
    pairs: Annotated[int, typer.Option(min=1, help="How many pairs to make and register.")] = 32,
    images: Annotated[
        list[Path] | None,
        typer.Option("--image", help="An image to warp instead of built-in heads; repeatable."),
    ] = None,
    size: Annotated[int, typer.Option(min=16, max=192, help="Voxels a side of the built-in heads.")] = 32,
    noise: Annotated[float, typer.Option(min=0.001, help="Noise, in the image's standard deviations.")] = 0.2,
    plan: Annotated[Path | None, typer.Option(help="A plan, as `credwarp plan` prints it.")] = None,
    settings: Settings = None,
) -> None:
    """Register pairs whose true warps were drawn from the prior, and count how often they are covered.

    Example: credwarp calibrate --pairs 32 --set method=vi
    """
    from rich.console import Console
    from rich.table import Table

    from credwarp.cli.arguments import plan_from
    from credwarp.errors import PlanError
    from credwarp.workflow import calibrate as calibrated

    chosen = plan_from(plan, settings)
    if chosen.method == "map":
        raise PlanError("method=map has no intervals to calibrate; choose vi or mcmc.")
    with working(f"registering {pairs} pairs …"):
        found = calibrated(_heads(pairs, images, size), chosen, noise, _told(pairs))
    table = Table("nominal", "observed", "error", title=f"{chosen.method}, {len(found.scores)} pairs")
    for nominal, observed, error in zip(found.nominal, found.coverage, found.error, strict=True):
        table.add_row(f"{100 * nominal:.0f} %", f"{100 * observed:.1f} %", f"± {100 * error:.1f}")
    Console().print(table)
    typer.echo(f"errors are {found.ratio:.2f} posterior standard deviations, root mean square.")


def _heads(pairs: int, images: list[Path] | None, size: int) -> Iterator["Volume"]:
    """Built-in heads one after the other, or the images in turn."""
    if images:
        from credwarp.files import read

        yield from (read(images[number % len(images)]) for number in range(pairs))
        return
    from credwarp.phantom import population

    yield from (subject.scan.image for subject in population(pairs, (size,) * 3))


def _told(pairs: int) -> Callable[[int, "Score"], None]:
    """A line for each pair."""
    log = logging.getLogger("credwarp")

    def tell(number: int, score: "Score") -> None:
        held = zip(score.nominal, score.coverage, strict=True)
        said = ", ".join(f"{100 * coverage:.0f} % inside {100 * nominal:.0f} %" for nominal, coverage in held)
        log.info("pair %d/%d: %s", number + 1, pairs, said)

    return tell
