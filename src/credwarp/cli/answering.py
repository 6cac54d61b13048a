"""What a run's draws say of a user's own labels, points and dose."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from credwarp.cli.console import working
from credwarp.cli.registering import Folder
from credwarp.cli.warp import Side

if TYPE_CHECKING:
    from credwarp.propagate import Summary

Results = Annotated[Path, typer.Option("--output", "-o", help="The folder for the results.")]
Chosen = Annotated[list[int] | None, typer.Option(help="Only this one; repeatable; all without.")]


def labels(
    run: Folder,
    image: Annotated[Path, typer.Argument(metavar="LABELS", help="Labels of the moving image.")],
    output: Results,
    fixed_labels: Annotated[
        Path | None,
        typer.Option(help="Labels of the fixed image, to compare; else the run's, if it has any."),
    ] = None,
    label: Chosen = None,
) -> None:
    """Carry labels over: how probable each is at every voxel, volumes, and agreement where that is known.

    Writes a probability map per label and of background, the most probable labels, and labels.csv: volumes
    (95 % interval), Dice, average surface distance and HD95.

    Example: credwarp labels run moving_labels.nii.gz -o carried
    """
    from rich.console import Console

    from credwarp import propagate
    from credwarp.cli.arguments import new_folder
    from credwarp.files import open_run, read_labels

    opened, folder = open_run(run), new_folder(output)
    chosen = propagate.selected(read_labels(image), tuple(label or ()))
    other = None if fixed_labels is None else read_labels(fixed_labels)
    with working("carrying the labels over …"):
        found = propagate.carried(opened, chosen, other)
    assert found.labels is not None
    correlation = propagate.uncertainty_correlation(found)
    propagate.write_labels(found.labels, folder, correlation)
    Console().print(_label_table(found))
    if correlation is not None:
        typer.echo(
            f"displacement and label uncertainty correlate by r = {correlation.r:.2f} "
            f"({correlation.low:.2f} to {correlation.high:.2f}, {correlation.count} labels)."
        )
    typer.echo(f"{output}")


def points(
    run: Folder,
    table: Annotated[
        Path, typer.Argument(metavar="POINTS", help="A .csv that says RAS or LPS, or .mrk.json.")
    ],
    side: Annotated[Side, typer.Option("--from", help="The image that the points are of.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The .csv or .mrk.json to write.")],
) -> None:
    """Carry points over: where each lies on the other image, its covariance, and its 95 % radius.

    Example: credwarp points run fixed_points.csv --from fixed -o moved.csv
    """
    import numpy as np

    from credwarp import propagate
    from credwarp.cli.arguments import new_table
    from credwarp.files import Ellipsoids, open_run, read_points, write_points

    new_table(output)
    opened, given = open_run(run), read_points(table)
    with working("carrying the points over …"):
        found = propagate.points(opened, given.positions, side.value, given.names)
    other = "moving" if side is Side.fixed else "fixed"
    space = f"points of {other}, from {side.value}, over {found.count} draws"
    write_points(output, given, Ellipsoids(found.mean, found.covariance, found.radius95), space)
    typer.echo(
        f"{len(given.names)} points of {other}; 95 % radius {np.median(found.radius95):.2f} mm typically, "
        f"{found.radius95.max():.2f} mm at most."
    )
    typer.echo(f"{output}")


def dose(
    run: Folder,
    image: Annotated[Path, typer.Argument(metavar="DOSE", help="A dose planned on the moving image.")],
    structures: Annotated[Path, typer.Option(help="Labels of the fixed image: where to count.")],
    output: Results,
    structure: Chosen = None,
) -> None:
    """Carry a dose over: its mean and SD, and what each structure receives, with 5 to 95 % bands.

    Writes dose_mean.nii.gz, dose_sd.nii.gz, dvh.csv, structures.csv (mean, D95, D50, D2) and dvh.png.

    Example: credwarp dose run moving_dose.nii.gz --structures fixed_labels.nii.gz -o received
    """
    from rich.console import Console
    from rich.table import Table

    from credwarp import propagate
    from credwarp.cli.arguments import new_folder
    from credwarp.files import open_run, read, read_labels, write_bytes
    from credwarp.report import dose_volumes

    opened, folder = open_run(run), new_folder(output)
    with working("carrying the dose over …"):
        found = propagate.dose(opened, read(image), read_labels(structures), tuple(structure or ()))
    propagate.write_dose(found, folder)
    write_bytes(folder / "dvh.png", dose_volumes(found))
    shown = Table("structure", *found.quantities(), title="median over draws (5 to 95 %)")
    for index, name in enumerate(found.structures):
        bands = [found.over_draws(each[:, index]) for each in found.quantities().values()]
        shown.add_row(str(name), *(f"{middle:.4g} ({low:.4g} to {high:.4g})" for low, middle, high in bands))
    Console().print(shown)
    typer.echo(f"{output}")


def _label_table(found: "Summary") -> object:
    import numpy as np
    from rich.table import Table

    told = found.labels
    assert told is not None
    known = told.agreement is not None
    table = Table(
        "label", "volume, ml", "95 % interval", *(["Dice before", "Dice", "ASD, mm"] if known else [])
    )
    for index, label in enumerate(told.labels):
        volumes = np.asarray(told.volumes[:, index]) / 1000
        low, high = np.quantile(volumes, (0.025, 0.975))
        row = [str(label), f"{volumes.mean():.3f}", f"{low:.3f} to {high:.3f}"]
        if told.agreement is not None:
            dice, apart = (each[:, index].mean() for each in (told.agreement.dice, told.agreement.distance))
            row += [f"{told.agreement.before[0, index]:.3f}", f"{dice:.3f}", f"{apart:.2f}"]
        table.add_row(*row)
    return table
