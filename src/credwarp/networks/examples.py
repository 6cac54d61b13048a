"""Which images a network sees at which step: read one ahead, varied by numbers that only the step decides."""

import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import torch

from credwarp.errors import InputError
from credwarp.networks.augment import Augmentation
from credwarp.shapes import Channels, Image
from credwarp.transforms import Svf

MOST_HELD_PAIRS = 12
SPLIT, ORDER, PARTNER, VARIATION, NOISE = range(5)


@runtime_checkable
class Library(Protocol):
    """Images on a network's grid, tones from 0 to 1, wherever they are."""

    def __len__(self) -> int: ...

    def image(self, number: int) -> Image:
        """One of them."""


@dataclass(frozen=True, eq=False)
class Examples:
    """Pairs to be trained on, by position in an endless stream, and pairs that are held out.

    Each image is the moving one once before any is again; the fixed one is the atlas, or another image.
    """

    library: Library
    atlas: Image | None
    seed: int
    training: tuple[int, ...]
    held_out: tuple[int, ...]

    @classmethod
    def of(cls, library: Library, atlas: Image | None, seed: int, share: float) -> "Examples":
        """With a random share of the images held out, one at least."""
        least = 2 if atlas is not None else 3
        if len(library) < least:
            raise InputError(f"{len(library)} images are too few to train on; give at least {least}.")
        order = torch.randperm(len(library), generator=generator(seed, SPLIT)).tolist()
        count = min(max(1, math.ceil(share * len(library))), len(library) - (least - 1))
        return cls(library, atlas, seed, tuple(order[count:]), tuple(order[:count]))

    def stream(self, first: int, last: int, augmentation: Augmentation, transform: Svf) -> Iterator[Channels]:
        """The pairs at positions `first` to `last`, varied; the next one is read meanwhile."""
        with ThreadPoolExecutor(1) as reader:
            coming = reader.submit(self._pair, first)
            for position in range(first, last):
                pair = coming.result()
                if position + 1 < last:
                    coming = reader.submit(self._pair, position + 1)
                chance = generator(self.seed, VARIATION, position)
                yield augmentation.vary(pair, transform, self.atlas is None, chance)

    def held_pairs(self) -> Iterator[Channels]:
        """Pairs that training never sees, as they are."""
        for number, moving in enumerate(self.held_out[:MOST_HELD_PAIRS]):
            others = [n for n in self.held_out if n != moving] or list(self.training)
            yield torch.stack(self._read(moving, others[number % len(others)]))

    def _pair(self, position: int) -> tuple[Image, Image]:
        lap, place = divmod(position, len(self.training))
        order = torch.randperm(len(self.training), generator=generator(self.seed, ORDER, lap))
        moving = self.training[int(order[place])]
        others = [n for n in self.training if n != moving] or [moving]
        chosen = torch.randint(len(others), (), generator=generator(self.seed, PARTNER, position))
        return self._read(moving, others[int(chosen)])

    def _read(self, moving: int, fixed: int) -> tuple[Image, Image]:
        still = self.atlas if self.atlas is not None else self.library.image(fixed)
        return still, self.library.image(moving)


def generator(*seeds: int) -> torch.Generator:
    """Random numbers that depend on nothing but these."""
    return torch.Generator().manual_seed(int(np.random.SeedSequence(seeds).generate_state(1)[0]))
