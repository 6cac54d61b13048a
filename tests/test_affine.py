"""Pre-alignment: known misalignments of a made-up head and of real brains are recovered."""

import logging
from pathlib import Path

import nibabel as nib
import numpy as np
import pytest
import torch
from scipy.spatial.transform import Rotation

from credwarp.affine import align
from credwarp.errors import InputError
from credwarp.phantom import subject
from credwarp.space import Affine, Grid, Volume, resample, resample_mask

# Mutual information sees a shift of a fraction of a voxel; noise leaves it that fraction.
THIRD_OF_A_VOXEL, TWENTIETH_OF_A_VOXEL = 1.0, 0.15
DEGREES, MILLIMETRES, SCALE = 30.0, 20.0, 1.1


def misalignment(seed: int, centre: np.ndarray, scale: float = SCALE, degrees: float = DEGREES) -> Affine:
    """Turned, scaled and shifted about `centre`, in random directions."""
    random = np.random.default_rng(seed)
    axis, shift = (v / np.linalg.norm(v) for v in random.normal(size=(2, 3)))
    matrix = np.eye(4)
    matrix[:3, :3] = scale * Rotation.from_rotvec(degrees * axis, degrees=True).as_matrix()
    matrix[:3, 3] = centre - matrix[:3, :3] @ centre + MILLIMETRES * shift
    return Affine(matrix)


def oblique(centre: np.ndarray, seed: int) -> Grid:
    """A large field of view round `centre`: turned, flipped, anisotropic."""
    random = np.random.default_rng(seed)
    turn = Rotation.from_euler("xyz", random.uniform(-20, 20, 3), degrees=True).as_matrix()
    affine = np.eye(4)
    affine[:3, :3] = turn @ np.diag([-2.2, 2.4, 3.5])
    shape = (110, 116, 74)
    affine[:3, 3] = centre + random.uniform(-10, 10, 3) - affine[:3, :3] @ (np.array(shape) / 2)
    return Grid(shape, affine)


def seen_through(fixed: Volume, truth: Affine, centre: np.ndarray, seed: int = 0) -> Volume:
    """The fixed image as another scanner would see it: elsewhere, in other grey values, with noise."""
    grid = oblique(truth(centre[None])[0], seed)
    moved = resample(fixed, grid, truth.inverse()).data / fixed.data.max()
    noise = torch.randn(grid.shape, generator=torch.Generator().manual_seed(seed))
    return Volume(grid, moved.clamp(min=0).sqrt() + 0.02 * noise, "moving")


def error_over(mask: np.ndarray, grid: Grid, found: Affine, truth: Affine) -> float:
    """How far apart the maps put the mask's voxels, in millimetres, on average."""
    points = grid.points()[mask]
    return float(np.linalg.norm(found(points) - truth(points), axis=1).mean())


@pytest.fixture(scope="module")
def made() -> Volume:
    """A generated head of voxels of about 3 mm."""
    return subject(0, (50, 64, 52)).scan.image


@pytest.fixture(scope="module")
def small(made: Volume) -> Volume:
    return resample(made, made.grid.coarsened(2))


def inside(image: Volume) -> np.ndarray:
    return np.asarray(image.data) > 0


@pytest.mark.parametrize(("seed", "scale"), [(0, SCALE), (1, 1 / SCALE)])
def test_a_known_misalignment_of_a_made_up_head_is_recovered(made: Volume, seed: int, scale: float) -> None:
    truth = misalignment(seed, made.grid.centre, scale)
    moving = seen_through(made, truth, made.grid.centre, seed)
    found = align(made, moving)
    assert error_over(inside(made), made.grid, found.affine, truth) < THIRD_OF_A_VOXEL
    assert found.start in {attempt.start for attempt in found.attempts}


def test_the_same_images_give_the_same_map_bit_for_bit(small: Volume) -> None:
    moving = seen_through(small, misalignment(2, small.grid.centre), small.grid.centre)
    first, second = align(small, moving), align(small, moving)
    assert first.affine.matrix.tobytes() == second.affine.matrix.tobytes()
    assert first.attempts == second.attempts


def test_an_image_is_aligned_to_itself_by_the_identity(made: Volume) -> None:
    found = align(made, made)
    assert error_over(inside(made), made.grid, found.affine, Affine.identity()) < TWENTIETH_OF_A_VOXEL


def test_headers_a_metre_apart_are_bridged_and_the_header_start_is_reported_as_lost(made: Volume) -> None:
    away = np.eye(4)
    away[:3, 3] = [700, -600, 400]
    far = Volume(Grid(made.grid.shape, away @ made.grid.affine), made.data, "far")
    found = align(made, far)
    assert error_over(inside(made), made.grid, found.affine, Affine(away)) < TWENTIETH_OF_A_VOXEL
    lost = {attempt.start: attempt.information for attempt in found.attempts}
    assert lost["identity"] == -np.inf
    assert found.start != "identity"


def test_a_rigid_alignment_keeps_lengths(made: Volume) -> None:
    truth = misalignment(3, made.grid.centre, scale=1.0)
    found = align(made, seen_through(made, truth, made.grid.centre), kind="rigid").affine
    linear = found.matrix[:3, :3]
    assert np.allclose(linear.T @ linear, np.eye(3), atol=1e-9)
    assert error_over(inside(made), made.grid, found, truth) < THIRD_OF_A_VOXEL


def test_masks_keep_a_bright_thing_that_only_one_image_shows_out_of_it(made: Volume) -> None:
    truth = misalignment(4, made.grid.centre)
    moving = seen_through(made, truth, made.grid.centre)
    where = made.with_data(made.data > 0)
    mask = resample_mask(where, moving.grid, truth.inverse())
    centre = truth(np.array([[0.0, 0.0, 90.0]]))[0]
    ball = torch.from_numpy(np.linalg.norm(moving.grid.points() - centre, axis=-1) < 55)
    crowded = moving.with_data(torch.where(ball & ~mask.data, 6.0, moving.data))
    found = align(made, crowded, where, mask)
    assert error_over(inside(made), made.grid, found.affine, truth) < THIRD_OF_A_VOXEL


def test_a_sheared_grid_is_aligned_where_its_voxels_are(made: Volume) -> None:
    shear = np.eye(4)
    shear[0, 1], shear[1, 2] = 0.12, -0.1
    grid = Grid((60, 64, 56), shear @ Grid.isotropic((60, 64, 56), 3.4).affine)
    found = align(made, resample(made, grid))
    assert error_over(inside(made), made.grid, found.affine, Affine.identity()) < THIRD_OF_A_VOXEL


def test_a_map_that_halves_volumes_is_remarked_upon(small: Volume, caplog: pytest.LogCaptureFixture) -> None:
    shrunk = Volume(
        Grid(small.grid.shape, np.diag([0.7, 0.7, 0.7, 1]) @ small.grid.affine), small.data, "doll"
    )
    with caplog.at_level(logging.WARNING, logger="credwarp"):
        align(small, shrunk)
    assert "aligning doll to subject 0 image changes volumes by a factor of 0.3" in caplog.text


def test_a_constant_image_is_refused(made: Volume) -> None:
    flat = made.with_data(torch.full(made.grid.shape, 7.0))
    with pytest.raises(InputError, match="moving image .* is 7 everywhere"):
        align(made, flat)


def test_an_empty_mask_is_refused(made: Volume) -> None:
    nothing = made.with_data(torch.zeros(made.grid.shape, dtype=torch.bool))
    with pytest.raises(InputError, match="fixed mask .* is empty"):
        align(made, made, nothing)


def test_voxels_that_are_no_numbers_are_counted(made: Volume) -> None:
    data = made.data.clone()
    data[3, 4, 5] = np.nan
    with pytest.raises(InputError, match="moving image .* has 1 NaN"):
        align(made, made.with_data(data))


def test_an_image_of_three_slices_is_refused(made: Volume) -> None:
    grid = Grid((50, 64, 3), made.grid.affine)
    with pytest.raises(InputError, match="at least 4 a side"):
        align(Volume(grid, made.data[:, :, 20:23].clone(), "slab"), made)


def brain(path: Path) -> Volume:
    image = nib.load(path)
    return Volume(
        Grid(image.shape, image.affine),
        torch.from_numpy(np.asarray(image.dataobj, dtype=np.float32)),
        path.name,
    )


@pytest.mark.parametrize(
    ("name", "seed", "scale"),
    [
        ("cohort/sub01.nii.gz", 0, SCALE),
        ("cohort/sub14.nii.gz", 1, 1 / SCALE),
    ],
)
def test_a_known_misalignment_of_a_real_brain_is_recovered(
    real_pairs: Path, name: str, seed: int, scale: float
) -> None:
    fixed = brain(real_pairs / name)
    mask = np.asarray(fixed.data) > 0
    centre = fixed.grid.points()[mask].mean(axis=0)
    truth = misalignment(seed, centre, scale)
    found = align(fixed, seen_through(fixed, truth, centre, seed))
    assert error_over(mask, fixed.grid, found.affine, truth) < 0.5


def test_another_subject_is_aligned_the_same_way_from_30_degrees_away(real_pairs: Path) -> None:
    fixed, moving = brain(real_pairs / "cohort/sub01.nii.gz"), brain(real_pairs / "cohort/sub03.nii.gz")
    mask = np.asarray(fixed.data) > 0
    truth = misalignment(5, fixed.grid.centre)
    turned = Volume(Grid(moving.grid.shape, truth.matrix @ moving.grid.affine), moving.data, "turned")
    near, far = align(fixed, moving).affine, align(fixed, turned).affine
    assert error_over(mask, fixed.grid, far, truth.after(near)) < 1.0
