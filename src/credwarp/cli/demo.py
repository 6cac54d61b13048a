"""The built-in pair: made, registered, and held against its known truth."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from credwarp.cli.console import working
from credwarp.cli.examine import Settings

if TYPE_CHECKING:
    from credwarp.phantom import PhantomPair
    from credwarp.space import Affine
    from credwarp.workflow import Request

# Landmarks nearer to the border may leave the view with the pre-alignment.
MARGIN_MM = 15.0


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="The run's folder, a new one.")] = Path(
        "demo-run"
    ),
    size: Annotated[int, typer.Option(min=24, max=192, help="Voxels a side.")] = 64,
    seed: Annotated[int, typer.Option(min=0, help="Which pair of heads.")] = 0,
    settings: Settings = None,
) -> None:
    """Make a pair of brains with known truth, register it, and show how well that went.

    Example: credwarp demo -o demo-run
    """
    from credwarp.cli.arguments import plan_from
    from credwarp.cli.registering import completed, ended
    from credwarp.phantom import pair
    from credwarp.workflow import begin, refuse_used, removed_if_it_fails

    plan = plan_from(None, settings)
    refuse_used(output)
    with working(f"making two heads of {size}³ voxels …"):
        heads = pair((size, size, size), seed, affine=_misalignment())
    with working("aligning them …"), removed_if_it_fails(output):
        begin(_written(heads, output), plan, output)
    outcome = completed(output, strict=False)
    _compare(heads, output)
    typer.echo("\nOn your own images:\n  credwarp register FIXED MOVING -o RUN\n")
    ended(outcome)


def _misalignment() -> "Affine":
    """A turned, shifted and slightly larger head, as another scanner would see it."""
    import numpy as np
    from scipy.spatial.transform import Rotation

    from credwarp.space import Affine

    matrix = np.eye(4)
    matrix[:3, :3] = 1.05 * Rotation.from_rotvec([8, -5, 12], degrees=True).as_matrix()
    matrix[:3, 3] = [6.0, -9.0, 4.0]
    return Affine(matrix)


def _written(heads: "PhantomPair", output: Path) -> "Request":
    """The pair as files beside the run, as a user would have it."""
    import numpy as np

    from credwarp.files import RunFolder, write_table, write_volume
    from credwarp.phantom import landmark_names
    from credwarp.workflow import Request, Subject

    RunFolder.create(output)
    inputs = output / "inputs"
    inputs.mkdir(exist_ok=True)
    low, high = (end(heads.fixed.image.grid.corners(), axis=0) for end in (np.min, np.max))
    places = heads.truth.fixed_landmarks
    well_inside = np.all((places > low + MARGIN_MM) & (places < high - MARGIN_MM), axis=1).tolist()
    subjects = {}
    for side, scan in (("fixed", heads.fixed), ("moving", heads.moving)):
        assert scan.labels is not None
        image, labels = inputs / f"{side}.nii.gz", inputs / f"{side}_labels.nii.gz"
        write_volume(scan.image, image)
        write_volume(scan.labels, labels)
        places = heads.truth.fixed_landmarks if side == "fixed" else heads.truth.moving_landmarks
        points = inputs / f"{side}_points.csv"
        named = zip(landmark_names(), places.tolist(), well_inside, strict=True)
        rows = [(name, *place) for name, place, inside in named if inside]
        write_table(points, ("name", "x", "y", "z"), rows, ("CoordinateSystem = RAS",))
        subjects[side] = Subject(image, labels=labels, points=points)
    return Request(subjects["fixed"], subjects["moving"])


def _compare(heads: "PhantomPair", output: Path) -> None:
    """A table of truth against estimate."""
    import json

    import numpy as np
    from rich.console import Console
    from rich.table import Table

    from credwarp.files import RunFolder, open_run, read_transform
    from credwarp.workflow import score

    run, truth = open_run(output), heads.truth
    assert run.pair.fixed_labels is not None
    found = score(run, truth.warp, run.pair.fixed_labels > 0)
    mean = read_transform(RunFolder(output).to_fixed)
    dice = json.loads((output / "qc.json").read_text(encoding="utf-8"))["dice"].values()
    table = Table("", "pre-aligned", "registered")
    errors = [
        np.linalg.norm(through(truth.fixed_landmarks) - truth.moving_landmarks, axis=1).mean()
        for through in (run.pair.initial, mean)
    ]
    table.add_row("distance from the true place", f"{found.before:.2f} mm", f"{found.after:.2f} mm")
    table.add_row("landmark error", *(f"{error:.2f} mm" for error in errors))
    table.add_row("Dice of labels", *(f"{np.mean([d[w] for d in dice]):.3f}" for w in ("before", "mean")))
    for nominal, observed in zip(found.nominal, found.coverage, strict=True):
        table.add_row(f"truth inside its {100 * nominal:.0f} % interval", "", f"{100 * observed:.0f} %")
    Console().print(table)
