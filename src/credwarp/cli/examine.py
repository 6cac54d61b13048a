"""Looking before running: images, plans, the machine."""

from pathlib import Path
from typing import Annotated

import typer

Settings = Annotated[
    list[str] | None, typer.Option("--set", help="Change a choice, as in prior.strength=2.0; repeatable.")
]


def inspect(images: Annotated[list[Path], typer.Argument(help="Images, or folders of DICOM.")]) -> None:
    """Show the geometry of images as it is understood, and name what is odd in their headers.

    Example: credwarp inspect fixed.nii.gz moving.mha
    """
    from rich.console import Console
    from rich.table import Table

    from credwarp.files import describe

    for path in images:
        seen = describe(path)
        table = Table(title=str(path), show_header=False, title_justify="left")
        table.add_row("format", f"{seen.format}, {seen.dtype}, {seen.size / 1e6:.1f} MB on disk")
        table.add_row("voxels", " × ".join(str(n) for n in seen.shape))
        table.add_row("spacing", " × ".join(f"{h:.4g}" for h in seen.spacing) + " mm")
        table.add_row("axes point", f"{seen.orientation}{'' if seen.grid.is_orthogonal else ', sheared'}")
        table.add_row("centre", ", ".join(f"{x:.1f}" for x in seen.grid.centre) + " mm (R, A, S)")
        table.add_row("values", f"{seen.minimum:g} to {seen.maximum:g}")
        if seen.labels is not None:
            table.add_row("distinct", ", ".join(str(label) for label in seen.labels))
        if seen.sform_code is not None:
            apart = f", {seen.forms_apart:.2f} mm apart" if seen.forms_apart is not None else ""
            table.add_row("header", f"sform code {seen.sform_code}, qform code {seen.qform_code}{apart}")
        for warning in seen.warnings:
            table.add_row("warning", warning)
        Console(soft_wrap=True).print(table)


def plan(
    file: Annotated[Path | None, typer.Option("--plan", help="A plan to start from.")] = None,
    settings: Settings = None,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON schema instead.")] = False,
) -> None:
    """Print the plan of a run, every choice with its value, as TOML.

    Example: credwarp plan --set transform.kind=bspline > plan.toml
    """
    from credwarp.cli.arguments import plan_from
    from credwarp.plan import schema as plan_schema

    typer.echo(plan_schema() if schema else plan_from(file, settings).to_toml().rstrip())


def doctor() -> None:
    """Tell what the machine has, and test that the package works on it.

    Example: credwarp doctor
    """
    from rich.console import Console
    from rich.table import Table

    from credwarp.cli.health import facts, self_test

    console = Console()
    table = Table(show_header=False)
    for name, value in facts().items():
        table.add_row(name, value)
    console.print(table)
    failures = 0
    for name, sound in self_test().items():
        console.print(f"{'ok  ' if sound else 'FAIL'} {name}")
        failures += not sound
    console.print(
        "all is well." if not failures else f"{failures} tests failed; the results cannot be trusted."
    )
    if failures:
        raise typer.Exit(1)
