"""A run brought to its end: draws, maps, labels, figures of quality, report; what is there already stays."""

import json
import logging
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from credwarp.errors import InputError
from credwarp.files import (
    LANDMARKS,
    PAIR,
    FolderKeeper,
    RunFolder,
    digests,
    open_run,
    peak_memory_mb,
    read,
    read_labels,
    read_landmarks,
    read_pair,
    write_text,
)
from credwarp.kernels.threads import count
from credwarp.plan import Plan
from credwarp.propagate import Summary, dice_figures, record, summarise, uncertainty_correlation
from credwarp.register import Diagnosis, Run, Watch, diagnose, register, unwatched
from credwarp.register.targets import bound
from credwarp.register.track import Tracker
from credwarp.report import Findings, first_screen, render
from credwarp.workflow.findings import findings, landmark_facts, marked
from credwarp.workflow.lock import alone
from credwarp.workflow.quality import Flag, flags, likeness

log = logging.getLogger("credwarp")
NOT_CONVERGED, BELOW_STANDARD = 4, 6


@dataclass(frozen=True)
class Outcome:
    """The run's folder, its figures of quality, and the exit code that they amount to."""

    folder: Path
    qc: Mapping[str, Any]
    code: int


def complete(folder: Path, watch: Watch = unwatched, strict: bool = False) -> Outcome:
    """Whatever is left to do in a folder that `begin` has filled."""
    with alone(folder):
        plan = Plan.from_toml((folder / "plan.toml").read_text(encoding="utf-8"))
        run = register(read_pair(folder / PAIR), plan, FolderKeeper(folder), watch)
        return finish(folder, run, strict)


def lengthen(folder: Path, draws: int) -> None:
    """Ask for more draws; `complete` then makes them."""
    run = open_run(folder)
    if draws <= run.total:
        raise InputError(f"{folder} already has {run.total} draws; ask for more than that.")
    if run.plan.method == "map":
        raise InputError(f"{folder} holds the most probable warp only; register with --method mcmc or vi.")
    plan = run.plan.with_settings([f"sampling.draws={draws}"])
    with alone(folder):
        write_text(folder / "plan.toml", plan.to_toml())


def rewrite(folder: Path) -> Outcome:
    """Everything that is made of the draws that are there, anew."""
    with alone(folder):
        return finish(folder, open_run(folder), strict=False)


def diagnosis_of(folder: Path) -> Diagnosis:
    """How the chains of a run have mixed so far."""
    found = _diagnosis(open_run(folder))
    if found is None:
        raise InputError(f"{folder} holds no chains; register with --method mcmc.")
    return found


def threads_of(folder: Path) -> int:
    """On how many threads a run was begun."""
    try:
        return int(RunFolder(folder).provenance()["threads"])
    except (ValueError, KeyError, TypeError):
        raise InputError(f"{folder} holds no run; name a run's folder.") from None


def finish(folder: Path, run: Run, strict: bool) -> Outcome:
    """From draws to everything that is made of them."""
    since = time.perf_counter()
    place = RunFolder.create(folder)
    landmarks = read_landmarks(folder / LANDMARKS)
    carried = None if landmarks is None else landmarks.moving
    summary = summarise(run, _given_labels(folder), moving_points=carried)
    mean = record(run, summary, place, _given_image(folder))
    diagnosis = _diagnosis(run)
    masked = {"fixed_mask", "moving_mask"} <= place.provenance().keys()
    raised = flags(run, summary, diagnosis, masked)
    marks = marked(landmarks, summary)
    qc = _qc(run, summary, diagnosis, raised)
    qc |= {"inverse_error_mm": mean.error_mm, "landmarks": landmark_facts(marks)}
    qc["stages"].append({"name": "summary", "seconds": time.perf_counter() - since, "gradients": 0})
    qc["seconds"] += time.perf_counter() - since
    write_text(folder / "qc.json", json.dumps(qc, indent=2) + "\n")
    _tell(place, findings(place, run, summary, diagnosis, qc, marks))
    for flag in raised:
        log.warning("%s", flag.sentence)
    return Outcome(folder, qc, code_of(qc, strict))


def _tell(place: RunFolder, told: Findings) -> None:
    """The report, and the hashes of all that is there now."""
    write_text(place.path / "report.html", render(told))
    write_text(place.screen, first_screen(told))
    place.write_provenance(place.provenance() | {"files": digests(place.path)})


def code_of(qc: Mapping[str, Any], strict: bool) -> int:
    """The exit code that figures of quality amount to."""
    if strict and qc["warnings"]:
        return BELOW_STANDARD
    return 0 if qc["converged"] else NOT_CONVERGED


def _diagnosis(run: Run) -> Diagnosis | None:
    """Of chains; an optimum and independent draws have nothing to converge."""
    if run.plan.method != "mcmc":
        return None
    tracker = Tracker.of(bound(run.pair, run.plan), run.hyper.prior, run.pair, run.plan.seed)
    return diagnose(run.series, tracker.names, run.plan.quality)


def _qc(run: Run, summary: Summary, diagnosis: Diagnosis | None, raised: list[Flag]) -> dict[str, Any]:
    stages = [
        {"name": name, "seconds": facts.get("seconds", 0.0), "gradients": facts.get("gradients", 0)}
        for name, facts in run.facts.items()
    ]
    gradients = sum(stage["gradients"] for stage in stages)
    sampled = run.facts.get("draws", {}).get("gradients", 0)
    mixed = {"converged": True, "rhat_max": None, "ess_min": None, "ess_median": None}
    if diagnosis is not None:
        mixed = diagnosis.facts(sampled)
    warmup = run.facts.get("warmup", {})
    correlation = uncertainty_correlation(summary)
    return {
        **mixed,
        "method": run.plan.method,
        "draws": run.total,
        "chains": run.draws.chains,
        "gradients": gradients,
        "seconds": sum(stage["seconds"] for stage in stages),
        "peak_memory_mb": peak_memory_mb(),
        "device": str(run.pair.fixed.device),
        "threads": count(),
        "torch_threads": torch.get_num_threads(),
        "seed": run.plan.seed,
        "radius95_mm": _radius(run, summary),
        "fold_fraction_max": max(summary.jacobian.folds) / run.pair.grid.voxels,
        "uncertainty_correlation": None if correlation is None else asdict(correlation),
        "dice": {} if summary.labels is None else dice_figures(summary.labels),
        "warnings": [{"kind": flag.kind, "sentence": flag.sentence} for flag in raised],
        "stages": stages,
        "basins": run.facts.get("optimum", {}).get("basins", []),
        "likeness": likeness(run),
        "evidence": run.facts.get("optimum", {}).get("evidence"),
        "gradients_saved": run.facts.get("optimum", {}).get("gradients_saved"),
        "virial": (warmup.get("virials") or [None])[-1],
        "step_size": run.facts.get("draws", {}).get("step_size"),
        "divergences": run.facts.get("draws", {}).get("divergences", 0),
        **_hyper(run),
    }


def _hyper(run: Run) -> dict[str, Any]:
    likelihood, prior = run.hyper.likelihood, run.hyper.prior
    bound = run.plan.prior.bind(run.transform.parameters, run.transform.grid)
    strength = bound.strength(bound.expected_energy(prior), prior)
    return {
        "strength": float(strength[0]),
        "alpha": float(likelihood["alpha"][0]),
        "mixture": {
            "proportion": likelihood["log_proportion"][0].exp().tolist(),
            "precision": likelihood["log_precision"][0].exp().tolist(),
        },
    }


def _radius(run: Run, summary: Summary) -> dict[str, float] | None:
    """Over the voxels that both masks have; an optimum alone has none."""
    mask = run.pair.fixed_mask & run.pair.moving_mask
    if run.total < 2:
        return None
    median, high = np.quantile(np.asarray(summary.displacement.radius95[mask]), (0.5, 0.95)).tolist()
    return {"median": median, "q95": high}


def _given_labels(folder: Path) -> Any:
    path = folder / "state" / "moving_labels.nii.gz"
    return read_labels(path) if path.exists() else None


def _given_image(folder: Path) -> Any:
    path = folder / "state" / "moving.nii.gz"
    return read(path) if path.exists() else None
