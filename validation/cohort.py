"""The real pairs, where they are: skull-stripped brains with manual labels, a lung with landmarks."""

import csv
import os
from pathlib import Path

import numpy as np
import pytest

from credwarp.files import read, read_labels
from credwarp.space import Affine, Pair, Scan, prepare

DATA = Path(os.environ.get("CREDWARP_DATA", Path(__file__).parents[2] / "shared" / "data"))
# What the paper scores: the 15 subcortical structures of FreeSurfer's list.
STRUCTURES = (10, 11, 12, 13, 16, 17, 18, 26, 49, 50, 51, 52, 53, 54, 58)
needs_data = pytest.mark.skipif(
    not DATA.is_dir(), reason=f"the real pairs are not at {DATA}; set CREDWARP_DATA to where they are."
)


def brain(number: str) -> Scan:
    """A subject and its labels."""
    folder = DATA / "cohort"
    return Scan(read(folder / f"sub{number}.nii.gz"), None, read_labels(folder / f"sub{number}_seg.nii.gz"))


def brains(fixed: str, moving: str, spacing: float | None = None) -> Pair:
    """Two subjects, affinely aligned already, at their own resolution or a coarser one."""
    return prepare(brain(fixed), brain(moving), Affine.identity(), spacing)


def lung() -> tuple[Pair, np.ndarray, np.ndarray]:
    """Baseline and follow-up of one patient, with ten landmarks on either side (RAS+ mm)."""
    folder = DATA / "lung_elastix"
    sides = []
    for side in ("fixed", "moving"):
        mask = read_labels(folder / f"{side}_mask.nii.gz")
        sides.append(Scan(read(folder / f"{side}.nii.gz"), mask, None))
    with (folder / "landmarks.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    places = [np.array([[float(r[f"{s}_{a}"]) for a in "xyz"] for r in rows]) for s in ("fixed", "moving")]
    return prepare(*sides, Affine.identity(), None), places[0], places[1]
