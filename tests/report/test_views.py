"""Volumes of the page are upright, hold the anatomy, and can be read back."""

import base64
import zlib

import numpy as np
import pytest
import torch

from credwarp.report import layers as room
from credwarp.report.layers import layers
from credwarp.report.views import View, packed, upper_limit, window
from credwarp.space import Grid
from findings import whole
from grids import ORIENTATIONS, grid

SHAPE = (9, 12, 10)


@pytest.mark.parametrize("orientation", ORIENTATIONS[::5])
def test_however_an_image_is_stored_the_page_shows_it_along_r_a_s(orientation):
    source = grid(SHAPE, (1.5, 2.0, 1.0), orientation)
    ramp = torch.from_numpy(source.points() @ [3.0, -1.0, 2.0]).float()
    view = View.of(source, torch.ones(SHAPE, dtype=torch.bool))
    ends = (float(ramp.min()), float(ramp.max()))
    seen = view.image(ramp, ends)
    assert view.grid.orientation == "RAS"
    known = (view.grid.points() @ [3.0, -1.0, 2.0] - ends[0]) / (ends[1] - ends[0]) * 255
    assert np.abs(seen - known).max() <= 0.5 + 1e-3


def test_a_view_is_cropped_to_the_mask_with_a_margin():
    source = Grid.isotropic((60, 50, 40), 1.0)
    mask = torch.zeros(source.shape, dtype=torch.bool)
    mask[20:30, 20:30, 2:30] = True
    view = View.of(source, mask)
    assert view.grid.shape == (26, 26, 38)
    assert int(view.inside.sum()) == int(mask.sum())
    assert np.allclose(view.grid.to_world(np.zeros(3)), source.to_world(np.array([12.0, 12.0, 0.0])))


def test_maps_keep_their_values_to_half_a_step_and_are_zero_outside():
    source = Grid.isotropic(SHAPE)
    data = torch.linspace(0, 5, int(np.prod(SHAPE))).reshape(SHAPE)
    mask = torch.ones(SHAPE, dtype=torch.bool)
    mask[0] = False
    seen = View.of(source, mask).map(data, (0.0, 5.0)).astype(float)
    assert (seen[0] == 0).all()
    assert np.abs((seen[1:] - 1) / 254 * 5 - np.asarray(data[1:])).max() <= 5 / 254 / 2 + 1e-6


def test_labels_are_numbered_in_the_order_of_their_rows():
    source = Grid.isotropic(SHAPE)
    data = torch.zeros(SHAPE, dtype=torch.int32)
    data[1], data[2], data[3] = 40, 7, 99
    seen = View.of(source, torch.ones(SHAPE, dtype=torch.bool)).labels(data, [7, 40])
    assert [int(seen[k].max()) for k in range(4)] == [0, 2, 1, 0]


@pytest.mark.parametrize("relative", [False, True])
def test_what_is_packed_comes_back(relative):
    generator = np.random.default_rng(0)
    data, other = generator.integers(0, 256, (2, 5, 6, 7)).astype(np.uint8)
    text = packed(data, other if relative else None)
    bytes_back = np.frombuffer(zlib.decompress(base64.b64decode(text)), np.uint8).reshape(data.shape)
    assert (bytes_back + (other if relative else 0) == data).all()


def test_limits_are_round_and_hold_nearly_everything():
    data = torch.linspace(0, 4.3, 1000).reshape(10, 10, 10)
    mask = torch.ones(data.shape, dtype=torch.bool)
    assert upper_limit(data, mask, 0.1) == 5
    assert upper_limit(torch.zeros_like(data), mask, 0.1) == 0.1
    low, high = window(data, mask)
    assert 0 <= low < 0.1
    assert 4.2 < high <= 4.3


def test_what_is_too_much_for_the_page_is_made_coarser_until_it_fits(monkeypatch):
    findings = whole()
    full = layers(findings)
    monkeypatch.setattr(room, "MOST_BYTES", full.size // 3)
    less = layers(findings)
    assert less.size <= full.size // 3
    assert set(less.each) == set(full.each)
    assert less.view.grid.voxels < full.view.grid.voxels
    assert np.allclose(less.view.grid.centre, full.view.grid.centre)


def test_there_is_a_layer_for_everything_found():
    names = {"fixed", "before", "after", "displacement", "radius95", "jacobian", "folds", "doubt", "labels"}
    assert set(layers(whole()).each) == names | {f"warp{k}" for k in range(3)}


def test_volume_change_reads_the_same_for_halved_and_doubled():
    layer = layers(whole()).each["jacobian"]
    assert layer.low == -layer.high
    assert layer.ticks[2] == "1"
    assert float(layer.ticks[0]) * float(layer.ticks[4]) == pytest.approx(1, rel=0.05)
