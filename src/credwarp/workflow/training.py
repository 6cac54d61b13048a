"""A network trained: images brought to its voxels once, then epochs, now or after any interruption."""

import logging
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from credwarp.affine import align
from credwarp.errors import InputError
from credwarp.files import TrainingFolder, read, refuse_unwritable
from credwarp.networks import Network, Recipe, spot, toned, train
from credwarp.networks.examples import generator
from credwarp.phantom import head_grid, subject
from credwarp.register import Progress, Watch, unwatched
from credwarp.shapes import Image
from credwarp.space import Affine, Grid, Scan, Volume, refuse_unusable, resample, working_grid
from credwarp.workflow.lock import alone

log = logging.getLogger("credwarp")
MOST_UNEQUAL = 1.3
# Synthetic subjects are none that `credwarp demo` shows.
FIRST_SUBJECT = 1_000_000


@dataclass(frozen=True)
class Population:
    """Generated heads, `size` voxels a side."""

    count: int
    size: int
    seed: int

    def __len__(self) -> int:
        return self.count

    @property
    def grid(self) -> Grid:
        """The voxels they lie on."""
        return head_grid((self.size,) * 3)

    def volumes(self) -> Iterator[Volume]:
        """One after the other."""
        first = FIRST_SUBJECT * (1 + self.seed)
        return (subject(first + n, self.grid.shape).scan.image for n in range(self.count))


@dataclass(frozen=True)
class Files:
    """Image files, the first of which is the reference where there is no atlas."""

    paths: tuple[Path, ...]
    atlas: Path | None = None
    initial: Literal["header", "rigid", "affine"] = "affine"
    spacing: float | None = None

    def __len__(self) -> int:
        return len(self.paths)

    @property
    def reference(self) -> Path:
        """Onto which all others are pre-aligned."""
        return self.paths[0] if self.atlas is None else self.atlas

    def volume(self, path: Path, reference: Volume, grid: Grid) -> Volume:
        """An image on the network's grid."""
        image = read(path)
        refuse_unusable(Scan(image), "training")
        through = Affine.identity()
        if path != self.reference and self.initial != "header":
            through = align(reference, image, kind=self.initial).affine
        return resample(image, grid, through, outside=float(image.data.min()))


def begin_training(source: Population | Files, recipe: Recipe, model: Path) -> None:
    """From here on `complete_training` can do the rest; the images are not needed any more."""
    folder = TrainingFolder(model)
    _refuse_used(folder)
    refuse_unwritable(model)
    folder.make()
    with alone(folder.path):
        multiple = recipe.architecture.multiple
        if isinstance(source, Population):
            grid = padded(source.grid, multiple)
            first = _begin_with_heads(source, folder, grid)
            atlas = None
        else:
            first, atlas, grid = _begin_with_files(source, folder, multiple)
        weights = recipe.architecture.init(generator(recipe.seed))
        facts = {
            "recipe": recipe.to_dict(),
            "images": len(source),
            "mode": "atlas" if atlas is not None else "pairwise",
        }
        folder.begin(Network(recipe.architecture, grid, spot(first), weights, atlas, facts))


def complete_training(
    model: Path, epochs: int | None = None, device: str = "cpu", watch: Watch = unwatched
) -> Network:
    """Whatever is left to do of a training that was begun; with other `epochs`, that many in all."""
    folder = TrainingFolder(model)
    if not folder.has_begun:
        raise InputError(f"{folder.path} holds no training that could go on; begin one without --resume.")
    recipe = folder.recipe if epochs is None else folder.recipe.model_copy(update={"epochs": epochs})

    def look(done: int, total: int, figures: Mapping[str, float]) -> None:
        watch(Progress("training", done, total, figures))

    with alone(folder.path):
        return train(recipe, folder.initial.to(device), folder, folder, look)


def padded(grid: Grid, multiple: int) -> Grid:
    """Round the same centre, each side the next multiple; voxels near to cubes, as large as they were."""
    lengths = grid.spacing
    if max(lengths) > MOST_UNEQUAL * min(lengths):
        even = math.prod(lengths) ** (1 / 3)
        log.info("voxels of %s mm are too unequal for a network; it sees cubes of %.2f mm.", lengths, even)
        grid = grid.with_spacing(even)
    shape = np.array([-(-n // multiple) * multiple for n in grid.shape])
    affine = grid.affine.copy()
    affine[:3, 3] = grid.to_world((np.array(grid.shape) - shape) / 2)
    return Grid((int(shape[0]), int(shape[1]), int(shape[2])), affine)


def _begin_with_heads(source: Population, folder: TrainingFolder, grid: Grid) -> Volume:
    first: Volume | None = None
    for number, head in enumerate(source.volumes()):
        seen = resample(head, grid)
        first = seen if first is None else first
        folder.add(number, toned(seen.data))
        log.info("head %d of %d is made.", number + 1, len(source))
    if first is None:
        raise InputError("a population of no heads trains nothing; give --population a number.")
    return first


def _begin_with_files(
    source: Files, folder: TrainingFolder, multiple: int
) -> tuple[Volume, Image | None, Grid]:
    reference = read(source.reference)
    refuse_unusable(Scan(reference), "reference")
    grid = padded(working_grid(reference.grid, source.spacing), multiple)
    for number, path in enumerate(source.paths):
        folder.add(number, toned(source.volume(path, reference, grid).data))
        log.info("image %d of %d, %s, is on the network's voxels.", number + 1, len(source), path.name)
    seen = source.volume(source.reference, reference, grid)
    return seen, None if source.atlas is None else toned(seen.data), grid


def _refuse_used(folder: TrainingFolder) -> None:
    if folder.has_begun or folder.model.exists():
        there = folder.path if folder.has_begun else folder.model
        raise InputError(
            f"{there} is there already; go on with `credwarp train -o {folder.model} --resume`, "
            "or name another model."
        )
