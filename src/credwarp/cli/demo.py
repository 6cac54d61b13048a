"""The built-in pair: made, pre-aligned, written, shown."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from credwarp.cli.console import working

if TYPE_CHECKING:
    from credwarp.files import RunFolder
    from credwarp.phantom import PhantomPair
    from credwarp.space import Affine, Volume


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder to write.")] = Path("demo-run"),
    size: Annotated[int, typer.Option(min=24, max=192, help="Voxels a side.")] = 64,
    seed: Annotated[int, typer.Option(min=0, help="Which pair of heads.")] = 0,
) -> None:
    """Make a pair of brains with known truth, align them, and show how well that went.

    Example: credwarp demo -o demo-run
    """
    from credwarp.affine import align
    from credwarp.files import RunFolder
    from credwarp.phantom import pair

    with _removed_if_it_fails(output):
        run = RunFolder.create(output)
        with working(f"making two heads of {size}³ voxels …"):
            heads = pair((size, size, size), seed, affine=_misalignment())
        with working("aligning them …"):
            found = align(heads.fixed.image, heads.moving.image).affine
        with working("writing what was found …"):
            moved, picture = _write(run, heads, found)
    _score(heads, found, moved)
    typer.echo(f"\n{picture}\n\nOn your own images:\n  credwarp affine FIXED MOVING -o affine.tfm")
    typer.echo("  credwarp apply affine.tfm MOVING -o moved.nii.gz --grid FIXED")


@contextmanager
def _removed_if_it_fails(folder: Path) -> Iterator[None]:
    """A folder that this command made does not stay behind half full."""
    new = not folder.exists()
    try:
        yield
    except BaseException:
        if new:
            shutil.rmtree(folder, ignore_errors=True)
        raise


def _misalignment() -> "Affine":
    """A turned, shifted and slightly larger head, as another scanner would see it."""
    import numpy as np
    from scipy.spatial.transform import Rotation

    from credwarp.space import Affine

    matrix = np.eye(4)
    matrix[:3, :3] = 1.05 * Rotation.from_rotvec([8, -5, 12], degrees=True).as_matrix()
    matrix[:3, 3] = [6.0, -9.0, 4.0]
    return Affine(matrix)


def _write(run: "RunFolder", heads: "PhantomPair", found: "Affine") -> tuple["Volume", Path]:
    from credwarp import __version__, propagate
    from credwarp.files import provenance_of, write_bytes, write_itk, write_volume
    from credwarp.report import before_and_after
    from credwarp.space import Affine

    inputs = run.path / "inputs"
    inputs.mkdir(exist_ok=True)
    facts: dict[str, object] = {"credwarp": __version__}
    for side, scan in (("fixed", heads.fixed), ("moving", heads.moving)):
        write_volume(scan.image, inputs / f"{side}.nii.gz")
        if scan.labels is not None:
            write_volume(scan.labels, inputs / f"{side}_labels.nii.gz")
        facts[side] = provenance_of(inputs / f"{side}.nii.gz", scan.image.grid)
    write_itk(found, run.to_fixed)
    write_itk(found.inverse(), run.to_moving)
    grid = heads.fixed.image.grid
    before, after = (
        propagate.apply(heads.moving.image, grid, through, "linear") for through in (Affine.identity(), found)
    )
    write_volume(after, run.maps / "warped.nii.gz")
    picture = run.path / "before_after.png"
    write_bytes(picture, before_and_after(grid, heads.fixed.image.data, before.data, after.data))
    run.write_provenance(facts)
    return after, picture


def _score(heads: "PhantomPair", found: "Affine", moved: "Volume") -> None:
    """A table of truth against estimate."""
    import numpy as np
    from rich.console import Console
    from rich.table import Table

    from credwarp import propagate
    from credwarp.space import Affine
    from credwarp.summaries import mean_dice

    assert heads.fixed.labels is not None
    assert heads.moving.labels is not None
    table = Table("", "before", "after pre-alignment")
    maps = (Affine.identity(), found)
    labels = [propagate.apply(heads.moving.labels, moved.grid, through, "label") for through in maps]
    dice = [mean_dice(heads.fixed.labels.data, other.data) for other in labels]
    truth = heads.truth
    errors = [np.linalg.norm(m(truth.fixed_landmarks) - truth.moving_landmarks, axis=1).mean() for m in maps]
    table.add_row("mean Dice of labels", *(f"{value:.3f}" for value in dice))
    table.add_row("mean landmark error", *(f"{value:.2f} mm" for value in errors))
    Console().print(table)
