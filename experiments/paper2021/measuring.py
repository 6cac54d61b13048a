"""Everything that tables, curves and claims need of one run, from its draws."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

from credwarp import Affine, Run, Volume, Warp
from credwarp.fields import jacobian_determinant
from credwarp.files import RunFolder, write_volume
from credwarp.propagate import Summary, apply, summarise
from credwarp.shapes import Image, Mask
from credwarp.space import Mapping
from credwarp.summaries import Displacement, Probabilities, displacement_uncertainty, pearson
from credwarp.workflow import diagnosis_of, score
from experiments.paper2021.anatomy import NAMES
from experiments.paper2021.curves import reliability, risk_coverage, sparsification


def measure(run: Run, truth: Mapping | None, folder: Path) -> dict[str, Any]:
    """As JSON has it; what pictures show goes to the run's maps."""
    summary = summarise(run)
    brain = seen(run)
    maps = _maps(run, summary)
    for name, image in maps.items():
        write_volume(Volume(run.pair.grid, image, name), RunFolder(folder).map(name))
    return {
        "voxels": run.pair.grid.voxels,
        "spacing": run.pair.grid.spacing,
        "draws": run.total,
        "seconds": {stage: facts["seconds"] for stage, facts in run.facts.items()},
        "gradients": {stage: facts["gradients"] for stage, facts in run.facts.items()},
        "mixing": diagnosis_of(folder).facts(1) if run.plan.method == "mcmc" else None,
        "strength": _strength(run),
        "alpha": float(run.hyper.likelihood["alpha"][0]),
        "folds": summary.jacobian.folds,
        "sd": _spread(maps["displacement_sd"][brain]),
        "motion": float(maps["displacement"][brain].mean()),
        "roughness": roughness(maps["jacobian"], brain),
        **_labels(run, summary),
        **({} if truth is None else _against(run, truth, summary.displacement)),
    }


def _maps(run: Run, summary: Summary) -> dict[str, Image]:
    """Length and spread of the displacement, the moving image as its mean warps it, a draw's Jacobian."""
    grid, mean = run.pair.grid, summary.displacement.mean
    warp = Warp(grid, mean, Affine.identity(), Affine.identity())
    return {
        "fixed": run.pair.fixed,
        "moving": run.pair.moving,
        "warped": apply(Volume(grid, run.pair.moving), grid, warp, "linear").data,
        "displacement": torch.linalg.vector_norm(mean, dim=0),
        "displacement_sd": summary.displacement.sd,
        "jacobian": jacobian_determinant(next(run.displacements(1)))[0],
    }


def _strength(run: Run) -> float:
    """λ where χ² is what the prior expects by now."""
    bound = run.plan.prior.bind(run.transform.parameters, run.transform.grid)
    return float(bound.strength(bound.expected_energy(run.hyper.prior), run.hyper.prior)[0])


def seen(run: Run) -> Mask:
    """Where the fixed image is not background."""
    return run.pair.fixed_mask & (run.pair.fixed > run.pair.fixed.min())


def roughness(determinant: Image, where: Mask) -> float:
    """The root mean square step of the Jacobian's determinant from a voxel to the next."""
    steps = []
    for axis in range(3):
        both = where.narrow(axis, 1, where.shape[axis] - 1) & where.narrow(axis, 0, where.shape[axis] - 1)
        steps.append(determinant.diff(dim=axis)[both])
    return float(torch.cat(steps).square().mean().sqrt())


def _spread(sd: torch.Tensor) -> dict[str, float]:
    values = np.asarray(sd)
    return {"mean": float(values.mean()), "median": float(np.median(values))}


def _labels(run: Run, summary: Summary) -> dict[str, Any]:
    """Dice and surface distances of every draw, the uncertainty of each structure, how right labels are."""
    found, regions = summary.labels, run.pair.fixed_labels
    assert found is not None, "cells are run with labels of both sides"
    assert found.agreement is not None
    assert regions is not None
    kept = [index for index, label in enumerate(found.labels) if label in NAMES]
    labels = tuple(found.labels[index] for index in kept)
    dice, distance = found.agreement.dice[:, kept], found.agreement.distance[:, kept]
    before = found.agreement.before[:2, kept]
    spread = displacement_uncertainty(summary.displacement.sd, regions, labels)
    return {
        "labels": labels,
        "dice": dice.tolist(),
        "distance": distance.tolist(),
        "dice_before": before[0].tolist(),
        "distance_before": before[1].tolist(),
        "uncertainty": spread.tolist(),
        "correlation": asdict(pearson(spread, np.asarray(dice.std(dim=0)))),
        **_probabilities(found, np.asarray(regions)),
    }


def _probabilities(found: Probabilities, regions: np.ndarray) -> dict[str, Any]:
    """Over statements that a voxel has a label, and over the voxels that may have any."""
    background = np.asarray(found.background())
    possible = (background < 1) | np.isin(regions, found.labels)
    stated, true = [], []
    for label in found.labels:
        share = np.asarray(found.probability(label))
        said = (share > 0) | (regions == label)
        stated.append(share[said])
        true.append(regions[said] == label)
    probable = np.asarray(found.most_probable())
    confidence = background.copy()
    for label in found.labels:
        confidence = np.maximum(confidence, np.asarray(found.probability(label)))
    known = np.where(np.isin(regions, found.labels), regions, 0)
    risk = risk_coverage((probable != known)[possible], confidence[possible])
    held = reliability(np.concatenate(stated), np.concatenate(true))
    return {
        "reliability": asdict(held) | {"error": held.error},
        "risk": asdict(risk) | {"mean": risk.mean},
    }


def _against(run: Run, truth: Mapping, moved: Displacement) -> dict[str, Any]:
    """Coverage of the true displacement, and whether it is far from the mean where the spread is wide."""
    brain = seen(run)
    found = score(run, truth, brain)
    points = run.pair.grid.points()[np.asarray(brain)]
    known = run.pair.initial.inverse()(truth(points)) - points
    error = np.linalg.norm(np.asarray(moved.mean[:, brain]).T - known, axis=1)
    curve = sparsification(error, np.asarray(moved.sd[brain]))
    oracle = sparsification(error, error)
    return {
        "truth": asdict(found),
        "sparsification": asdict(curve)
        | {"oracle": oracle.y, "area": (curve.mean - oracle.mean) / float(error.mean())},
    }
