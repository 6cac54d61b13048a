"""One pair of a cohort: what it is called, its files, its plan, and where its run goes."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from credwarp.plan import Plan
from credwarp.workflow import Request, Subject

PARTS = ("image", "mask", "labels")
SHOWN = 120


@dataclass(frozen=True)
class Row:
    """What a table says of one pair, and where in the table that is."""

    where: str
    cells: Mapping[str, str]


@dataclass(frozen=True)
class Problem:
    """Why a row cannot be used."""

    where: str
    sentence: str

    def __str__(self) -> str:
        return f"{self.where}: {self.sentence}"


@dataclass(frozen=True)
class Case:
    """A pair that was checked. `folder` is inside the cohort's, `memory_mb` what it will take at most."""

    name: str
    folder: str
    fixed: Subject
    moving: Subject
    landmarks: Path | None
    plan: Plan
    memory_mb: float
    chain_mb: float
    network: Path | None = None

    @property
    def request(self) -> Request:
        """The pair as a workflow wants it."""
        return Request(self.fixed, self.moving, network=self.network)

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it, which is how it travels."""
        return {
            "name": self.name,
            "folder": self.folder,
            "fixed": {part: str(path) for part, path in self.fixed.files.items()},
            "moving": {part: str(path) for part, path in self.moving.files.items()},
            "landmarks": None if self.landmarks is None else str(self.landmarks),
            "plan": self.plan.to_dict(),
            "memory_mb": self.memory_mb,
            "chain_mb": self.chain_mb,
            "network": None if self.network is None else str(self.network),
        }

    @classmethod
    def from_dict(cls, tree: Mapping[str, Any]) -> "Case":
        """The case that `to_dict` was given."""
        sides = {
            side: Subject(**{part: Path(path) for part, path in tree[side].items()})
            for side in ("fixed", "moving")
        }
        others = {name: None if tree[name] is None else Path(tree[name]) for name in ("landmarks", "network")}
        return cls(**{**tree, **sides, **others, "plan": Plan.from_dict(tree["plan"])})


def plain(text: str) -> str:
    """On one line, without anything that steers a terminal."""
    return "".join(c if c.isprintable() else "?" for c in " ".join(text.split()))


def shown(text: str) -> str:
    """Text from a table as it may be printed, of bearable length."""
    clean = plain(text)
    return clean if len(clean) <= SHOWN else f"{clean[: SHOWN - 1]}…"
