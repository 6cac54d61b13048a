"""Cells brought to their end: each is a run's folder, skipped when it has its measurement."""

import json
import platform
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from credwarp.files import PAIR, FolderKeeper, open_run, read_pair, write_text
from credwarp.register import register
from credwarp.workflow import begin
from experiments.paper2021.cells import Cell
from experiments.paper2021.measuring import measure
from experiments.paper2021.network import Trained
from experiments.paper2021.results import MEASURED
from experiments.paper2021.subjects import Source

# What the paper's chains take over from its variational inference.
SHARED = ("optimum", "approximation")


@dataclass(frozen=True)
class Desk:
    """Where runs are kept, of which source, where a network comes from, who is told what is being done."""

    folder: Path
    source: Source
    network: Callable[[], Trained]
    say: Callable[[str], None]

    def run(self, cell: Cell) -> Path:
        """The folder of the cell's run, brought to its end if it is not there yet."""
        place = self.folder / "runs" / f"{self.source.name}-{cell.folder}"
        if (place / MEASURED).exists():
            return place
        self.say(f"{cell.experiment}: {cell.pair}, {cell.title}")
        sitting = self.source.pairs[cell.pair]()
        network = self.network() if cell.plan.needs_network else None
        if not (place / "plan.toml").exists():
            model = None if network is None else network.model
            begin(replace(sitting.request, network=model), cell.plan, place)
        self._share(place)
        register(read_pair(place / PAIR), cell.plan, FolderKeeper(place))
        found = measure(open_run(place), sitting.true_map(), place)
        facts: dict[str, Any] = {"source": self.source.says, "images": sitting.says, "processor": processor()}
        facts["training_seconds"] = None if network is None else network.seconds
        write_text(place / MEASURED, json.dumps(found | facts) + "\n")
        return place

    def _share(self, place: Path) -> None:
        """Stages that another run of the same pair and plan has, up to the chains, are taken from there."""
        mine = FolderKeeper(place)
        stem = place.name.rsplit("-", 1)[0]
        others = [FolderKeeper(path) for path in sorted(place.parent.glob(f"{stem}-*")) if path != place]
        for stage in SHARED:
            found = [kept for keeper in others if (kept := keeper.load(stage)) is not None]
            if found and mine.load(stage) is None:
                mine.save(stage, found[0])


def processor() -> str:
    """The model of the machine's processor, and how many of them there are."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return f"{len(names)} × {names[0]}" if names else platform.machine()
