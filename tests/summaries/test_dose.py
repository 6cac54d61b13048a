"""Dose: mean, sd and dose-volume histograms are those of doses warped one by one."""

import numpy as np
import pytest
import torch

from credwarp.errors import InputError
from credwarp.space import Affine, Grid, Pair, Volume, look_up
from credwarp.summaries import DoseVolumes, folded
from grids import ORIENTATIONS, grid
from pairs import smooth_noise
from runs import smooth_run

TILTED = grid((20, 18, 16), (1.9, 2.2, 2.4), ORIENTATIONS[22], (0.0, 12.0, 0.0), (0.0, 0.0, 0.0))
GRID = grid((16, 14, 18), (2.0, 2.5, 1.6), ORIENTATIONS[5], (5.0, 0.0, -10.0))

PLACED = TILTED.affine.copy()
PLACED[:3, 3] = GRID.centre - TILTED.centre
SPACE = Grid(TILTED.shape, PLACED)


@pytest.fixture(scope="module")
def case():
    images = smooth_noise((2, *GRID.shape), 1.0, 0, torch.float32)
    everywhere = torch.ones(GRID.shape, dtype=torch.bool)
    initial = np.eye(4)
    initial[:3, 3] = [1.0, 2.0, -1.0]
    pair = Pair(GRID, images[0], images[1], everywhere, everywhere, Affine(initial))
    dose = Volume(SPACE, 30 + 10 * smooth_noise(SPACE.shape, 2.0, 3, torch.float32), "dose")
    structures = torch.zeros(GRID.shape, dtype=torch.int32)
    structures[3:8, 4:9, 5:11], structures[9:13, 4:9, 5:11] = 7, 11
    run = smooth_run(pair, chains=2, draws=5, size=0.8)
    fold = DoseVolumes.of(dose, GRID, pair.initial, structures, (7, 11))
    stored = np.stack([np.asarray(look_up(dose, GRID, warp).data) for warp in run.warps()])
    return folded(run.displacements(), {"dose": fold})["dose"], stored, structures


def test_mean_and_sd_are_those_of_warped_doses(case):
    found, stored, _ = case
    inside = np.abs(stored).min(axis=0) > 0  # half a voxel at the edge of the view is rounding's
    assert inside.mean() > 0.3
    assert np.abs(np.asarray(found.mean) - stored.mean(axis=0))[inside].max() < 1e-2
    assert np.abs(np.asarray(found.sd) - stored.std(axis=0, ddof=1))[inside].max() < 1e-2


def test_histograms_are_the_shares_that_get_at_least_each_level(case):
    found, stored, structures = case
    for index, name in enumerate((7, 11)):
        inside = np.asarray(structures == name)
        for draw, dose in enumerate(stored):
            known = [(dose[inside] >= level).mean() for level in found.levels]
            assert np.abs(found.received[draw, index] - known).max() <= 2.5 / inside.sum()
            assert found.averages[draw, index] == pytest.approx(dose[inside].mean(), abs=1e-3)


def test_bands_are_in_order_and_fall(case):
    low, middle, high = case[0].bands
    assert np.all(low <= middle)
    assert np.all(middle <= high)
    assert np.all(np.diff(middle, axis=-1) <= 0)
    assert np.all(middle[:, 0] == 1.0)


def test_what_the_hottest_part_gets_is_the_quantile_of_its_voxels(case):
    found, stored, structures = case
    step = found.levels[1] - found.levels[0]
    for index, name in enumerate((7, 11)):
        inside = np.asarray(structures == name)
        for draw, dose in enumerate(stored):
            for share in (95, 50, 2):
                known = np.quantile(dose[inside], 1 - share / 100, method="inverted_cdf")
                # Half a share of a voxel lies between two voxels, whose doses may be apart.
                near = np.sort(dose[inside])
                at = np.searchsorted(near, known)
                gap = near[min(at + 1, len(near) - 1)] - near[max(at - 1, 0)]
                assert abs(found.quantities()[f"D{share}"][draw, index] - known) <= step + gap


def test_an_unknown_structure_is_one_sentence(case):
    dose = Volume(SPACE, torch.ones(SPACE.shape), "dose")
    with pytest.raises(InputError, match="structure 9 has no voxels; the structures are 7, 11"):
        DoseVolumes.of(dose, GRID, Affine.identity(), case[2], (7, 9))
