"""Stages of a registration, each kept when it is done: a run that was stopped goes on where it was."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias, runtime_checkable

import torch
from torch import Tensor

from credwarp.register.draws import Drawn, Held

Series: TypeAlias = Mapping[str, Tensor]
VELOCITY = "velocity"


@dataclass(frozen=True, eq=False)
class Kept:
    """What a stage found, as tensors by name, and what there is to say of it, as JSON has it."""

    tensors: Mapping[str, Tensor]
    facts: Mapping[str, Any]


@runtime_checkable
class Keeper(Protocol):
    """Where a run keeps what it finds."""

    def load(self, stage: str) -> Kept | None:
        """What the stage saved last; nothing if it never did."""

    def save(self, stage: str, kept: Kept) -> None:
        """Keep this instead of what the stage saved before, all or nothing."""

    def append(self, first: int, draws: int, series: Series) -> None:
        """Keep draws `first` and following of `draws` in all, chains × some × …, whatever stood there."""

    def series(self) -> Series:
        """Everything appended but the velocities, chains × draws × …."""

    def draws(self) -> Drawn:
        """The velocities."""


@dataclass(eq=False)
class Memory:
    """A keeper that keeps nothing beyond its own life."""

    stages: dict[str, Kept] = field(default_factory=dict)
    blocks: dict[int, Series] = field(default_factory=dict)

    def load(self, stage: str) -> Kept | None:
        """What the stage saved last."""
        return self.stages.get(stage)

    def save(self, stage: str, kept: Kept) -> None:
        """Keep this instead."""
        self.stages[stage] = Kept({n: t.detach().clone() for n, t in kept.tensors.items()}, dict(kept.facts))

    def append(self, first: int, draws: int, series: Series) -> None:
        """Keep draws."""
        self.blocks[first] = dict(series)

    def series(self) -> Series:
        """All draws kept."""
        ordered = [self.blocks[first] for first in sorted(self.blocks)]
        names = [name for name in ordered[0] if name != VELOCITY] if ordered else []
        return {name: torch.cat([block[name] for block in ordered], dim=1) for name in names}

    def draws(self) -> Drawn:
        """The velocities."""
        return Held(torch.cat([self.blocks[first][VELOCITY] for first in sorted(self.blocks)], dim=1))


@dataclass(frozen=True)
class Progress:
    """How far a stage is, with figures worth showing."""

    stage: str
    done: int
    total: int
    figures: Mapping[str, float] = field(default_factory=dict)


Watch: TypeAlias = Callable[[Progress], None]


def unwatched(progress: Progress) -> None:
    """Nobody looks."""
