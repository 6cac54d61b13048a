"""Training: a network that predicts what registration finds."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from credwarp.cli.examine import Settings
from credwarp.cli.registering import Threads

if TYPE_CHECKING:
    from credwarp.networks import Recipe
    from credwarp.workflow import Files, Population


class Start(StrEnum):
    """How training images come to overlap."""

    header = "header"
    rigid = "rigid"
    affine = "affine"


def train(
    images: Annotated[list[Path] | None, typer.Argument(help="Images of the population.")] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="The model's file.")] = Path(
        "model.safetensors"
    ),
    atlas: Annotated[Path | None, typer.Option(help="The one fixed image; without, any pair.")] = None,
    population: Annotated[int | None, typer.Option(min=3, help="Generated heads instead of images.")] = None,
    size: Annotated[int, typer.Option(min=16, max=192, help="Voxels a side of generated heads.")] = 64,
    init: Annotated[Start, typer.Option(help="How images are aligned before.")] = Start.affine,
    spacing: Annotated[float | None, typer.Option(help="Millimetres from voxel to voxel.")] = None,
    epochs: Annotated[int | None, typer.Option(min=1, help="Epochs at most.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Another one, another network.")] = None,
    settings: Settings = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a training that was stopped.")] = False,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    threads: Threads = None,
) -> None:
    """Train a network on images of one kind, for register --method amortised and register --start.

    Example: credwarp train subjects/*.nii.gz -o brains.safetensors
    """
    from credwarp.cli.arguments import device_from, new_file, use_machine
    from credwarp.cli.console import following
    from credwarp.errors import Interrupted, PlanError
    from credwarp.files import TrainingFolder
    from credwarp.files.networks import ENDING
    from credwarp.workflow import begin_training, complete_training, logging_to

    use_machine(device, threads)
    new_file(output, (ENDING,))
    if resume and (images or population is not None or settings or seed is not None):
        raise PlanError("--resume goes on as the training was begun; give nothing but -o and --epochs to it.")
    if not resume:
        given = {"epochs": epochs, "seed": seed}
        recipe = _recipe([*(settings or ()), *(f"{k}={v}" for k, v in given.items() if v is not None)])
        source = _source(images or [], population, recipe.seed, size, atlas, init, spacing)
        begin_training(source, recipe, output)
    with logging_to(TrainingFolder(output).log), following() as watch:
        try:
            network = complete_training(output, epochs, device_from(device), watch)
        except KeyboardInterrupt:
            raise Interrupted(f"interrupted; go on with `credwarp train -o {output} --resume`.") from None
    facts = network.facts
    typer.echo(f"{output}: epoch {facts['epoch']} did best, held-out loss {facts['held_out_loss']:.4f}.")


def _recipe(settings: list[str]) -> "Recipe":
    from credwarp.networks import Recipe

    return Recipe().with_settings(settings)


def _source(
    images: list[Path],
    population: int | None,
    seed: int,
    size: int,
    atlas: Path | None,
    init: Start,
    spacing: float | None,
) -> "Files | Population":
    from credwarp.errors import PlanError
    from credwarp.workflow import Files, Population

    if bool(images) == (population is not None):
        raise PlanError("a training needs images, or --population N for generated heads, and not both.")
    if population is not None:
        return Population(population, size, seed)
    return Files(tuple(images), atlas, init.value, spacing)
