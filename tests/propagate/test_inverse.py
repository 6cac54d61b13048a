"""One map for all draws, and the way back of it."""

import logging

import numpy as np
import pytest
import torch

from credwarp.fields import invert_warp
from credwarp.propagate import mean_transform, summarise
from credwarp.propagate.inverse import _around, inverse
from credwarp.space import Affine, Warp
from pairs import textured
from runs import smooth_run

PAIR = textured((20, 18, 22), torch.float32, spacing=3.0)


@pytest.fixture(scope="module")
def there() -> Warp:
    """Bent by several millimetres, and turned before and after."""
    turn, shift = np.eye(4), np.eye(4)
    turn[:2, :2], shift[:3, 3] = [[0.96, -0.28], [0.28, 0.96]], [5.0, -4.0, 3.0]
    found = mean_transform(smooth_run(PAIR, draws=1, chains=1, size=1.5), summary(1.5).displacement)
    return Warp(PAIR.grid, found.to_fixed.displacement, Affine(shift), Affine(turn))


def summary(size: float):
    return summarise(smooth_run(PAIR, draws=1, chains=1, size=size))


def test_voxels_come_back_to_themselves_and_so_do_places_between(there):
    back, said = inverse(there)
    start = there.before.inverse()(PAIR.grid.points().reshape(-1, 3))
    away = np.linalg.norm(back(there(start)) - start, axis=1)
    assert np.linalg.norm(there.displacement, axis=0).max() > 4
    assert np.quantile(away, 0.99) == pytest.approx(said)
    assert said <= 0.05
    between = PAIR.grid.to_world(np.random.default_rng(0).uniform(3, 14, (500, 3)))
    start = there.before.inverse()(between)
    assert np.quantile(np.linalg.norm(back(there(start)) - start, axis=1), 0.95) < 0.2


def test_the_fit_is_what_brings_voxels_back(there):
    """Without it the same voxels miss by several times as much."""
    plain = invert_warp(there, _around(there, 2.0))
    start = there.before.inverse()(PAIR.grid.points().reshape(-1, 3))
    away = np.linalg.norm(plain(there(start)) - start, axis=1)
    assert np.quantile(away, 0.99) > 2 * inverse(there)[1]


def test_a_warp_that_folds_is_told_and_has_a_way_back_all_the_same(caplog):
    with caplog.at_level(logging.WARNING, logger="credwarp"):
        wild = smooth_run(PAIR, draws=1, chains=1, size=1.0)
        torn = summarise(wild).displacement
        found = mean_transform(wild, type(torn)(torn.grid, 1, 8 * torn.mean, torn.covariance))
    assert "the mean displacement folds; the flow of the mean velocity is taken instead" in caplog.text
    assert found.smallest_determinant > 0
    assert found.error_mm <= 0.05
