"""Pairs whose truth is known, and intervals that hold it as often as they say."""

import numpy as np
import torch

from credwarp import kernels
from credwarp.phantom import subject
from credwarp.plan import Plan
from credwarp.workflow import calibrate, known_pair

SETTINGS = ["method=vi", "sampling.draws=80", "optimisation.starts=1", "optimisation.rounds=2"]
PLAN = Plan().with_settings(SETTINGS)
IMAGE = subject(3, (24, 24, 24)).scan.image


def test_the_fixed_image_is_the_moving_one_through_the_truth_plus_noise():
    pair, truth = known_pair(IMAGE, PLAN, 0.1, seed=1)
    assert float(truth.displacement.norm(dim=0).max()) > 1.0
    voxels = truth.displacement / pair.grid.spacing[0]
    apart = pair.fixed - kernels.warp(pair.moving[None], voxels[None].to(torch.float32))[0, 0]
    spread = 0.1 * float(pair.moving.std())
    assert abs(float(apart.std()) / spread - 1) < 0.05
    assert float(apart.mean()) < 4 * spread / pair.grid.voxels**0.5


def test_other_seeds_are_other_truths_and_the_same_seed_the_same():
    first, again, other = (known_pair(IMAGE, PLAN, 0.1, seed)[1].displacement for seed in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.allclose(first, other)


def test_a_few_pairs_are_covered_about_as_often_as_they_should_be():
    seen = []
    found = calibrate([IMAGE, IMAGE], PLAN, 0.2, lambda number, score: seen.append(number))
    assert seen == [0, 1]
    assert all(one.after < one.before for one in found.scores)
    # Two small pairs: the average strays by a few per cent; a spread twice too small or large by more.
    assert np.all(np.abs(found.coverage - found.nominal) < [0.15, 0.12, 0.1])
    assert np.all(found.error >= 0)
