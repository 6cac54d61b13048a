"""Points go through each draw exactly, either way; their moments are those of stored positions."""

import numpy as np
import pytest
import torch

from credwarp.space import Affine, Grid, Pair
from credwarp.summaries import PointMoments, folded
from credwarp.summaries.points import origins
from grids import ORIENTATIONS, grid
from pairs import smooth_noise
from runs import smooth_run

GRID = grid((18, 20, 16), (1.5, 2.0, 1.2), ORIENTATIONS[13], (15.0, -8.0, 5.0))


@pytest.fixture(scope="module")
def run():
    images = smooth_noise((2, *GRID.shape), 1.0, 0, torch.float32)
    everywhere = torch.ones(GRID.shape, dtype=torch.bool)
    initial = np.eye(4)
    initial[:3, :3] += np.random.default_rng(3).normal(size=(3, 3)) * 0.05
    initial[:3, 3] = [10.0, -4.0, 6.0]
    pair = Pair(GRID, images[0], images[1], everywhere, everywhere, Affine(initial))
    return smooth_run(pair, chains=2, draws=6)


@pytest.fixture(scope="module")
def points():
    return GRID.to_world(np.random.default_rng(0).uniform(0.2, 0.8, (40, 3)) * (np.array(GRID.shape) - 1))


def clouds(run, points, side):
    fold = PointMoments(points, side, run.pair.grid, run.pair.initial)
    return folded(run.displacements(), {"points": fold})["points"]


def test_points_of_fixed_are_where_the_warps_take_them(run, points):
    stored = np.stack([warp(points) for warp in run.warps()])
    found = clouds(run, points, "fixed")
    assert np.abs(found.mean - stored.mean(axis=0)).max() < 1e-4
    for point in range(len(points)):
        assert np.allclose(found.covariance[point], np.cov(stored[:, point].T), atol=1e-3)
    assert np.all(found.radius95 > 0)


def test_points_of_moving_come_from_where_the_warps_took_them(run, points):
    for warp, field in zip(run.warps(), run.displacements(), strict=True):
        there = warp(points)
        fold = PointMoments(there, "moving", run.pair.grid, run.pair.initial)
        back = folded([field], {"points": fold})["points"]
        assert np.abs(back.mean - points).max() < 0.001
        assert back.missed < 0.001


def test_the_two_sides_tell_of_the_same_spread(run, points):
    there, back = clouds(run, points, "fixed"), None
    back = clouds(run, there.mean, "moving")
    assert np.median(np.linalg.norm(back.mean - points, axis=1)) < 0.2 * np.median(there.radius95)
    assert 0.7 < np.median(back.radius95 / there.radius95) < 1.4


def test_a_point_without_an_origin_is_reported_not_hidden():
    field = np.zeros((3, 8, 8, 8), np.float32)
    field[0] = 6.0  # nothing goes to between −0.5 and 5.5
    _, missed = origins(field, np.array([[3.0, 4.0, 4.0], [7.0, 4.0, 4.0]]))
    assert missed[0] > 0.1
    assert missed[1] == 0.0


def test_no_points_are_no_clouds(run):
    found = clouds(run, np.zeros((0, 3)), "moving")
    assert found.mean.shape == (0, 3)


def test_beyond_the_grid_nothing_moves():
    space = Grid.isotropic((8, 8, 8))
    fold = PointMoments(np.array([[50.0, 0.0, 0.0]]), "fixed", space, Affine.identity())
    found = folded([torch.ones((1, 3, 8, 8, 8))], {"points": fold})["points"]
    assert found.mean.tolist() == [[50.0, 0.0, 0.0]]
