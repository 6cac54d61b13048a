"""Maps of points go one after the other in the order that their names say."""

import numpy as np
import pytest
import torch

from credwarp.errors import InputError
from credwarp.space import Affine, Chain, Grid, Warp

TURN = Affine(np.array([[0.0, -1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]))
SHIFT = Affine(np.array([[1.0, 0, 0, 10], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]))
POINTS = np.array([[1.0, 2.0, 3.0], [-4.0, 0.5, 0.0]])


def test_after_goes_first_by_the_one_in_brackets():
    assert np.allclose(TURN.after(SHIFT)(POINTS), TURN(SHIFT(POINTS)))
    assert np.allclose(SHIFT.after(TURN)(np.array([[1.0, 0, 0]])), [[10.0, 1, 0]])
    assert not np.allclose(TURN.after(SHIFT)(POINTS), SHIFT.after(TURN)(POINTS))


def test_the_inverse_leads_back():
    there = TURN.after(SHIFT)
    assert np.allclose(there.inverse()(there(POINTS)), POINTS)


def test_a_chain_begins_with_its_first_link():
    grid = Grid.isotropic((40, 40, 40))
    raised = torch.zeros((3, *grid.shape))
    raised[2] = 5.0
    warp = Warp(grid, raised, Affine.identity(), Affine.identity())
    found = Chain((SHIFT, warp, TURN))(POINTS)
    assert np.allclose(found, TURN(SHIFT(POINTS) + [0, 0, 5.0]))


def test_a_map_that_flattens_space_is_refused_in_a_sentence():
    with pytest.raises(InputError, match="no inverse"):
        Affine(np.diag([1.0, 1.0, 0.0, 1.0]))
