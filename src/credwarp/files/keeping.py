"""A run's folder as the keeper of its stages and draws."""

from dataclasses import dataclass, replace
from pathlib import Path

from credwarp.errors import InputError
from credwarp.files.draws import DrawStore, Stored
from credwarp.files.pairs import PAIR, read_pair
from credwarp.files.runs import RunFolder
from credwarp.files.state import read_facts, read_state, write_state
from credwarp.plan import Plan
from credwarp.register import Drawn, Kept, Run, Series, reopen


@dataclass(frozen=True)
class FolderKeeper:
    """Stages in `state/`, a file each; draws in `draws.zarr`.

    Draws are written before the stage that counts them, so a crash between the two leaves draws that are
    written again, the same.
    """

    path: Path

    def load(self, stage: str) -> Kept | None:
        """What the stage saved last."""
        path = self._file(stage)
        if not path.exists():
            return None
        tensors, facts = read_state(path)
        return Kept(tensors, facts)

    def save(self, stage: str, kept: Kept) -> None:
        """Instead of what it saved before."""
        write_state(self._file(stage), kept.tensors, kept.facts)

    def append(self, first: int, draws: int, series: Series) -> None:
        """Draws of every chain."""
        self._store.append(first, draws, series)

    def series(self) -> Series:
        """What is tracked of the draws that are counted."""
        return self._store.series(self._done())

    def draws(self) -> Drawn:
        """The velocities that are counted."""
        return Stored(self._store, self._done())

    def _done(self) -> int:
        """Draws of each chain that are there for good."""
        path = self._file("draws")
        return int(read_facts(path)["done"]) if path.exists() else 0

    @property
    def _store(self) -> DrawStore:
        return DrawStore(self.path / "draws.zarr")

    def _file(self, stage: str) -> Path:
        return self.path / "state" / f"{stage}.safetensors"


def open_run(folder: str | Path) -> Run:
    """A run as far as it has got; its inputs are not needed."""
    folder = Path(folder)
    path = folder / "plan.toml"
    try:
        plan = Plan.from_toml(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        raise InputError(f"{folder} holds no run: {path} cannot be read; name a run's folder.") from None
    run = reopen(read_pair(folder / PAIR), plan, FolderKeeper(folder))
    screen = RunFolder(folder).screen
    return replace(run, screen=screen.read_text(encoding="utf-8") if screen.exists() else "")
