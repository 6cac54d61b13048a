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

    def grid(self, side: str) -> Grid:
        """The grid of the `fixed` or the `moving` image."""
        try:
            facts = json.loads((self.path / "provenance.json").read_text(encoding="utf-8"))[side]
            x, y, z = facts["shape"]
            return Grid((x, y, z), np.array(facts["affine"], dtype=np.float64))
        except (OSError, ValueError, KeyError, TypeError):
            raise InputError(
                f"{self.path / 'provenance.json'} does not tell the grid of the {side} image; "
                "run again, or name a grid."
            ) from None


def provenance_of(path: Path, grid: Grid | None = None) -> dict[str, Any]:
    """What identifies an input, and where its voxels are if it has some."""
    found = {"path": str(path), "sha256": digest(path)}
    if grid is None:
        return found
    return {**found, "shape": grid.shape, "affine": grid.affine.tolist()}


def digest(path: Path) -> str:
    """The SHA-256 of a file, or of all files of a folder in the order of their names."""
    found = hashlib.sha256()
    for file in [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file()):
        found.update(file.read_bytes())
    return found.hexdigest()
