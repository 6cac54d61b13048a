"""Runs held against a truth that is known."""

import numpy as np
import pytest
import torch

from credwarp.fields import to_millimetres
from credwarp.register import Held, Run
from credwarp.space import Affine, Warp
from credwarp.workflow import score
from pairs import smooth_noise, textured
from runs import smooth_run

SHAPE = (10, 12, 8)


def exchangeable(draws: int) -> tuple[Run, Warp]:
    """Draws of velocities too small to compose, and a truth that is one more of them."""
    pair = textured(SHAPE, dtype=torch.float32)
    run = smooth_run(pair, chains=1, draws=2)
    shape = (draws + 1, 3, *run.transform.parameters.shape)
    values = 1e-2 * smooth_noise(shape, 0.0, 7, torch.float32)
    *drawn, last = values
    truth = run.transform.displacement(last[None])[0]
    run = Run(pair, run.plan, run.transform, Held(torch.stack(drawn)[None]))
    return run, Warp(pair.grid, to_millimetres(truth, pair.grid), Affine.identity(), Affine.identity())


def test_intervals_hold_a_truth_that_is_like_the_draws_as_often_as_they_say():
    run, truth = exchangeable(200)
    found = score(run, truth, torch.ones(SHAPE, dtype=torch.bool))
    # 1152 half-resolution coefficients: a coverage p has the error √(p(1−p)/360) or less.
    assert np.allclose(found.coverage, found.nominal, atol=0.05)


def test_the_mean_is_nearer_to_the_truth_than_no_warp_where_draws_lie_round_it():
    run, truth = exchangeable(20)
    near = Run(run.pair, run.plan, run.transform, Held(run.draws.values[:, :1].expand(-1, 3, -1, -1, -1, -1)))
    own = run.transform.displacement(run.draws.parameters(0, 0))[0]
    same = Warp(run.pair.grid, to_millimetres(own, run.pair.grid), Affine.identity(), Affine.identity())
    found = score(near, same, torch.ones(SHAPE, dtype=torch.bool))
    assert found.after == pytest.approx(0.0, abs=1e-6)
    assert found.before > 1e-3


def test_a_single_draw_has_no_intervals():
    run, truth = exchangeable(1)
    assert score(run, truth, torch.ones(SHAPE, dtype=torch.bool)).coverage == ()
