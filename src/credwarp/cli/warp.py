"""Transforms: found, applied, and written for other tools."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from credwarp.cli.console import working


class Kind(StrEnum):
    """How freely the pre-alignment may move."""

    rigid = "rigid"
    affine = "affine"


class Side(StrEnum):
    """One of the two images."""

    fixed = "fixed"
    moving = "moving"


class Interpolation(StrEnum):
    """What lies between voxels."""

    linear = "linear"
    cubic = "cubic"
    nearest = "nearest"
    label = "label"


class Format(StrEnum):
    """Whose transform file."""

    itk = "itk"
    fsl = "fsl"
    x5 = "x5"


Output = Annotated[Path, typer.Option("--output", "-o", help="The file to write.")]
Source = Annotated[Path, typer.Argument(metavar="RUN|TRANSFORM", help="A run's folder or a transform file.")]
FixedImage = Annotated[Path | None, typer.Option("--fixed", help="The fixed image; FSL's files need it.")]
MovingImage = Annotated[Path | None, typer.Option("--moving", help="The moving image; FSL's files need it.")]


def affine(
    fixed: Annotated[Path, typer.Argument(help="The image that stays.")],
    moving: Annotated[Path, typer.Argument(help="The image to be aligned with it.")],
    output: Output,
    kind: Annotated[Kind, typer.Option(help="Six degrees of freedom or twelve.")] = Kind.affine,
    fixed_mask: Annotated[Path | None, typer.Option(help="Where to look in the fixed image.")] = None,
    moving_mask: Annotated[Path | None, typer.Option(help="Where to look in the moving image.")] = None,
) -> None:
    """Find the rigid or affine map between two images that have never met.

    Example: credwarp affine fixed.nii.gz moving.nii.gz -o affine.tfm
    """
    from credwarp.affine import align
    from credwarp.cli.arguments import new_file
    from credwarp.files import read, read_mask, write_itk
    from credwarp.files.itk_files import HDF5, MATLAB, TEXT
    from credwarp.space import Scan, refuse_unusable

    new_file(output, TEXT + MATLAB + HDF5)
    masks = [None if mask is None else read_mask(mask) for mask in (fixed_mask, moving_mask)]
    still, floating = Scan(read(fixed), masks[0]), Scan(read(moving), masks[1])
    refuse_unusable(still, "fixed")
    refuse_unusable(floating, "moving")
    with working("aligning the images …"):
        found = align(still.image, floating.image, still.mask, floating.mask, kind.value)
    write_itk(found.affine, output)
    typer.echo(f"{output}: mutual information {found.information:.4f} nats, from the start {found.start!r}.")


def apply(
    source: Source,
    image: Annotated[Path, typer.Argument(help="The image, labels or mask to resample.")],
    output: Output,
    to: Annotated[Side, typer.Option(help="A run's other side: where the image shall lie.")] = Side.fixed,
    grid: Annotated[Path | None, typer.Option(help="An image on whose voxels the result shall lie.")] = None,
    interpolation: Annotated[Interpolation, typer.Option(help="Labels want `label`.")] = Interpolation.linear,
    posterior: Annotated[
        int | None, typer.Option(min=1, help="As so many draws of a run have it: OUT_1, OUT_2 and so on.")
    ] = None,
    fixed: FixedImage = None,
    moving: MovingImage = None,
) -> None:
    """Resample an image through a transform: a run's mean, some of its draws, or a file's.

    A transform file takes points of the result to points of IMAGE, as ITK's do.

    Example: credwarp apply run moving.nii.gz -o warped.nii.gz
    """
    from credwarp import propagate
    from credwarp.cli.arguments import grid_from, new_file, target_grid, transform_from
    from credwarp.files import open_run, read, read_labels, write_volume
    from credwarp.files.write import FORMATS

    new_file(output, FORMATS)
    volume = read_labels(image) if interpolation is Interpolation.label else read(image)
    if posterior is not None:
        run = open_run(source)
        target = target_grid(source, to.value, grid_from(grid), None)
        drawn = propagate.samples(run, volume, target, posterior, interpolation.value, to.value)
        with working(f"resampling by {posterior} draws …"):
            for path, moved in zip(_numbered(output, posterior), drawn, strict=True):
                write_volume(moved, path, like=grid)
                typer.echo(f"{path}")
        return
    transform = transform_from(source, to.value, grid_from(fixed), grid_from(moving))
    target = target_grid(source, to.value, grid_from(grid), transform)
    with working("resampling …"):
        moved = propagate.apply(volume, target, transform, interpolation.value)
    write_volume(moved, output, like=grid)
    typer.echo(f"{output}")


def _numbered(path: Path, count: int) -> list[Path]:
    """OUT_01.nii.gz and so on."""
    from credwarp.files.images import extension

    end = extension(path)
    stem, digits = path.name[: len(path.name) - len(end)], len(str(count))
    return [path.with_name(f"{stem}_{number:0{digits}}{end}") for number in range(1, count + 1)]


def export(
    source: Source,
    form: Annotated[Format, typer.Option("--format", help="ITK (ANTs, Slicer), FSL or X5 (nitransforms).")],
    output: Output,
    to: Annotated[Side, typer.Option(help="A run's map that resamples onto this side.")] = Side.fixed,
    fixed: FixedImage = None,
    moving: MovingImage = None,
) -> None:
    """Write a transform for another tool.

    Example: credwarp export affine.tfm --format fsl --fixed fixed.nii.gz --moving moving.nii.gz -o affine.mat
    """
    from credwarp.cli.arguments import grid_from, transform_from
    from credwarp.errors import PlanError
    from credwarp.files import RunFolder, write_fsl, write_itk, write_x5
    from credwarp.files.images import extension
    from credwarp.files.itk_files import NIFTI
    from credwarp.space import Warp

    here, there = grid_from(fixed), grid_from(moving)
    transform = transform_from(source, to.value, here, there)
    if source.is_dir():
        run = RunFolder(source)
        here, there = run.grid(to.value), run.grid("moving" if to is Side.fixed else "fixed")
    if form is Format.itk:
        if here is None and extension(output) in NIFTI and not isinstance(transform, Warp):
            raise PlanError(f"{output} is a field, which needs voxels to lie on; give --fixed.")
        write_itk(transform, output, here)
    elif form is Format.x5:
        write_x5(transform, output)
    elif here is None or there is None:
        raise PlanError("FSL's files mean nothing without their images; give --fixed and --moving.")
    else:
        write_fsl(transform, here, there, output)
    typer.echo(f"{output}")
