"""Random deformations of a head: invertible, of the size asked for, smooth, still where there is no head."""

import numpy as np
import pytest
import torch

from credwarp import fields
from credwarp.phantom import deformation
from credwarp.phantom.deformation import COARSE, FINE, drawn, on_grid
from credwarp.space import Grid


@pytest.fixture(scope="module")
def flow():
    return drawn(0, 2.9)


@pytest.fixture(scope="module")
def points():
    return np.random.default_rng(0).uniform(-65, 65, (5000, 3))


def test_there_and_back_is_the_identity(flow, points):
    for there, back in ((flow.forward, flow.inverse), (flow.inverse, flow.forward)):
        missed = np.linalg.norm(back(there(points)) - points, axis=1)
        assert missed.mean() < 0.03
        assert missed.max() < 0.2


def test_single_precision_carries_points_to_the_same_places(flow, points):
    places = points.T.astype(np.float32)
    np.testing.assert_allclose(flow.carry(places).T, flow.forward(points), atol=1e-3)
    np.testing.assert_allclose(flow.carry_back(places).T, flow.inverse(points), atol=1e-3)


def test_it_moves_as_far_as_asked_and_has_no_folds(flow):
    length = COARSE.spacing[0] * torch.linalg.vector_norm(flow.there, dim=0)
    inside = torch.from_numpy(np.linalg.norm(COARSE.points() / deformation.RADII, axis=-1) < 0.8)
    assert length[inside].mean() == pytest.approx(2.9, rel=0.15)
    assert length.max() < deformation.LARGEST
    assert fields.folds(fields.smallest_determinant(on_grid(flow.there, FINE)[None])) == 0


def test_a_stronger_one_is_held_back_before_it_folds():
    strong = drawn(1, 9.0)
    assert fields.jacobian_determinant(strong.there[None]).min() > deformation.LEAST_DETERMINANT
    assert COARSE.spacing[0] * torch.linalg.vector_norm(strong.there, dim=0).max() < deformation.LARGEST


def test_nothing_moves_at_the_border_of_the_lattice(flow):
    border = torch.ones(COARSE.shape, dtype=torch.bool)
    border[1:-1, 1:-1, 1:-1] = False
    assert flow.velocity[:, border].abs().max() < 1e-20
    assert flow.there[:, border].abs().max() < 0.01


def test_a_field_read_at_its_own_voxels_is_itself_and_in_another_grids_voxels_scaled(flow):
    torch.testing.assert_close(on_grid(flow.velocity, COARSE), flow.velocity, atol=1e-5, rtol=0)
    affine = COARSE.affine.copy()
    affine[:3, :3] = np.diag([2.0, 4.0, 8.0])
    shape = (2 * COARSE.shape[0] - 1, COARSE.shape[1], COARSE.shape[2] // 2)
    found = on_grid(flow.velocity, Grid(shape, affine))[:, ::2]
    scale = torch.tensor([2.0, 1.0, 0.5]).view(3, 1, 1, 1)
    torch.testing.assert_close(found, scale * flow.velocity[:, :, :, : 2 * shape[2] : 2], atol=1e-5, rtol=0)
