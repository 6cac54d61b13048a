"""Trained networks as files, and the folder beside one in which its training is kept."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from credwarp.errors import InputError
from credwarp.files.atomic import write_text
from credwarp.files.scalars import write_scalars
from credwarp.files.state import read_facts, read_state, write_state
from credwarp.networks import Network, Recipe, Record
from credwarp.shapes import Image

ENDING = ".safetensors"
TRAIN = "give a file that `credwarp train` wrote."
ZIP, PICKLE, HEADER = b"PK\x03\x04", b"\x80", b"{"


def write_network(path: Path, network: Network) -> None:
    """Whole or not at all."""
    write_state(path, *network.to_tensors())


def read_network(path: Path) -> Network:
    """A network that `write_network` wrote; anything else is refused, and nothing in it is ever run."""
    refuse_pickle(path)
    tensors, described = read_state(path, f"it is no network, or was damaged: {TRAIN}")
    try:
        return Network.from_tensors(tensors, described)
    except InputError as error:
        raise InputError(f"{path} is no network that can be used: {error}; {TRAIN}") from None


def refuse_pickle(path: Path) -> None:
    """Pickles run code when they are opened, so they never are."""
    try:
        with path.open("rb") as file:
            start = file.read(9)
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}); {TRAIN}") from None
    # The length of a header comes before it, and may begin like a pickle.
    if start[:4] == ZIP or (start[:1] == PICKLE and start[8:] != HEADER):
        raise InputError(
            f"{path} is a pickle, as torch.save writes it, which may run code and is never opened; {TRAIN}"
        )


@dataclass(frozen=True)
class TrainingFolder:
    """What a training keeps beside its `model`: images as the network sees them, checkpoint, losses.

    The beginning is written last of what comes before the first step: without it nothing has begun.
    """

    model: Path

    @property
    def path(self) -> Path:
        """The folder."""
        return self.model.with_name(self.model.name.removesuffix(ENDING) + ".training")

    @property
    def log(self) -> Path:
        """What was said meanwhile."""
        return self.path / "log.jsonl"

    @property
    def has_begun(self) -> bool:
        """Whether there is something to go on with."""
        return self._beginning.exists()

    @cached_property
    def recipe(self) -> Recipe:
        """How the network is trained."""
        return Recipe.from_dict(read_facts(self._beginning)["training"]["recipe"])

    @cached_property
    def initial(self) -> Network:
        """The network before the first step."""
        return read_network(self._beginning)

    def begin(self, initial: Network) -> None:
        """All images are there: training can start."""
        write_network(self._beginning, initial)

    def make(self) -> None:
        """The folder, and those inside it."""
        (self._state / "images").mkdir(parents=True, exist_ok=True)

    def has(self, number: int, origin: Mapping[str, Any]) -> bool:
        """Whether one of the images is there already, and is of that origin."""
        path = self._image(number)
        return path.exists() and read_facts(path) == json.loads(json.dumps(origin))

    def add(self, number: int, image: Image, origin: Mapping[str, Any]) -> None:
        """One of the images on the network's grid, in half precision, and where it came from."""
        write_state(self._image(number), {"image": image.to(torch.float16)}, origin)

    def __len__(self) -> int:
        return int(self.initial.facts["images"])

    def image(self, number: int) -> Image:
        """One of the images."""
        tensors, _ = read_state(self._image(number))
        return tensors["image"].to(torch.float32)

    def load(self) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
        """The last checkpoint."""
        return read_state(self._checkpoint) if self._checkpoint.exists() else None

    def save(self, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
        """A checkpoint instead of the one before, then losses for people."""
        write_state(self._checkpoint, tensors, facts)
        history: list[Record] = facts["history"]
        rows = [",".join(["epoch", *history[0]])]
        rows += [",".join([str(n), *(f"{v:.8g}" for v in row.values())]) for n, row in enumerate(history, 1)]
        write_text(self.path / "losses.csv", "\n".join(rows) + "\n")
        write_scalars(self.path / "events.out.tfevents.0.credwarp", history)

    def publish(self, network: Network) -> None:
        """The network so far."""
        write_network(self.model, network.to("cpu"))

    def _image(self, number: int) -> Path:
        return self._state / "images" / f"{number:06d}{ENDING}"

    @property
    def _state(self) -> Path:
        return self.path / "state"

    @property
    def _beginning(self) -> Path:
        return self._state / f"beginning{ENDING}"

    @property
    def _checkpoint(self) -> Path:
        return self._state / f"checkpoint{ENDING}"
