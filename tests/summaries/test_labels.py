"""Probabilities, volumes, Dice and surfaces are those of one-hot maps warped one by one; MONAI agrees."""

import numpy as np
import pytest
import torch
from monai.metrics import compute_average_surface_distance, compute_hausdorff_distance

from credwarp import kernels
from credwarp.errors import InputError
from credwarp.fields import to_millimetres
from credwarp.space import Affine, Grid, Pair, Volume, look_up, resample_labels
from credwarp.space.maps import Warp
from credwarp.summaries import LabelVotes, dice, folded
from grids import ORIENTATIONS, grid
from pairs import smooth_noise
from runs import smooth_run

GRID = grid((20, 18, 22), (1.5, 2.0, 1.2), ORIENTATIONS[13], (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
NAMES = (4, 17, 53, 2005)


def balls(space: Grid, seed: int, radius: float, centre=None) -> Volume:
    """Touching balls, and one voxel that stands alone."""
    random = np.random.default_rng(seed)
    points = space.points()
    middle = space.centre if centre is None else centre
    data = torch.zeros(space.shape, dtype=torch.int32)
    for name in NAMES[:3]:
        offset = middle + random.uniform(-5, 5, 3)
        data[torch.from_numpy(np.linalg.norm(points - offset, axis=-1) < radius)] = name
    data[5, 6, 7] = NAMES[3]
    return Volume(space, data, "labels")


def centred(shape, spacing, orientation, centre) -> Grid:
    """An oblique grid round a point."""
    tilted = grid(shape, spacing, ORIENTATIONS[orientation], (10.0, -12.0, 8.0), (0.0, 0.0, 0.0))
    affine = tilted.affine.copy()
    affine[:3, 3] = centre - tilted.centre
    return Grid(shape, affine)


@pytest.fixture(scope="module")
def run():
    images = smooth_noise((2, *GRID.shape), 1.0, 0, torch.float32)
    everywhere = torch.ones(GRID.shape, dtype=torch.bool)
    pair = Pair(GRID, images[0], images[1], everywhere, everywhere, Affine.identity())
    return smooth_run(pair, chains=2, draws=4, size=1.2)


@pytest.fixture(scope="module")
def moving():
    return balls(GRID, 0, 8.0)


@pytest.fixture(scope="module")
def fixed():
    return balls(GRID, 1, 7.0)


@pytest.fixture(scope="module")
def found(run, moving, fixed):
    fold = LabelVotes.of(moving, GRID, Affine.identity(), fixed.data)
    return folded(run.displacements(), {"labels": fold})["labels"]


@pytest.fixture(scope="module")
def stored(run, moving):
    """Shares: draws × labels × voxels, the background first."""
    each = torch.stack([(moving.data == name).float() for name in (0, *NAMES)])
    return torch.cat([kernels.warp(each, field) for field in run.displacements()])


def test_probabilities_are_the_means_of_warped_shares(found, stored):
    shares = stored.mean(dim=0)
    for index, name in enumerate(NAMES, start=1):
        assert torch.allclose(found.probability(name), shares[index], atol=1e-5)
        assert float(found.probability(name).max()) > 0
    assert torch.allclose(found.background(), shares[0], atol=1e-5)


def test_probabilities_sum_to_one_with_the_background(found):
    total = found.background() + sum(found.probability(name) for name in NAMES)
    assert torch.allclose(total, torch.ones(GRID.shape), atol=1e-5)


def test_the_most_probable_map_keeps_every_label(found, stored):
    best = found.most_probable()
    assert best.dtype == torch.int32
    assert set(best.unique().tolist()) == {0, *NAMES}
    top = stored.mean(dim=0).topk(2, dim=0)
    clear = (top.values[0] - top.values[1] > 1e-4) & (best != NAMES[3])
    assert torch.equal(best[clear], torch.tensor((0, *NAMES), dtype=torch.int32)[top.indices[0]][clear])


def hard(stored):
    return torch.tensor((0, *NAMES))[stored.argmax(dim=1)]


def test_volumes_are_of_shares_and_dice_of_each_draws_map(found, stored, fixed):
    voxel = 1.5 * 2.0 * 1.2
    assert torch.allclose(found.volumes, stored[:, 1:].double().sum(dim=(2, 3, 4)) * voxel, rtol=1e-5)
    for draw, own in enumerate(hard(stored)):
        known = dice(own, fixed.data)
        ours = found.agreement.dice[draw].tolist()
        assert ours == pytest.approx([known[name] for name in NAMES], abs=0.01)


def test_before_is_without_displacement(found, moving, fixed):
    known = dice(moving.data, fixed.data)
    assert found.agreement.before[0].tolist() == pytest.approx([known[name] for name in NAMES])


def one_hot(labels):
    return torch.stack([(labels == name).float() for name in (0, *NAMES[:3])])[None]


def test_surface_distances_are_monais(found, stored, fixed):
    for draw, own in enumerate(hard(stored)):
        pair = one_hot(own), one_hot(fixed.data)
        there, back = (
            compute_average_surface_distance(a, b, symmetric=False, spacing=list(GRID.spacing))[0]
            for a, b in (pair, pair[::-1])
        )
        far = compute_hausdorff_distance(*pair, percentile=95, spacing=list(GRID.spacing))[0]
        ours = found.agreement
        assert torch.allclose(ours.distance[draw, :3], (there + back).double() / 2, atol=0.02)
        assert torch.allclose(ours.hausdorff95[draw, :3], far.double(), atol=1e-3)


def test_the_lone_voxels_surfaces_are_found_however_far(moving):
    data = torch.zeros(GRID.shape, dtype=torch.int32)
    data[19, 17, 21] = NAMES[3]
    fold = LabelVotes.of(moving, GRID, Affine.identity(), data)
    still = torch.zeros((1, 3, *GRID.shape))
    agreement = folded([still], {"labels": fold})["labels"].agreement
    far = float(np.linalg.norm(np.array([14, 11, 14]) * GRID.spacing))
    assert agreement.distance[0, 3] == pytest.approx(far)
    assert agreement.hausdorff95[0, 3] == pytest.approx(far)
    assert bool(agreement.distance[0, :3].isnan().all())
    assert agreement.dice[0].tolist() == [0.0] * 4


def test_labels_on_voxels_of_their_own_are_read_there(run):
    turn = np.eye(4)
    turn[:3, :3] += np.random.default_rng(2).normal(size=(3, 3)) * 0.05
    turn[:3, 3] = [4.0, -3.0, 2.0]
    through = Affine(turn)
    space = centred((17, 25, 19), (1.8, 1.3, 2.1), 40, through(GRID.centre[None])[0])
    labels = balls(space, 3, 8.0, through(GRID.centre[None])[0])
    found = folded(run.displacements(3), {"labels": LabelVotes.of(labels, GRID, through)})["labels"]
    shares = torch.zeros(GRID.shape)
    for field in run.displacements(3):
        warp = Warp(GRID, to_millimetres(field[0], GRID), Affine.identity(), through)
        member = labels.with_data((labels.data == NAMES[1]).float())
        shares += look_up(member, GRID, warp).data / 3
    assert float(shares.max()) > 0.5
    assert torch.allclose(found.probability(NAMES[1]), shares, atol=1e-4)


def test_without_displacement_a_draws_map_is_the_resampled_one(moving):
    space = centred((15, 16, 18), (1.9, 2.1, 1.4), 7, GRID.centre)
    still = torch.zeros((1, 3, *space.shape))
    found = folded([still], {"labels": LabelVotes.of(moving, space, Affine.identity())})["labels"]
    other = resample_labels(moving, space)
    same = (found.most_probable() == other.data).float().mean()
    assert float(same) > 0.98


def test_boxes_grow_with_the_displacements(moving):
    """The first draws move nothing, the last one far."""
    field = torch.zeros((1, 3, *GRID.shape))
    far = field.clone()
    far[:, 0], far[:, 2] = -6.0, 5.0
    fold = LabelVotes.of(moving, GRID, Affine.identity())
    found = folded([field, field, far], {"labels": fold})["labels"]
    each = torch.stack([(moving.data == name).float() for name in NAMES])
    shares = (2 * each + kernels.warp(each, far)[0]) / 3
    for index, name in enumerate(NAMES):
        assert torch.allclose(found.probability(name), shares[index], atol=1e-6)


def test_labels_that_no_draw_reaches_are_nowhere(moving):
    away = np.eye(4)
    away[0, 3] = 500.0
    still = torch.zeros((1, 3, *GRID.shape))
    found = folded([still], {"labels": LabelVotes.of(moving, GRID, Affine(away))})["labels"]
    assert float(found.background().min()) == 1.0
    assert found.volumes.tolist() == [[0.0] * 4]
    assert found.most_probable().unique().tolist() == [0]


def test_an_unknown_label_is_one_sentence(found, moving):
    with pytest.raises(InputError, match="label 9 is not among the labels, which are 4, 17, 53, 2005"):
        found.probability(9)
    nothing = moving.with_data(torch.zeros_like(moving.data))
    with pytest.raises(InputError, match="holds background only"):
        LabelVotes.of(nothing, GRID, Affine.identity())
