"""The folder of a run: which file is where, and where its inputs came from."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from credwarp.errors import InputError
from credwarp.files.atomic import write_text
from credwarp.space import Grid

TO_FIXED = "from-moving_to-fixed_mode-image_xfm.h5"
TO_MOVING = "from-fixed_to-moving_mode-image_xfm.h5"
DRAWS = "draws.zarr"
UNLISTED = ("provenance.json", "log.jsonl", "state/lock")


@dataclass(frozen=True)
class RunFolder:
    """Names in a run's folder."""

    path: Path

    @classmethod
    def create(cls, path: Path) -> "RunFolder":
        """Make the folder and those inside it; a file in the way is named."""
        run = cls(path)
        for folder in (path, run.transforms, run.maps, run.labels):
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise InputError(
                    f"{folder} cannot be made a folder ({error.strerror}); choose another place for the run."
                ) from None
        return run

    @property
    def transforms(self) -> Path:
        """Where transforms are."""
        return self.path / "transforms"

    @property
    def maps(self) -> Path:
        """Where images are."""
        return self.path / "maps"

    @property
    def labels(self) -> Path:
        """Where labels, their probabilities and their table are."""
        return self.path / "labels"

    @property
    def screen(self) -> Path:
        """The report's first screen, for notebooks."""
        return self.path / "state" / "screen.html"

    def map(self, name: str) -> Path:
        """One of the maps, such as `radius95`."""
        return self.maps / f"{name}.nii.gz"

    @property
    def to_fixed(self) -> Path:
        """Points of fixed → moving: what resampling the moving image onto the fixed grid needs."""
        return self.transforms / TO_FIXED

    @property
    def to_moving(self) -> Path:
        """Points of moving → fixed."""
        return self.transforms / TO_MOVING

    def write_provenance(self, facts: dict[str, Any]) -> None:
        """Where everything came from."""
        write_text(self.path / "provenance.json", json.dumps(facts, indent=2) + "\n")

    def provenance(self) -> dict[str, Any]:
        """What `write_provenance` was given."""
        return self._facts("provenance.json")

    def quality(self) -> dict[str, Any]:
        """What `qc.json` says."""
        return self._facts("qc.json")

    def _facts(self, name: str) -> dict[str, Any]:
        try:
            found: dict[str, Any] = json.loads((self.path / name).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            raise InputError(
                f"{self.path} holds no finished run: {name} cannot be read; name a run's folder, "
                f"or finish it with `credwarp resume {self.path}`."
            ) from None
        return found

    def grid(self, side: str) -> Grid:
        """The grid of the `fixed` or the `moving` image."""
        facts = self.provenance()
        try:
            x, y, z = facts[side]["shape"]
            return Grid((x, y, z), np.array(facts[side]["affine"], dtype=np.float64))
        except (ValueError, KeyError, TypeError):
            raise InputError(
                f"{self.path / 'provenance.json'} does not tell the grid of the {side} image; "
                "run again, or name a grid."
            ) from None


def provenance_of(path: Path, grid: Grid | None = None) -> dict[str, Any]:
    """What identifies an input, and where its voxels are if it has some."""
    found = {"path": str(path.absolute()), "sha256": digest(path)}
    if grid is None:
        return found
    return {**found, "shape": grid.shape, "affine": grid.affine.tolist()}


def digests(folder: Path) -> dict[str, str]:
    """The SHA-256 of all that a finished run holds, but for its log, locks and the file that lists them."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and name not in UNLISTED and not name.startswith(f"{DRAWS}/"):
            found[name] = digest(path)
    if (folder / DRAWS).is_dir():
        found[DRAWS] = digest(folder / DRAWS)
    return found


def digest(path: Path) -> str:
    """The SHA-256 of a file, or of all files of a folder in the order of their names."""
    found = hashlib.sha256()
    for file in [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file()):
        found.update(file.read_bytes())
    return found.hexdigest()
