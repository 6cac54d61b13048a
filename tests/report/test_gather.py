"""Findings of a run are those of its own draws."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from credwarp import kernels
from credwarp.fields import to_millimetres
from credwarp.report import gather, render
from findings import quality
from pairs import textured
from runs import smooth_run


@pytest.fixture(scope="module")
def run():
    return smooth_run(textured((14, 16, 12), torch.float32, spacing=2.0), chains=2, draws=5)


def test_maps_are_those_of_the_draws(run):
    found = gather(run, quality())
    draws = torch.cat(list(run.displacements()))
    mean = draws.mean(0)
    length = np.linalg.norm(np.asarray(to_millimetres(mean, run.pair.grid)), axis=0)
    assert np.allclose(np.asarray(found.maps.displacement), length, atol=1e-5)
    assert torch.allclose(found.after, kernels.warp(run.pair.moving[None], mean[None])[0, 0], atol=1e-5)
    assert len(found.plausible) == 10
    assert torch.equal(found.plausible[3], kernels.warp(run.pair.moving[None], draws[3:4])[0, 0])


def test_the_radius_holds_the_share_it_claims():
    """Of many draws of one law about 95 % lie within it, whatever the shape of their spread."""
    run = smooth_run(textured((10, 10, 10), torch.float32), chains=2, draws=6, size=0.3)
    radius = gather(run, quality()).maps.radius95
    draws = torch.cat(list(run.displacements()))
    away = torch.linalg.vector_norm(draws - draws.mean(0), dim=1)
    # These draws are the ones that the spread was measured on: seldom is one of the 12 outside.
    assert 0.9 < float((away <= radius).float().mean()) <= 1
    assert float(radius.min()) > 0


def test_residuals_are_counted_once_per_voxel_that_counts(run):
    found = gather(run, quality())
    assert 0 < int(found.residuals.counts.sum()) <= run.pair.grid.voxels
    assert len(found.residuals.edges) == len(found.residuals.counts) + 1


def test_a_single_draw_claims_no_uncertainty():
    run = smooth_run(textured((10, 10, 10), torch.float32), chains=1, draws=1)
    found = gather(run, quality(method="map"))
    assert found.maps.radius95 is None
    assert found.plausible == ()


def test_a_run_makes_a_page(run):
    page = render(gather(run, quality()))
    assert 'id="volume-warp9"' in page
    assert 'id="volume-radius95"' in page


def test_maps_are_shown_where_there_is_anatomy_without_holes():
    pair = textured((24, 24, 24), torch.float32)
    inside = torch.zeros(pair.grid.shape, dtype=torch.bool)
    inside[6:18, 6:18, 6:18] = True
    hollow = inside.clone()
    hollow[11:13, 11:13, 11:13] = False
    flat = replace(pair, fixed=pair.fixed * hollow, moving=pair.moving * hollow)
    mask = gather(smooth_run(flat, draws=2, size=0.1), quality()).mask
    assert bool(mask[7:17, 7:17, 7:17].all())
    assert float(mask[~inside].float().mean()) < 0.4
    assert not bool(mask[0].any())
