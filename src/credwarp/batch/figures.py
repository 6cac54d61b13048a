"""The figures of a finished pair that a cohort is judged by, from its `qc.json`."""

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from credwarp.batch.recognise import LANDMARKS
from credwarp.report import verdict

COLUMNS = (
    "light", "method", "converged", "rhat_max", "ess_min", "ess_median", "draws", "chains",
    "dice_before", "dice", "dice_worst", "radius95", "radius95_q95", "landmark_radius95", "folds", "flags",
    "gradients", "run_seconds", "peak_memory_mb", "threads",
)  # fmt: skip


def figures(qc: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Of each column; None where the run has no such thing."""
    dice, radius = list(qc.get("dice", {}).values()), qc.get("radius95_mm") or {}
    after = [label["mean"] for label in dice]
    named = ("method", "converged", "rhat_max", "ess_min", "ess_median", "draws", "chains", "gradients")
    return {
        "light": verdict(qc).light,
        **{name: qc.get(name) for name in named},
        "dice_before": float(np.mean([label["before"] for label in dice])) if dice else None,
        "dice": float(np.mean(after)) if dice else None,
        "dice_worst": min(after, default=None),
        "radius95": radius.get("median"),
        "radius95_q95": radius.get("q95"),
        "landmark_radius95": _landmarks(folder / LANDMARKS),
        "folds": qc.get("fold_fraction_max"),
        "flags": [one["kind"] for one in qc.get("warnings", ())],
        "run_seconds": qc.get("seconds"),
        "peak_memory_mb": qc.get("peak_memory_mb"),
        "threads": qc.get("threads"),
    }


def _landmarks(path: Path) -> float | None:
    """The median radius of the landmarks that were carried."""
    if not path.exists():
        return None
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    return float(np.median([float(row["radius95"]) for row in csv.DictReader(lines)]))
