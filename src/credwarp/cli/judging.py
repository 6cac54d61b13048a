"""Runs held against each other, and against what they were made of."""

from pathlib import Path
from typing import Annotated

import typer

from credwarp.cli.console import working
from credwarp.cli.registering import Folder

CHANGED = 3
MARKS = {"ok": "ok", "differs": "differs", "wrong": "WRONG"}


def compare(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN…", help="Folders of runs of the same fixed image.")
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="A folder for tables, difference maps and a picture."),
    ] = None,
) -> None:
    """Set runs beside each other: their figures, and how far every two of them are apart.

    Example: credwarp compare run other-run -o compared
    """
    from rich.console import Console
    from rich.table import Table

    from credwarp.cli.arguments import new_folder
    from credwarp.workflow import compare as compared

    folder = None if output is None else new_folder(output)
    with working("comparing …"):
        found = compared(runs)
        if folder is not None:
            found.write(folder)
    table = Table("", *(run.name for run in found.runs))
    each = [run.figures() for run in found.runs]
    for name in each[0]:
        table.add_row(name.replace("_", " "), *(_said(figures[name]) for figures in each))
    apart = Table("runs", "means apart, mm", "95th percentile", "ratio of radii", "share beyond radius")
    for one in found.pairs:
        cells = (_said(value) for value in (one.median, one.high, one.ratio, one.beyond))
        apart.add_row(" and ".join(one.names), *cells)
    console = Console()
    console.print(table)
    console.print(apart)
    if folder is not None:
        typer.echo(f"{folder}")


def verify(run: Folder) -> None:
    """Check a finished run: hashes of inputs, plan and files, versions, and what the files say.

    Example: credwarp verify run
    """
    from credwarp.workflow import verify as verified

    with working("checking …"):
        checks = verified(run)
    for check in checks:
        typer.echo(f"{MARKS[check.state]:<8}{check.what}: {check.said}")
    wrong = [check for check in checks if check.state == "wrong"]
    if wrong:
        typer.echo(f"{len(wrong)} of {len(checks)} checks failed: {run} is not what it was.")
        raise typer.Exit(CHANGED)
    typer.echo(f"all {len(checks)} checks passed: {run} is what it was.")


def _said(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.3g}" if isinstance(value, float) else str(value)
