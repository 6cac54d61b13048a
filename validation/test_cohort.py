"""Real brains and a real lung by one default plan: accuracy beside ANTs, chains that meet, folds."""

import os
import time

import numpy as np
import pytest
import torch
from rich.console import Console
from rich.table import Table

from cohort import STRUCTURES, brain, brains, lung, needs_data
from credwarp import propagate
from credwarp.files import peak_memory_mb
from credwarp.plan import Plan
from credwarp.propagate import summarise
from credwarp.register import Run, diagnose, register
from credwarp.register.targets import bound
from credwarp.register.track import Tracker
from credwarp.summaries import dice

pytestmark = needs_data
PAIRS = ["01 03", "05 14", "02 04", "06 07", "09 10", "13 15", "17 18", "19 20"]
PAIRS = PAIRS[: int(os.environ.get("PAIRS", len(PAIRS)))]
MAP = Plan().with_settings(["method=map"])
HALF = Plan().with_settings(["transform.coarsening=1"])
HALF_SPACING = 3.64


def overlap(run: Run, moving: str) -> float:
    """The mean Dice of the paper's structures over the run's draws."""
    found = propagate.labels(run, brain(moving).labels)
    kept = [index for index, label in enumerate(found.labels) if label in STRUCTURES]
    return float(np.asarray(found.agreement.dice)[:, kept].mean())


def syn(fixed: str, moving: str) -> tuple[float, float]:
    """ANTs' SyN with cross-correlation: mean Dice and seconds."""
    ants = pytest.importorskip("ants", reason="ANTs is not installed; pip install antspyx.")
    from cohort import DATA

    paths = [DATA / "cohort" / f"sub{n}{end}.nii.gz" for n in (fixed, moving) for end in ("", "_seg")]
    images = [ants.image_read(str(path)) for path in paths]
    since = time.perf_counter()
    found = ants.registration(
        images[0], images[2], type_of_transform="SyNOnly", initial_transform="identity",
        syn_metric="CC", syn_sampling=4, reg_iterations=(100, 70, 30),
    )  # fmt: skip
    seconds = time.perf_counter() - since
    warped = ants.apply_transforms(images[0], images[3], found["fwdtransforms"], "genericLabel")
    ours, theirs = (torch.from_numpy(image.numpy()).to(torch.int64) for image in (images[1], warped))
    return float(np.mean([dice(ours, theirs)[label] for label in STRUCTURES])), seconds


def test_the_most_probable_warp_is_as_good_as_syn_and_quick():
    table = Table("fixed ← moving", "before", "Dice", "seconds", "SyN", "seconds", "folds")
    ours, theirs = [], []
    for names in PAIRS:
        fixed, moving = names.split()
        pair = brains(fixed, moving)
        since = time.perf_counter()
        run = register(pair, MAP)
        seconds = time.perf_counter() - since
        summary = summarise(run, brain(moving).labels)
        ours.append(overlap(run, moving))
        against = syn(fixed, moving) if os.environ.get("SYN") else (float("nan"), float("nan"))
        theirs.append(against[0])
        kept = [i for i, label in enumerate(summary.labels.labels) if label in STRUCTURES]
        before = float(np.asarray(summary.labels.agreement.before[0])[kept].mean())
        folds = max(summary.jacobian.folds)
        row = (f"{before:.3f}", f"{ours[-1]:.4f}", f"{seconds:.1f}", f"{against[0]:.4f}", f"{against[1]:.0f}")
        table.add_row(names.replace(" ", " ← "), *row, str(folds))
        assert folds == 0
    Console().print(table, f"mean Dice {np.mean(ours):.4f}, SyN {np.mean(theirs):.4f}")
    if os.environ.get("SYN"):
        assert np.mean(ours) >= np.mean(theirs) - 0.002


@pytest.mark.parametrize(("plan", "spacing"), [(HALF, HALF_SPACING), (Plan(), None)], ids=["half", "full"])
@pytest.mark.parametrize("names", PAIRS[:2])
def test_the_chains_meet(names, plan, spacing):
    fixed, moving = names.split()
    pair = brains(fixed, moving, spacing)
    since = time.perf_counter()
    run = register(pair, plan)
    seconds = time.perf_counter() - since
    names_of = Tracker.of(bound(run.pair, run.plan), run.hyper.prior, run.pair, run.plan.seed).names
    found = diagnose(run.series, names_of, run.plan.quality)
    facts = found.facts(run.facts["draws"]["gradients"])
    summary = summarise(run, brain(moving).labels)
    folds = max(summary.jacobian.folds) / run.pair.grid.voxels
    print(
        f"{names}: {seconds:.0f} s, R-hat {facts['rhat_max']:.3f}, ESS {facts['ess_min']:.0f} least "
        f"{facts['ess_median']:.0f} median, {facts['ess_per_1000_gradients']:.1f} per 1000 gradients, worst "
        f"{facts['worst']}, step {run.facts['draws']['step_size'][0]:.2f}, folds {folds:.1e}, Dice of draws "
        f"{overlap(run, moving):.4f}, peak {peak_memory_mb():.0f} MB, basins "
        f"{len(run.facts['optimum']['basins'])}"
    )
    assert folds <= 1e-5
    assert facts["rhat_max"] <= 1.05
    assert facts["ess_min"] >= 200


def test_landmarks_of_a_lung_are_found():
    pair, fixed, moving = lung()
    run = register(pair, MAP)
    (warp,) = run.warps(1)
    before, after = (np.linalg.norm(x - moving, axis=1) for x in (fixed, warp(fixed)))
    print(f"landmarks: {before.mean():.2f} mm before, {after.mean():.2f} mm after")
    assert after.mean() <= 2.0
