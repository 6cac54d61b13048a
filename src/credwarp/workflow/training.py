"""A network trained: images brought to its voxels once, then epochs, now or after any interruption."""

import functools
import logging
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from credwarp.affine import align
from credwarp.errors import InputError
from credwarp.files import TrainingFolder, digest, read, refuse_unwritable
from credwarp.networks import Network, Recipe, spot, toned, train
from credwarp.networks.examples import generator
from credwarp.phantom import head_grid, subject
from credwarp.register import Progress, Watch, unwatched
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
    def atlas(self) -> None:
        """Any two heads are a pair."""

    def grid(self, multiple: int) -> Grid:
        """Where the network sees them."""
        return padded(self._own, multiple)

    def origin(self, number: int) -> dict[str, Any]:
        """What decides one of them."""
        return {"head": FIRST_SUBJECT * (1 + self.seed) + number, "size": self.size}

    def volume(self, number: int, grid: Grid) -> Volume:
        """One of them on the network's grid."""
        head = subject(self.origin(number)["head"], self._own.shape).scan.image
        return resample(head, grid)

    @property
    def _own(self) -> Grid:
        return head_grid((self.size,) * 3)


@dataclass(frozen=True)
class Files:
    """Image files, the first of which is the reference where there is no atlas."""

    paths: tuple[Path, ...]
    atlas: Path | None = None
    initial: Literal["header", "rigid", "affine"] = "affine"
    spacing: float | None = None

    def __len__(self) -> int:
        return len(self.paths)

    def grid(self, multiple: int) -> Grid:
        """Where the network sees them: about the reference."""
        return padded(working_grid(self._reference.grid, self.spacing), multiple)

    def origin(self, number: int) -> dict[str, Any]:
        """What decides one of them."""
        return {
            "image": digest(self.paths[number]), "reference": self._reference_digest, "initial": self.initial,
        }  # fmt: skip

    def volume(self, number: int, grid: Grid) -> Volume:
        """One of them on the network's grid, pre-aligned with the reference."""
        return self.moved(self.paths[number], grid)

    def moved(self, path: Path, grid: Grid) -> Volume:
        """Any image, in the same way."""
        image = read(path)
        refuse_unusable(Scan(image), "training")
        through = Affine.identity()
        if path != (self.atlas or self.paths[0]) and self.initial != "header":
            through = align(self._reference, image, kind=self.initial).affine
        return resample(image, grid, through, outside=float(image.data.min()))

    @functools.cached_property
    def _reference_digest(self) -> str:
        return digest(self.atlas or self.paths[0])

    @functools.cached_property
    def _reference(self) -> Volume:
        reference = read(self.atlas or self.paths[0])
        refuse_unusable(Scan(reference), "reference")
        return reference


def begin_training(source: Population | Files, recipe: Recipe, model: Path) -> None:
    """From here on `complete_training` can do the rest; the images are not needed any more.

    Where it was stopped before, images that were brought to the network's voxels then are taken as they are.
    """
    folder = TrainingFolder(model)
    _refuse_used(folder)
    refuse_unwritable(model)
    grid = source.grid(recipe.architecture.multiple)
    folder.make()
    with alone(folder.path):
        for number in range(len(source)):
            _add(source, number, grid, folder)
        atlas = None if source.atlas is None else toned(source.moved(source.atlas, grid).data)
        first = folder.image(0) if atlas is None else atlas
        weights = recipe.architecture.init(generator(recipe.seed))
        mode = "pairwise" if atlas is None else "atlas"
        facts = {"recipe": recipe.to_dict(), "images": len(source), "mode": mode}
        focus = spot(Volume(grid, first, "first image"))
        folder.begin(Network(recipe.architecture, grid, focus, weights, atlas, facts))


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


def _add(source: Population | Files, number: int, grid: Grid, folder: TrainingFolder) -> None:
    """One image on the network's voxels, unless it is there."""
    origin = source.origin(number) | {"shape": list(grid.shape), "affine": grid.affine.tolist()}
    if not folder.has(number, origin):
        folder.add(number, toned(source.volume(number, grid).data), origin)
    log.info("image %d of %d is on the network's voxels.", number + 1, len(source))


def _refuse_used(folder: TrainingFolder) -> None:
    if folder.has_begun or folder.model.exists():
        there = folder.path if folder.has_begun else folder.model
        raise InputError(
            f"{there} is there already; go on with `credwarp train -o {folder.model} --resume`, "
            "or name another model."
        )
