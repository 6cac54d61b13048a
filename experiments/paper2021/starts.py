"""Chains of one posterior from several starts: do their uncertainties agree, and have they met?"""

import itertools
from dataclasses import dataclass

import numpy as np
import torch

from credwarp.files import open_run
from credwarp.register import diagnose
from experiments.paper2021.pictures import image
from experiments.paper2021.results import Finished, Result

# The mixture goes on being fitted during warmup, so energies of different runs are not of one law.
COMPARED = ("displacement", "structure")


@dataclass(frozen=True)
class Meeting:
    """How far the standard deviations of two starts differ at a voxel, in mm; R-hat over all their chains."""

    mean_mm: float
    max_mm: float
    rhat_max: float
    rhat_median: float


def meeting(found: Finished) -> Meeting:
    """Over every pair of starts and every voxel of the brain."""
    results = tuple(found.on().values())
    apart = np.concatenate([discrepancy(one, other) for one, other in itertools.combinations(results, 2)])
    runs = [open_run(result.folder) for result in results]
    series = {kind: torch.cat([run.series[kind] for run in runs]) for kind in COMPARED}
    names = {
        kind: [f"{kind}[{place}]" for place in range(values.shape[2])] for kind, values in series.items()
    }
    rhat = diagnose(series, names, runs[0].plan.quality).mixing.rhat
    return Meeting(float(apart.mean()), float(apart.max()), float(rhat.max()), float(rhat.median()))


def discrepancy(one: Result, other: Result) -> np.ndarray:
    """|SD − SD| at the voxels of the brain."""
    brain = image(one, "fixed") > image(one, "fixed").min()
    return np.asarray(np.abs(image(one, "displacement_sd") - image(other, "displacement_sd"))[brain])
