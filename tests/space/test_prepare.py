"""Two scans become one pair, or a sentence."""

import logging

import numpy as np
import pytest
import torch

from credwarp.errors import InputError
from credwarp.space import Affine, Grid, Scan, Volume, coarsened, prepare

SPACE = Grid.isotropic((16, 18, 14), 2.0)


def image(space: Grid = SPACE, name: str = "image") -> Volume:
    points = space.points()
    return Volume(space, torch.from_numpy(np.sin(points * 0.2).sum(-1)).float(), name)


def moved(space: Grid, matrix: np.ndarray) -> Grid:
    return Grid(space.shape, matrix @ space.affine)


def test_the_pair_lives_on_the_fixed_frame_at_the_working_spacing():
    pair = prepare(Scan(image()), Scan(image(Grid.isotropic((20, 20, 20), 1.5))), spacing=3.0)
    assert np.allclose(pair.grid.spacing, 3.0)
    assert np.allclose(pair.grid.centre, SPACE.centre)


def test_an_initial_transform_that_undoes_a_move_makes_the_images_equal():
    move = np.array([[0.96, -0.28, 0, 4], [0.28, 0.96, 0, -3], [0, 0, 1, 2], [0, 0, 0, 1.0]])
    elsewhere = Volume(moved(SPACE, move), image().data)
    pair = prepare(Scan(image()), Scan(elsewhere), initial=Affine(move))
    assert torch.allclose(pair.fixed, pair.moving, atol=1e-4)
    assert bool(pair.moving_mask.all())


def test_voxels_beyond_the_moving_field_of_view_are_masked():
    half = Volume(Grid((8, 18, 14), SPACE.affine), image().data[:8].clone())
    pair = prepare(Scan(image()), Scan(half))
    assert bool(pair.moving_mask[:8].all())
    assert not bool(pair.moving_mask[8:].any())
    assert float(pair.moving[8:].max()) == pytest.approx(float(half.data.min()))


def test_a_mask_on_another_grid_is_resampled_with_a_count(caplog):
    fine = Grid.isotropic((32, 36, 28), 1.0)
    mask = Volume(fine, torch.ones(fine.shape, dtype=torch.bool), "mask.nii")
    with caplog.at_level(logging.WARNING):
        pair = prepare(Scan(image(), mask=mask), Scan(image()))
    assert bool(pair.fixed_mask.all())
    assert f"{fine.voxels} voxels there, {SPACE.voxels} here" in caplog.text


def test_labels_come_along():
    labels = Volume(SPACE, (image().data > 0).int() * 5, "labels")
    pair = prepare(Scan(image(), labels=labels), Scan(image(), labels=labels))
    assert torch.equal(pair.fixed_labels, labels.data)
    assert torch.equal(pair.moving_labels, labels.data)


def with_value(value: float) -> Volume:
    data = image().data.clone()
    data[3, 4, 5] = value
    return Volume(SPACE, data, "broken.nii")


EMPTY = Volume(SPACE, torch.zeros(SPACE.shape, dtype=torch.bool), "empty.nii")
AWAY = np.array([[1, 0, 0, 500], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1.0]])
FAR = Volume(moved(SPACE, AWAY), EMPTY.data == 0, "far.nii")


@pytest.mark.parametrize(
    ("fixed", "moving", "words"),
    [
        (Scan(with_value(np.nan)), Scan(image()), "fixed image broken.nii has 1 NaN"),
        (Scan(image()), Scan(with_value(np.inf)), "moving image broken.nii has 1 NaN"),
        (Scan(image().with_data(torch.full(SPACE.shape, 3.0))), Scan(image()), "is 3 everywhere"),
        (Scan(image(), mask=EMPTY), Scan(image()), "fixed mask empty.nii is empty"),
        (Scan(image(), mask=FAR), Scan(image()), "far.nii lies wholly outside image"),
        (Scan(image()), Scan(image(FAR.grid)), "do not overlap"),
        (Scan(image(), labels=EMPTY.with_data(EMPTY.data.int())), Scan(image()), "background only"),
        (Scan(image(Grid.isotropic((20, 20, 1)))), Scan(image()), r"\(20, 20, 1\) voxels"),
    ],
)
def test_what_cannot_be_a_pair_is_refused_in_a_sentence(fixed, moving, words):
    with pytest.raises(InputError, match=words) as caught:
        prepare(fixed, moving)
    assert "\n" not in str(caught.value)


def test_a_sheared_fixed_image_gets_the_nearest_right_angles(caplog):
    shear = np.eye(4)
    shear[0, 1] = 0.1
    with caplog.at_level(logging.WARNING):
        pair = prepare(Scan(image(moved(SPACE, shear))), Scan(image(moved(SPACE, shear))))
    assert pair.grid.is_orthogonal
    assert "sheared" in caplog.text


def test_a_coarser_pair_keeps_its_place_and_its_images():
    pair = prepare(Scan(image()), Scan(image()))
    coarse = coarsened(pair, 2)
    assert coarse.grid.shape == (8, 9, 7)
    assert np.allclose(coarse.grid.centre, pair.grid.centre)
    inner = (slice(2, -2),) * 3
    # Each of three waves of 0.2 rad/mm loses to the Gaussian and to the voxels' means of two neighbours.
    smoothing = np.exp(-0.5 * (0.2 * 2.0 * np.sqrt(3 / (8 * np.log(2)))) ** 2) * np.cos(0.2)
    apart = (coarse.fixed[inner] - image(coarse.grid).data[inner]).abs().max()
    assert float(apart) <= 3 * (1 - smoothing)
    assert bool(coarse.moving_mask.all())
