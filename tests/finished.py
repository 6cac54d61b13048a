"""Experiments with results that are known, as files in folders of their own."""

import json
from pathlib import Path

import numpy as np

from experiments.paper2021.anatomy import NAMES
from experiments.paper2021.cells import Experiment, Scale, experiments
from experiments.paper2021.results import MEASURED, Finished, Result

LABELS = tuple(NAMES)
NOMINAL, COVERAGE = [0.5, 0.9, 0.95], [0.4, 0.8, 0.9]
KNOWN_TRUTH = {"before": 3.0, "after": 1.0, "ratio": 1.5, "nominal": NOMINAL, "coverage": COVERAGE}


def experiment(number: str) -> Experiment:
    return next(e for e in experiments(Scale.read("smoke")) if e.number == number)


def known(**changes) -> dict:
    """A measurement: ten draws, Dice 0.8 ± 0.01 and distances of 1 mm, 0.7 and 2 mm before."""
    draws = np.linspace(-1, 1, 10)[:, None] * np.ones(len(LABELS))
    return {
        "voxels": 1000,
        "spacing": [2.0, 2.0, 2.0],
        "draws": 10,
        "seconds": {"optimum": 1.0, "approximation": 2.0, "draws": 4.0},
        "gradients": {"optimum": 10, "approximation": 20, "draws": 40},
        "mixing": None,
        "strength": 1.2,
        "alpha": 0.5,
        "folds": [0] * 10,
        "sd": {"mean": 1.0, "median": 1.0},
        "motion": 2.0,
        "roughness": 0.1,
        "labels": list(LABELS),
        "dice": (0.8 + 0.01 * draws).tolist(),
        "distance": (1 + 0.1 * draws).tolist(),
        "dice_before": [0.7] * len(LABELS),
        "distance_before": [2.0] * len(LABELS),
        "uncertainty": [1.0] * len(LABELS),
        "correlation": {"r": 0.1, "low": -0.4, "high": 0.6, "count": 15},
        "reliability": {"predicted": [0.2, 0.9], "observed": [0.3, 0.8], "brier": 0.1, "error": 0.1},
        "risk": {"x": [0.5, 1.0], "y": [0.0, 0.1], "mean": 0.05},
        "truth": KNOWN_TRUTH,
        "sparsification": {"x": [0.0, 0.5], "y": [1.0, 0.8], "oracle": [1.0, 0.5], "area": 0.15},
        "source": "a source",
        "images": "a pair",
        "processor": "a processor",
        "training_seconds": None,
    } | changes  # fmt: skip


def mixed(rhat: float, ess: float) -> dict:
    return {"converged": rhat < 1.05, "rhat_max": rhat, "ess_min": ess, "ess_median": 2 * ess}


def finished(number: str, folder: Path, changes: dict[str, dict]) -> Finished:
    """The results of an experiment's cells, which differ from `known` by name, or by name and pair."""
    found = experiment(number)
    results = []
    for cell in found.cells:
        place = folder / cell.folder
        place.mkdir(parents=True, exist_ok=True)
        other = changes.get(f"{cell.name}.{cell.pair}", changes.get(cell.name, {}))
        (place / MEASURED).write_text(json.dumps(known(**other)), encoding="utf-8")
        provenance = {"threads": 2, "credwarp": "0", "packages": {"torch": "0"}}
        (place / "provenance.json").write_text(json.dumps(provenance), encoding="utf-8")
        results.append(Result(cell, place))
    return Finished(found, tuple(results))
