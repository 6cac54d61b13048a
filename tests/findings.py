"""Findings in memory: a small run with something to say in every section."""

import numpy as np
import torch

from credwarp.plan import Plan
from credwarp.report import (
    Calibration,
    Findings,
    Interval,
    LabelRow,
    Landmark,
    Maps,
    Residuals,
    Structures,
    Tracked,
)
from credwarp.space import Grid
from pairs import smooth_noise

SHAPE = (22, 26, 20)


def quality(**other) -> dict:
    found = {
        "converged": True, "rhat_max": 1.012, "ess_min": 431.0, "ess_median": 900.0, "draws": 2000,
        "chains": 4, "seconds": 100.0, "device": "cpu", "fold_fraction_max": 0.0, "warnings": [],
        "method": "mcmc", "alpha": 0.13, "strength": 1.0,
        "mixture": {"proportion": [0.4, 0.6], "precision": [0.5, 4.0]},
        "virial": {"value": 1.001, "error": 0.002},
    }  # fmt: skip
    return {**found, **other}


def flagged(*kinds: str, **other) -> dict:
    return quality(warnings=[{"kind": kind, "sentence": f"about {kind}"} for kind in kinds], **other)


def bare(grid: Grid | None = None, **qc) -> Findings:
    """Images and a quality check, nothing else."""
    fixed, before, after = (smooth_noise(SHAPE, 1.5, seed, torch.float32) for seed in range(3))
    mask = torch.zeros(SHAPE, dtype=torch.bool)
    mask[3:-3, 3:-3, 3:-3] = True
    return Findings(grid or Grid.isotropic(SHAPE, 2.0), fixed, before, after, mask, quality(**qc))


def whole(grid: Grid | None = None) -> Findings:
    """Something for every section."""
    found = bare(grid)
    positive = [smooth_noise(SHAPE, 2.0, seed, torch.float32).abs() for seed in range(5, 10)]
    labels = torch.where(positive[0] > 1, 7, 0).to(torch.int32)
    rows = (
        LabelRow(7, "left thing", Interval(1500, 1400, 1600), Interval(0.8, 0.75, 0.85), 0.6),
        LabelRow(9),
    )
    there = found.grid.centre
    landmarks = (
        Landmark("tip", there, np.diag([1.0, 2.0, 0.5]), 2.4, there + 0.5),
        Landmark("root", there + 4, np.eye(3), 2.8, there + 20),
    )
    draws = np.random.default_rng(0).normal(size=(4, 60, 12))
    return Findings(
        **{
            **{name: getattr(found, name) for name in ("grid", "fixed", "before", "after", "mask", "qc")},
            "plan": Plan().to_toml(),
            "provenance": {"fixed": {"sha256": "ab" * 32}, "inputs": [{"path": "one"}, {"path": "two"}]},
            "plausible": tuple(smooth_noise(SHAPE, 1.5, 20 + k, torch.float32) for k in range(3)),
            "maps": Maps(positive[0], positive[1], 1 + 0.2 * positive[2], 0.01 * positive[3]),
            "structures": Structures(rows, labels, positive[4].clamp(max=1)),
            "landmarks": landmarks,
            "tracked": Tracked(
                tuple(f"place {k}" for k in range(12)),
                draws,
                np.linspace(1, 1.02, 12),
                np.linspace(900, 400, 12),
            ),
            "residuals": Residuals(np.linspace(-4, 4, 41), np.arange(40.0)),
            "calibration": Calibration(np.array([0.5, 0.9]), np.array([0.48, 0.88]), 32),
        }
    )
