"""The probabilistic VoxelMorph that the paper compares itself with, trained for one fixed image as there."""

import json
import time
from dataclasses import dataclass
from pathlib import Path

from credwarp.files import TrainingFolder, write_text
from credwarp.networks import Recipe
from credwarp.register import Progress
from credwarp.workflow import Files, begin_training, complete_training
from experiments.paper2021.cells import Scale
from experiments.paper2021.subjects import Source

# The similarity of the paper's comparison; its strength 10 and its first variance 0.01 are the recipe's own.
PAPERS = ("objective.similarity.kind=ssd",)


@dataclass(frozen=True)
class Trained:
    """A network's file, and how long its training took where it was trained here."""

    model: Path
    seconds: float | None = None


def trained(source: Source, scale: Scale, folder: Path) -> Trained:
    """Trained before, or now, or gone on with; images of pairs are left out but for the atlas."""
    model = folder / f"{source.name}.safetensors"
    place = TrainingFolder(model)
    clock = _Clock.of(folder / f"{source.name}.json")
    if not place.has_begun:
        folder.mkdir(parents=True, exist_ok=True)
        images, atlas = source.population()
        recipe = Recipe().with_settings([*PAPERS, *scale.network])
        begin_training(Files(images, atlas, "header", scale.spacing), recipe, model)
    complete_training(model, watch=clock.tick)
    return Trained(model, clock.spent)


@dataclass
class _Clock:
    """Seconds of all sessions, kept in a file: those of one begin at its first step."""

    path: Path
    spent: float
    last: float | None = None

    @classmethod
    def of(cls, path: Path) -> "_Clock":
        """With what earlier sessions spent."""
        return cls(path, float(json.loads(path.read_text())["seconds"]) if path.exists() else 0.0)

    def tick(self, progress: Progress) -> None:
        """A step was made."""
        now = time.perf_counter()
        self.spent += 0.0 if self.last is None else now - self.last
        write_text(self.path, json.dumps({"seconds": self.spent}))
        self.last = now
