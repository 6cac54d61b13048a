"""What is run: experiments as folders, each of cells, a cell being one plan on one pair."""

import hashlib
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from credwarp import Plan

HERE = Path(__file__).parent
# What only counts once there is a law to draw from or to start chains from.
LATER = ("method", "sampler", "metric", "sampling", "quality")


@dataclass(frozen=True)
class Scale:
    """How large an experiment is: the voxels of its pairs, and what changes in the plans."""

    name: str
    spacing: float
    shape: tuple[int, int, int]
    heads: int
    network: tuple[str, ...]
    changes: Mapping[str, list[str]]

    @classmethod
    def read(cls, name: str) -> "Scale":
        """One of `scales.toml`."""
        tree = _tree(HERE / "scales.toml")[name]
        x, y, z = tree.pop("shape")
        network = tuple(tree.pop("network"))
        return cls(name, tree.pop("spacing"), (x, y, z), tree.pop("heads"), network, tree)

    def also(self, settings: Iterable[str]) -> "Scale":
        """With more that every plan needs."""
        return replace(self, changes={**self.changes, "every": [*self.changes.get("every", []), *settings]})

    def applied(self, plan: Plan) -> Plan:
        """The plan at this scale. The paper's λ counts voxels; the default prior's counts millimetres."""
        kinds = ["every", plan.method if plan.needs_network else plan.variational.kind]
        if plan.method == "mcmc":
            kinds.append(plan.sampler.kind)
        settings = [setting for kind in kinds for setting in self.changes.get(kind, [])]
        if plan.prior.kind != "sobolev":
            settings.append(f"prior.unit={self.spacing}")
        return plan.with_settings(settings)


@dataclass(frozen=True)
class Cell:
    """One plan on one pair; `name` is what tables and claims call it."""

    experiment: str
    name: str
    title: str
    pair: str
    plan: Plan

    @property
    def folder(self) -> str:
        """The same for cells that are the same run; begins like those that share its first stages."""
        tree = self.plan.to_dict()
        stem = {section: value for section, value in tree.items() if section not in LATER}
        if self.plan.method != "mcmc":
            tree = stem | {
                "method": self.plan.method,
                "draws": [self.plan.sampling.chains, self.plan.sampling.draws],
            }
        return f"{self.pair}-{_digest(stem)}-{_digest(tree)}"


@dataclass(frozen=True)
class Experiment:
    """A folder: its cells, and the numbers that the paper has for them."""

    folder: Path
    title: str
    shows: str
    cells: tuple[Cell, ...]
    expected: Mapping[str, Any]

    @property
    def name(self) -> str:
        """That of its folder."""
        return self.folder.name

    @property
    def number(self) -> str:
        """What `make paper N=…` calls it."""
        return self.name.split("_")[0]


def experiments(scale: Scale) -> tuple[Experiment, ...]:
    """All that there are, in the paper's order."""
    return tuple(read(path.parent, scale) for path in sorted(HERE.glob("*/cells.toml")))


def read(folder: Path, scale: Scale) -> Experiment:
    """One of them at a scale."""
    tree = _tree(folder / "cells.toml")
    return Experiment(
        folder=folder,
        title=tree["title"],
        shows=tree["shows"],
        cells=tuple(_cells(folder, tree, scale)),
        expected=_tree(folder / "expected.toml"),
    )


def _cells(folder: Path, tree: Mapping[str, Any], scale: Scale) -> Iterator[Cell]:
    paper = Plan.from_toml((folder / "plan.toml").read_text(encoding="utf-8"))
    ours = Plan().with_settings(["prealignment.kind=header"])
    for pair in tree.get("pairs", ["sample"]):
        for cell in tree["cells"]:
            start = ours if cell.get("ours") else paper
            plan = scale.applied(start.with_settings(cell.get("settings", [])))
            yield Cell(folder.name, cell["name"], cell["title"], pair, plan)


def _tree(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"))


def _digest(tree: Mapping[str, Any]) -> str:
    return hashlib.sha256(repr(sorted(tree.items())).encode()).hexdigest()[:8]
