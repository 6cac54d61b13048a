"""Which images: three pairs, of the built-in heads or of a folder of real ones, written as files once."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from credwarp import Affine, Grid, Scan, Warp
from credwarp.errors import InputError
from credwarp.files import read_itk, read_labels, write_itk, write_volume
from credwarp.phantom import pair, subject
from credwarp.space import Mapping
from credwarp.summaries import mean_dice
from credwarp.workflow import Request, Subject
from experiments.paper2021.cells import Scale

STILL = Affine.identity()
SIDES = ("fixed", "moving")
# Heads that networks are trained on are far from those of pairs.
FIRST_HEAD = 2_000_000


@dataclass(frozen=True)
class Sitting:
    """A pair as files; `truth` is a file too, where the true map is known."""

    request: Request
    says: str
    truth: Path | None = None

    def true_map(self) -> Mapping | None:
        """Points of fixed to points of moving."""
        return None if self.truth is None else read_itk(self.truth)


@dataclass(frozen=True)
class Source:
    """Where pairs come from: what it is called, its pairs by name, and settings that its files need.

    `population` has images to train a network on, none of a pair's, and the sample pair's fixed image.
    """

    name: str
    says: str
    pairs: dict[str, Callable[[], Sitting]]
    population: Callable[[], tuple[tuple[Path, ...], Path]]
    settings: tuple[str, ...] = ()


def demo(scale: Scale, folder: Path) -> Source:
    """Two generated heads and their own images after known flows, and a third head much like the second."""
    says = "the built-in population of generated heads, whose true maps are known"
    return Source(
        "demo",
        says,
        {
            "sample": lambda: _own(scale, folder, 0, "sample"),
            "unlike": lambda: _own(scale, folder, 1, "unlike"),
            "alike": lambda: _other(scale, folder, 1, 2, "alike"),
        },
        lambda: (_heads(scale, folder / "population"), _own(scale, folder, 0, "sample").request.fixed.image),
    )


def cohort(scale: Scale, data: Path) -> Source:
    """`data`/cohort: sub01 ← sub03, and sub01 with the least and the most alike of the others."""
    folder = data / "cohort"
    if not (folder / "sub01_seg.nii.gz").exists():
        raise InputError(
            f"{folder} holds no sub01.nii.gz with sub01_seg.nii.gz; give DATA=… as the README says."
        )
    others = sorted(p.name.removesuffix("_seg.nii.gz") for p in folder.glob("sub*_seg.nii.gz"))[1:]

    def ranked(place: int) -> Sitting:
        likeness = {name: _likeness(folder, name) for name in others}
        return _real(folder, sorted(others, key=lambda name: likeness[name])[place])

    return Source(
        "cohort",
        "16 healthy subjects of Mindboggle-101 (OASIS-TRT), manual labels",
        {"sample": lambda: _real(folder, "sub03"), "unlike": lambda: ranked(0), "alike": lambda: ranked(-1)},
        lambda: (
            tuple(folder / f"{name}.nii.gz" for name in others if name != "sub03"),
            folder / "sub01.nii.gz",
        ),
        (f"preparation.spacing={scale.spacing}",),
    )


def _own(scale: Scale, folder: Path, seed: int, name: str) -> Sitting:
    """The built-in pair of a seed."""

    def made() -> tuple[Scan, Scan, Warp]:
        heads = pair(scale.shape, seed, scale.spacing)
        return heads.fixed, heads.moving, heads.truth.warp

    return _written(folder / name, made, f"generated pair {seed}")


def _other(scale: Scale, folder: Path, seed: int, moving: int, name: str) -> Sitting:
    """Two members of the population; the way from one to the other leads through their common anatomy."""

    def made() -> tuple[Scan, Scan, Warp]:
        one, other = (subject(number, scale.shape, scale.spacing) for number in (seed, moving))
        grid = one.scan.image.grid
        points = grid.points()
        there = other.deformation.inverse(one.deformation.forward(points.reshape(-1, 3))).reshape(
            points.shape
        )
        return one.scan, other.scan, _warp(grid, there - points)

    return _written(folder / name, made, f"generated heads {seed} and {moving}")


def _heads(scale: Scale, folder: Path) -> tuple[Path, ...]:
    """Heads of the population that are in no pair."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = tuple(folder / f"{number:03d}.nii.gz" for number in range(scale.heads))
    for number, path in enumerate(paths):
        if not path.exists():
            write_volume(subject(FIRST_HEAD + number, scale.shape, scale.spacing).scan.image, path)
    return paths


def _warp(grid: Grid, motion: np.ndarray) -> Warp:
    return Warp(grid, torch.from_numpy(np.moveaxis(motion, -1, 0).astype(np.float32)), STILL, STILL)


def _written(folder: Path, made: Callable[[], tuple[Scan, Scan, Warp]], says: str) -> Sitting:
    """Made once: the truth is written last, so a folder that has it is whole."""
    truth = folder / "truth.h5"
    if not truth.exists():
        folder.mkdir(parents=True, exist_ok=True)
        fixed, moving, warp = made()
        for side, scan in (("fixed", fixed), ("moving", moving)):
            assert scan.labels is not None
            write_volume(scan.image, folder / f"{side}.nii.gz")
            write_volume(scan.labels, folder / f"{side}_labels.nii.gz")
        write_itk(warp, truth)
    sides = [Subject(folder / f"{side}.nii.gz", labels=folder / f"{side}_labels.nii.gz") for side in SIDES]
    return Sitting(Request(*sides), says, truth)


def _real(folder: Path, moving: str) -> Sitting:
    return Sitting(Request(_subject(folder, "sub01"), _subject(folder, moving)), f"sub01 ← {moving}")


def _subject(folder: Path, name: str) -> Subject:
    return Subject(folder / f"{name}.nii.gz", labels=folder / f"{name}_seg.nii.gz")


def _likeness(folder: Path, moving: str) -> float:
    """The mean Dice of the labels as they come."""
    one, other = (read_labels(folder / f"{name}_seg.nii.gz") for name in ("sub01", moving))
    return mean_dice(one.data, other.data)
