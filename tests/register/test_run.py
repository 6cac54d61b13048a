"""A run gives its draws as displacements and as maps of points between the images as they were given."""

import numpy as np
import pytest
import torch

from credwarp import fields, kernels
from credwarp.errors import InputError
from credwarp.phantom import pair as phantom_pair
from credwarp.space import Affine, Grid, prepare, sample
from grids import ORIENTATIONS, grid
from pairs import smooth_noise, textured
from runs import smooth_run


@pytest.fixture(scope="module")
def oblique_run():
    """A phantom whose moving image was scanned tilted, larger, and on anisotropic voxels."""
    matrix = np.diag([1.04, 1.04, 1.04, 1.0])
    matrix[:3, 3] = [5.0, -3.0, 2.0]
    initial = Affine(matrix)
    base = grid((30, 24, 28), (7.0, 9.0, 8.0), ORIENTATIONS[21], (4.0, -6.0, 8.0))
    affine = base.affine.copy()
    affine[:3, 3] -= base.centre
    tilted = Grid(base.shape, affine)
    heads = phantom_pair((28, 32, 24), affine=initial, moving_grid=tilted)
    return heads, smooth_run(prepare(heads.fixed, heads.moving, initial), chains=2, draws=4)


def test_warps_take_points_of_fixed_to_points_of_the_moving_image_as_it_was_given(oblique_run):
    heads, run = oblique_run
    pair = run.pair
    smooth = torch.from_numpy(pair.grid.points() @ [0.2, -0.3, 0.5]).float()
    ramp = heads.moving.image.with_data(
        torch.from_numpy(heads.moving.image.grid.points() @ [0.2, -0.3, 0.5]).float()
    )
    assert smooth.shape == pair.grid.shape
    middle = (slice(6, -6),) * 3
    for field, warp in zip(run.displacements(3), run.warps(3), strict=True):
        seen = sample(ramp, warp(pair.grid.points()), order=1)[middle]
        through = pair.initial(pair.grid.points()) @ [0.2, -0.3, 0.5]
        known = kernels.warp(torch.from_numpy(through).float()[None], field)[0, 0].numpy()[middle]
        assert np.abs(seen - known).max() < 1e-3 * np.ptp(known)


def test_the_other_way_undoes_it(oblique_run):
    _, run = oblique_run
    middle = run.pair.grid.points()[8:-8, 8:-8, 8:-8].reshape(-1, 3)
    for there, back in zip(run.warps(3), run.warps(3, to="moving"), strict=True):
        moved = np.linalg.norm(there(middle) - run.pair.initial(middle), axis=1).max()
        left = np.linalg.norm(back(there(middle)) - middle, axis=1).max()
        assert moved > 4.0
        assert left < 0.05 * moved


def test_displacements_are_those_of_the_drawn_parameters():
    run = smooth_run(textured((9, 8, 10), torch.float32), chains=3, draws=5)
    for (chain, draw), field in zip(run.places(7), run.displacements(7), strict=True):
        w = run.draws.values[chain, draw][None]
        assert torch.equal(field, run.transform.displacement(w))
        assert not field.requires_grad
    assert len(list(run.displacements())) == 15


def test_a_few_draws_are_spread_evenly_over_chains_and_draws():
    run = smooth_run(textured((8, 8, 8), torch.float32), chains=4, draws=25)
    assert run.places() == [(chain, draw) for chain in range(4) for draw in range(25)]
    assert run.places(4) == [(chain, 12) for chain in range(4)]
    flat = [chain * 25 + draw for chain, draw in run.places(30)]
    assert len(set(flat)) == 30
    assert set(np.diff(flat)) <= {3, 4}


def test_a_notebook_shows_what_there_is_without_a_report():
    run = smooth_run(textured((8, 9, 10), torch.float32), chains=2, draws=6)
    assert "12 draws of 2 chains on 8 × 9 × 10 voxels" in run._repr_html_()


@pytest.mark.parametrize("count", [0, -1, 13])
def test_more_draws_than_there_are_is_one_sentence(count):
    run = smooth_run(textured((8, 8, 8), torch.float32))
    with pytest.raises(InputError, match="the run holds 12; ask for 1 to 12"):
        next(run.displacements(count))


def test_the_inverse_is_the_flow_backwards():
    run = smooth_run(textured((12, 12, 12), torch.float32), size=0.5)
    there, back = next(run.displacements(1)), next(run.inverse_displacements(1))
    left = fields.compose(there, back)[..., 3:-3, 3:-3, 3:-3]
    assert float(left.abs().max()) < 0.05 * float(there.abs().max())


def test_held_draws_come_as_float32():
    values = smooth_noise((1, 2, 3, 4, 4, 4), 1.0, 0)
    run = smooth_run(textured((8, 8, 8), torch.float32), chains=1, draws=2)
    assert type(run.draws)(values).parameters(0, 1).dtype == torch.float32
    assert type(run.draws)(values).parameters(0, 1).shape == (1, 3, 4, 4, 4)
