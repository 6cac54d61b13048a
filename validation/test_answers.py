"""Answers on real pairs held against experts: label probabilities, and ellipsoids of a lung's landmarks."""

import os

import numpy as np
import pytest
from rich.console import Console
from rich.table import Table
from scipy.stats import chi2

from cohort import STRUCTURES, brain, brains, lung, needs_data
from credwarp import propagate
from credwarp.plan import Plan
from credwarp.register import Run, register
from credwarp.space.prepare import coarsened
from credwarp.summaries import PointClouds
from experiments.paper2021.curves import reliability

pytestmark = needs_data
PAIRS = ["01 03", "05 14", "06 07"][: int(os.environ.get("PAIRS", "3"))]
BRAIN_SPACING, LUNG_FACTOR = 3.64, 2
SAMPLED = Plan().with_settings(
    ["optimisation.starts=1", "sampling.draws=200", "sampling.thin=4", "sampling.warmup=150"]
)
NOMINAL = (0.5, 0.9, 0.95)
# An expert puts a landmark on a voxel: uniform within its originals' 1.37 × 1.37 × 2.5 mm, on either side.
VOXEL_MM = np.array([1.366, 1.366, 2.5])


def probabilities(run: Run, moving: str) -> tuple[np.ndarray, np.ndarray]:
    """What each structure was given and whether it was there, at every voxel where that was in doubt."""
    found = propagate.labels(run, brain(moving).labels)
    truth = np.asarray(run.pair.fixed_labels)
    stated, right = [], []
    for label in STRUCTURES:
        share = np.asarray(found.probability(label))
        near = (share > 0) | (truth == label)
        stated.append(share[near])
        right.append(truth[near] == label)
    return np.concatenate(stated), np.concatenate(right)


def test_label_probabilities_are_frequencies():
    """The expected calibration error, over voxels that a structure may be at, is printed with the curve."""
    stated, right = [], []
    for names in PAIRS:
        fixed, moving = names.split()
        each = probabilities(register(brains(fixed, moving, BRAIN_SPACING), SAMPLED), moving)
        stated.append(each[0])
        right.append(each[1])
    probability, there = np.concatenate(stated), np.concatenate(right)
    found = reliability(probability, there)
    table = Table("stated", "observed", "voxels", title=f"label probabilities, {len(PAIRS)} pairs of brains")
    for claimed, seen, count in zip(found.predicted, found.observed, found.count, strict=True):
        table.add_row(f"{claimed:.3f}", f"{seen:.3f}", str(count))
    Console().print(table, f"calibration error {found.error:.3f}, Brier score {found.brier:.3f}")
    assert np.corrcoef(probability, there)[0, 1] > 0.6
    assert found.error < 0.25


def held(found: PointClouds, truth: np.ndarray, extra: np.ndarray) -> list[float]:
    """How many of the ellipsoids of each content hold the truth, `extra` added to their covariances."""
    away = truth - found.mean
    distance = np.einsum("pi,pij,pj->p", away, np.linalg.inv(found.covariance + extra), away)
    return [float((distance <= chi2.ppf(nominal, 3)).mean()) for nominal in NOMINAL]


@pytest.fixture(scope="module")
def breath() -> tuple[PointClouds, np.ndarray, np.ndarray]:
    pair, fixed, moving = lung()
    run = register(coarsened(pair, LUNG_FACTOR), SAMPLED)
    names = tuple(str(number) for number in range(len(fixed)))
    return propagate.points(run, fixed, "fixed", names), fixed, moving


def test_a_lung_s_landmarks_lie_in_their_ellipsoids(breath):
    """Ten landmarks, so 0.9 is uncertain to ± 0.1; the second row adds their own rounding."""
    found, fixed, moving = breath
    rounding = np.diag(2 * VOXEL_MM**2 / 12)
    table = Table(
        "ellipsoids of", *(f"{nominal:g}" for nominal in NOMINAL), title="landmarks of a lung inside"
    )
    for name, extra in (("the draws", np.zeros((3, 3))), ("the draws and the experts' rounding", rounding)):
        table.add_row(name, *(f"{share:.2f}" for share in held(found, moving, extra)))
    before, after = (np.linalg.norm(x - moving, axis=1).mean() for x in (fixed, found.mean))
    radius = float(np.median(found.radius95))
    Console().print(table, f"error {before:.2f} mm before, {after:.2f} mm after; 95 % radius {radius:.2f} mm")
    assert after < 0.6 * before
    assert held(found, moving, rounding)[2] > held(found, fixed, rounding)[2]
