"""The generated pair: its truth is true, its brain plausible, its numbers the same every time."""

import numpy as np
import pytest
import torch

from credwarp import fields, phantom
from credwarp.space import Affine, Chain, Grid, resample, resample_labels, sample

# Millilitres a side, generous bounds of healthy adults.
PLAUSIBLE = {
    4: (4, 14),
    10: (4, 10),
    11: (2.5, 6),
    12: (2.5, 6.5),
    13: (0.9, 2.5),
    16: (15, 28),
    17: (2.3, 5.5),
    18: (0.9, 2.4),
    26: (0.4, 1.3),
}


def dice(a, b):
    present = [label for label in phantom.LABELS if (a == label).any()]
    both = [2.0 * ((a == n) & (b == n)).sum() / ((a == n).sum() + (b == n).sum()) for n in present]
    return float(torch.stack(both).mean())


def millilitres(scan, label):
    return float((scan.labels.data == label).sum()) * np.prod(scan.labels.grid.spacing) / 1000


@pytest.fixture(scope="module")
def pair():
    return phantom.pair()


@pytest.fixture(scope="module")
def close_up():
    """The middle of the head at 1.5 mm, where voxels are not what limits agreement."""
    return phantom.pair((52, 64, 52), seed=1, spacing=1.5)


def test_the_truth_aligns_labels_that_were_apart(pair):
    fixed, moving, truth = pair.fixed.labels, pair.moving.labels, pair.truth
    assert 0.5 < dice(fixed.data, moving.data) < 0.85
    # Voxels of 2.3 × 3 × 2.4 mm hold 50 to 1,000 a structure: the rim alone costs a tenth.
    assert dice(fixed.data, resample_labels(moving, fixed.grid, truth.warp).data) > 0.88


def test_with_fine_voxels_the_truth_aligns_labels_almost_exactly(close_up):
    fixed, moving, truth = close_up.fixed.labels, close_up.moving.labels, close_up.truth
    assert 0.5 < dice(fixed.data, moving.data) < 0.85
    assert dice(fixed.data, resample_labels(moving, fixed.grid, truth.warp).data) > 0.93


def test_the_truth_aligns_images_up_to_contrast(pair):
    fixed, moving, mask = pair.fixed.image, pair.moving.image, pair.fixed.mask.data
    warped = resample(moving, fixed.grid, pair.truth.warp).data
    assert torch.corrcoef(torch.stack([fixed.data.ravel(), warped.ravel()]))[0, 1] > 0.95
    inside = torch.stack([fixed.data[mask], warped[mask]])
    before = torch.stack([fixed.data[mask], moving.data[mask]])
    assert torch.corrcoef(inside)[0, 1] > 0.9
    assert torch.corrcoef(before)[0, 1] < 0.85


def test_the_true_map_is_a_diffeomorphism_of_the_size_of_differences_between_people(pair):
    displacement = pair.truth.displacement[None]
    assert fields.smallest_determinant(displacement).min() > 0.2
    length = torch.linalg.vector_norm(pair.truth.warp.displacement, dim=0)
    assert 2 < length[pair.fixed.mask.data].mean() < 3.5
    assert 5 < length.max() < 10.5


def test_the_true_displacement_is_the_flow_of_the_true_velocity(pair):
    flow = fields.exponential(pair.truth.velocity[None], 8)[0]
    error = torch.linalg.vector_norm(flow - pair.truth.displacement, dim=0)[pair.fixed.mask.data]
    assert error.mean() < 0.02
    assert error.max() < 0.1


def test_landmarks_are_the_same_place_in_both(pair):
    truth = pair.truth
    assert len(truth.fixed_landmarks) == len(phantom.landmark_names())
    through = truth.warp(truth.fixed_landmarks)
    assert np.linalg.norm(through - truth.moving_landmarks, axis=1).max() < 0.1
    assert np.linalg.norm(truth.fixed_landmarks - truth.moving_landmarks, axis=1).mean() > 1.5


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("right thalamus", 49),
        ("left thalamus", 10),
        ("left putamen", 12),
        ("right amygdala", 54),
        ("pons", 16),
    ],
)
def test_a_landmark_lies_in_the_structure_it_names(pair, name, label):
    row = phantom.landmark_names().index(name)
    for scan, points in (
        (pair.fixed, pair.truth.fixed_landmarks),
        (pair.moving, pair.truth.moving_landmarks),
    ):
        voxel = np.rint(scan.labels.grid.to_voxels(points[row])).astype(int)
        assert scan.labels.data[tuple(voxel)] == label


def test_all_structures_are_there_with_plausible_volumes(pair):
    for scan in (pair.fixed, pair.moving):
        assert scan.labels.labels == phantom.LABELS
        for left, (low, high) in PLAUSIBLE.items():
            right = {4: 43, 16: 16, 26: 58}.get(left, left + 39 if left < 14 else left + 36)
            assert low < millilitres(scan, left) < high, left
            assert 0.6 < millilitres(scan, right) / millilitres(scan, left) < 1.7, left
        assert 1300 < float(scan.mask.data.sum()) * np.prod(scan.mask.grid.spacing) / 1000 < 2000


def test_the_background_is_zero_and_the_brain_does_not_touch_the_border(pair):
    for scan in (pair.fixed, pair.moving):
        assert scan.image.data[~scan.mask.data].abs().max() == 0
        assert scan.image.data[scan.mask.data].min() > 0
        assert not (scan.labels.data[~scan.mask.data]).any()
        border = torch.ones_like(scan.mask.data)
        border[1:-1, 1:-1, 1:-1] = False
        assert not (scan.mask.data & border).any()


def test_fluid_is_dark_and_white_matter_bright_on_another_scale_in_each_scan(pair):
    means = []
    for scan in (pair.fixed, pair.moving):
        tissue = [float(scan.image.data[scan.labels.data == label].mean()) for label in (4, 17, 11, 10, 13)]
        assert tissue == sorted(tissue)
        means.append(tissue)
    ratios = np.divide(*means)
    assert ratios.max() / ratios.min() > 1.05


def test_the_same_seed_is_the_same_pair_and_another_is_not():
    first, second = (phantom.pair((12, 10, 8), seed=3, spacing=4.0) for _ in range(2))
    assert torch.equal(first.fixed.image.data, second.fixed.image.data)
    assert torch.equal(first.moving.image.data, second.moving.image.data)
    assert torch.equal(first.truth.velocity, second.truth.velocity)
    other = phantom.pair((12, 10, 8), seed=4, spacing=4.0)
    assert not torch.equal(first.truth.velocity, other.truth.velocity)
    assert not torch.equal(first.fixed.labels.data, other.fixed.labels.data)


def test_the_fixed_side_of_a_pair_is_the_subject_of_its_seed():
    alone = phantom.subject(3, (12, 10, 8), 4.0)
    pair = phantom.pair((12, 10, 8), seed=3, spacing=4.0)
    assert torch.equal(alone.scan.image.data, pair.fixed.image.data)


@pytest.mark.parametrize(
    ("shape", "spacing"),
    [
        ((16, 16, 16), None),
        ((24, 40, 18), None),
        ((15, 64, 33), (10.0, 3.0, 5.0)),
        ((40, 40, 3), (4.0, 5.0, 20.0)),
    ],
)
def test_any_size_and_spacing_will_do(shape, spacing):
    found = phantom.pair(shape, seed=2, spacing=spacing)
    assert found.fixed.image.grid.shape == shape
    if spacing is not None:
        assert found.fixed.image.grid.spacing == pytest.approx(spacing)
    for scan in (found.fixed, found.moving):
        assert scan.mask.data.any()
        assert torch.isfinite(scan.image.data).all()
    assert found.truth.velocity.shape == (3, *shape)


def test_sizes_and_spacings_agree_on_one_anatomy_and_one_truth():
    """The volumes, and the displacement at places that both grids have, up to what a voxel cannot hold."""
    coarse = phantom.pair((31, 39, 33), seed=5, spacing=5.0)
    fine = phantom.pair((61, 77, 65), seed=5, spacing=2.5)
    difference = coarse.truth.warp.displacement - fine.truth.warp.displacement[:, ::2, ::2, ::2]
    assert difference.abs().max() < 1e-3
    for label in (16, 10, 49):
        assert millilitres(coarse.fixed, label) == pytest.approx(millilitres(fine.fixed, label), rel=0.06)
    np.testing.assert_allclose(coarse.truth.fixed_landmarks, fine.truth.fixed_landmarks)


def test_a_misaligned_moving_head_on_its_own_grid_is_where_the_truth_says():
    turn = np.eye(4)
    turn[:3, :3] = 1.05 * np.array([[0.96, -0.28, 0], [0.28, 0.96, 0], [0, 0, 1.0]])
    turn[:3, 3] = [12, -8, 15]
    axes = np.array([[0, 0, 3.2, -90], [-3.0, 0, 0, 120], [0, 3.1, 0, -90], [0, 0, 0, 1]])
    grid = Grid((80, 64, 60), axes)
    found = phantom.pair((40, 50, 40), seed=6, affine=Affine(turn), moving_grid=grid)
    assert found.moving.image.grid == grid
    labels = found.fixed.labels
    aligned = resample_labels(found.moving.labels, labels.grid, found.truth.warp).data
    assert dice(labels.data, aligned) > 0.8
    assert dice(labels.data, resample_labels(found.moving.labels, labels.grid).data) < 0.3
    pons = phantom.landmark_names().index("pons")
    seen = sample(found.moving.image, found.truth.moving_landmarks[pons][None])
    assert seen > 0


def test_two_subjects_of_a_population_are_joined_by_a_known_map():
    first, second = phantom.population(2, (40, 50, 40), seed=10)
    labels = first.scan.labels
    across = Chain((first.deformation.forward, second.deformation.inverse))
    assert dice(labels.data, second.scan.labels.data) < 0.85
    assert dice(labels.data, resample_labels(second.scan.labels, labels.grid, across).data) > 0.85
    np.testing.assert_allclose(across(first.landmarks), second.landmarks, atol=0.2)
