"""Every parametrisation makes a smooth invertible displacement out of its parameters."""

from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
import torch
from scipy.interpolate import BSpline

from credwarp import fields
from credwarp.space import Grid
from credwarp.transforms import BsplineSvf, DenseSvf, Transform, interpolation
from pairs import smooth_parameters

MEMBERS = get_args(get_args(Transform)[0])
GRID = Grid.isotropic((17, 14, 20), 1.5)
CHOICES = [
    DenseSvf(coarsening=1, squarings=6),
    DenseSvf(coarsening=2, squarings=6),
    DenseSvf(coarsening=3, squarings=6),
    BsplineSvf(spacing=2.0, coarsening=1, squarings=6),
    BsplineSvf(spacing=(2.5, 4.0, 1.0), coarsening=2, squarings=6),
]


def test_the_choices_above_name_every_member_of_the_room():
    assert {type(choice) for choice in CHOICES} == set(MEMBERS)


@pytest.mark.parametrize("choice", CHOICES)
def test_no_velocity_moves_nothing(choice):
    svf = choice.bind(GRID)
    w = torch.zeros((2, 3, *svf.parameters.shape), dtype=torch.float64)
    assert torch.equal(svf.displacement(w), torch.zeros((2, 3, *GRID.shape), dtype=torch.float64))


@pytest.mark.parametrize("choice", CHOICES)
def test_a_constant_velocity_is_a_translation_in_voxels_of_the_data(choice):
    svf = choice.bind(GRID)
    speed = torch.tensor([0.7, -1.2, 0.4], dtype=torch.float64).view(3, 1, 1, 1)
    w = speed.expand(1, 3, *svf.parameters.shape).contiguous()
    assert torch.allclose(svf.displacement(w), speed.expand(1, 3, *GRID.shape), atol=1e-6)


@pytest.mark.parametrize("choice", CHOICES)
def test_a_linear_velocity_is_reproduced_in_the_middle(choice):
    svf = choice.bind(GRID)
    data = torch.from_numpy(svf.grid.to_voxels(svf.parameters.points())).movedim(-1, 0)
    centre = (torch.tensor(GRID.shape) - 1).view(3, 1, 1, 1) / 2
    w = 0.1 * (data - centre)[None].contiguous()
    x = torch.arange(GRID.shape[0], dtype=torch.float64)
    truth = (np.exp(0.1) - 1) * (x - centre[0])
    moved = svf.displacement(w)[0, 0, 5:-5, 7, 10]
    assert torch.allclose(moved, truth.view(-1)[5:-5], atol=5e-3)


@pytest.mark.parametrize("choice", CHOICES)
def test_minus_the_velocity_inverts(choice):
    svf = choice.bind(Grid.isotropic((24, 24, 24)))
    w = smooth_parameters(svf.parameters.shape, 1.0, sd=4.0)
    there, back = svf.displacement(w), svf.inverse_displacement(w)
    left_over = fields.compose(there, back)[:, :, 5:-5, 5:-5, 5:-5]
    assert left_over.norm(dim=1).max() < 0.05 * there.norm(dim=1).max()


@pytest.mark.parametrize("choice", CHOICES)
def test_the_displacement_has_an_exact_gradient(choice):
    svf = replace(choice.bind(Grid.isotropic((6, 5, 7))), squarings=3)
    w = smooth_parameters(svf.parameters.shape, 0.7, chains=1).requires_grad_(True)
    assert torch.autograd.gradcheck(svf.displacement, (w,), eps=1e-7, atol=1e-5, fast_mode=True)


@pytest.mark.parametrize("choice", [DenseSvf(), BsplineSvf(), BsplineSvf(spacing=4.0)])
def test_auto_takes_few_squarings_and_keeps_the_error_under_a_fiftieth_of_a_voxel(choice):
    svf = choice.bind(Grid.isotropic((24, 24, 24)))
    w = smooth_parameters(svf.parameters.shape, 3.0)
    tuned = svf.tuned(w)
    assert tuned.squarings < 12
    assert tuned.integration_error(w) <= 0.025


def test_long_voxels_are_not_made_longer():
    thick = Grid((20, 20, 6), np.diag([1.0, 1.0, 5.0, 1.0]))
    assert DenseSvf(coarsening=2).bind(thick).factors == (2, 2, 1)


def test_the_coarse_grid_lies_where_the_up_sampling_says():
    for sides, factor in [(8, 2), (9, 2), (10, 3), (5, 4)]:
        fine = Grid.isotropic((sides, 4, 4))
        coarse = fine.with_spacing([float(factor), 1.0, 1.0])
        places = fine.to_voxels(coarse.points()[:, 0, 0])[:, 0]
        count, first = interpolation.coarse_positions(sides, factor)
        assert np.allclose(places, first + factor * np.arange(count))
        line = interpolation.cubic(sides, factor) @ torch.from_numpy(places)
        assert torch.allclose(line, torch.arange(sides, dtype=torch.float64))


@pytest.mark.parametrize(("sides", "spacing"), [(17, 2.0), (20, 4.0), (9, 1.0), (13, 2.5)])
def test_the_spline_is_scipys(sides, spacing):
    matrix = interpolation.cubic_bspline(sides, spacing, 1)
    controls = matrix.shape[1]
    knots = spacing * (np.arange(controls + 4) - 3.0)
    truth = BSpline.design_matrix(np.arange(sides, dtype=float), knots, 3).toarray()
    assert np.allclose(matrix, truth, atol=1e-12)
