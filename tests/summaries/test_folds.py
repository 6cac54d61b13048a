"""One pass over the draws says what two passes over stored draws say, in memory that draws do not fill."""

import weakref

import numpy as np
import pytest
import torch

from credwarp import fields
from credwarp.errors import InputError
from credwarp.space import Affine, Pair, Volume
from credwarp.summaries import DisplacementMoments, JacobianMoments, LabelVotes, PointMoments, folded
from grids import ORIENTATIONS, grid
from pairs import smooth_noise
from runs import smooth_run

GRID = grid((11, 9, 13), (1.5, 0.8, 2.2), ORIENTATIONS[29], (10.0, -20.0, 30.0))


@pytest.fixture(scope="module")
def run():
    images = smooth_noise((2, *GRID.shape), 1.0, 0, torch.float32)
    everywhere = torch.ones(GRID.shape, dtype=torch.bool)
    pair = Pair(GRID, images[0], images[1], everywhere, everywhere, Affine.identity())
    return smooth_run(pair, chains=2, draws=5, size=2.5)


@pytest.fixture(scope="module")
def answers(run):
    return folded(run.displacements(), {"u": DisplacementMoments(GRID), "jacobian": JacobianMoments()})


def test_the_displacements_moments_are_those_of_stored_draws(run, answers):
    stored = fields.to_millimetres(torch.cat(list(run.displacements())).double(), GRID)
    found = answers["u"]
    assert found.count == 10
    assert torch.allclose(found.mean.double(), stored.mean(dim=0), atol=1e-5)
    apart = stored - stored.mean(dim=0)
    full = torch.einsum("naxyz,nbxyz->abxyz", apart, apart) / 9
    order = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
    packed = torch.stack([full[a, b] for a, b in order])
    assert torch.allclose(found.covariance.double(), packed, rtol=1e-4, atol=1e-4)
    assert torch.allclose(found.sd.double(), apart.square().sum(1).sum(0).div(9).sqrt(), rtol=1e-4)
    assert found.radius95.shape == GRID.shape
    assert bool((found.radius95 > found.sd).all())


def test_the_jacobians_moments_are_those_of_stored_draws(run, answers):
    stored = fields.jacobian_determinant(torch.cat(list(run.displacements())).double())
    found = answers["jacobian"]
    assert found.folds == tuple(fields.folds(stored).tolist())
    assert torch.allclose(found.mean.double(), stored.mean(dim=0), atol=1e-4)
    assert torch.allclose(found.sd.double(), stored.std(dim=0), rtol=1e-3, atol=1e-4)
    assert torch.equal(found.fold_probability, (stored <= 0).float().mean(dim=0))


def test_one_draw_has_no_spread(run):
    found = folded(run.displacements(1), {"u": DisplacementMoments(GRID)})["u"]
    assert float(found.sd.max()) == 0.0
    assert float(found.radius95.max()) == 0.0


def test_each_draw_is_made_once_however_many_ask():
    made = []

    def counted():
        for seed in range(4):
            made.append(seed)
            yield smooth_noise((1, 3, *GRID.shape), 1.0, seed, torch.float32)

    folded(counted(), {str(k): DisplacementMoments(GRID) for k in range(3)})
    assert made == [0, 1, 2, 3]


def test_no_draw_is_kept():
    alive = []

    def watched():
        for seed in range(12):
            field = smooth_noise((1, 3, *GRID.shape), 1.0, seed, torch.float32)
            alive.append(weakref.ref(field))
            yield field
            del field
            assert sum(draw() is not None for draw in alive) <= 1

    labels = Volume(GRID, (smooth_noise(GRID.shape, 2.0, 1) > 0.5).int(), "labels")
    folded(
        watched(),
        {
            "u": DisplacementMoments(GRID),
            "jacobian": JacobianMoments(),
            "labels": LabelVotes.of(labels, GRID, Affine.identity(), labels.data),
            "points": PointMoments(GRID.points()[4, 4], "moving", GRID, Affine.identity()),
        },
    )
    assert len(alive) == 12


def test_draws_of_another_grid_are_refused():
    field = torch.zeros((1, 3, 4, 4, 4))
    with pytest.raises(InputError, match="give the grid of the run's pair"):
        folded([field], {"u": DisplacementMoments(GRID)})


def test_no_draws_are_no_answer():
    with pytest.raises(InputError, match="no draws to summarise"):
        folded([], {"u": DisplacementMoments(GRID)})


def test_a_covariance_is_that_of_the_turned_vectors():
    random = np.random.default_rng(0)
    vectors = torch.from_numpy(random.normal(size=(500, 3, 1, 1, 1)))
    from credwarp.summaries.moments import PLACES, turned

    def packed(values):
        return torch.stack([torch.cov(values[..., 0, 0, 0].T)[a, b] for a, b in PLACES]).reshape(6, 1, 1, 1)

    assert torch.allclose(turned(packed(vectors), GRID), packed(fields.to_millimetres(vectors, GRID)))
