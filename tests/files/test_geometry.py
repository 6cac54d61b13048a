"""Other tools land where we do: every orientation, oblique, anisotropic, odd shapes."""

import ants
import fsl.data.image
import nibabel as nib
import numpy as np
import pandas
import pytest
import SimpleITK as sitk
import torch
from fsl.transform import fnirt
from nitransforms.manip import TransformChain
from scipy.ndimage import gaussian_filter

from credwarp import files
from credwarp.itk import to_image
from credwarp.space import Affine, Grid, Volume, Warp, resample
from grids import ORIENTATIONS, grid

LPS = np.array([-1.0, -1.0, 1.0])
NEAR = 0.01  # millimetres; single precision of a header 200 mm from the origin is a thousandth of it
CASES = range(len(ORIENTATIONS))


def case(number: int) -> tuple[Grid, Grid, np.random.Generator]:
    """A fixed and a moving grid; over all cases each has every orientation."""
    random = np.random.default_rng(number)
    fixed = grid(
        (7, 9, 8),
        random.uniform(0.6, 4, 3),
        ORIENTATIONS[number],
        random.uniform(-40, 40, 3),
        random.uniform(-90, 90, 3),
    )
    moving = grid(
        (11, 6, 5),
        random.uniform(0.6, 4, 3),
        ORIENTATIONS[-number],
        random.uniform(-40, 40, 3),
        random.uniform(-90, 90, 3),
    )
    return fixed, moving, random


def affine(random: np.random.Generator, centre: np.ndarray, size: float = 1.0) -> Affine:
    """A shear and scaling round `centre`, and a shift."""
    matrix = np.eye(4)
    matrix[:3, :3] += random.normal(size=(3, 3)) * 0.1 * size
    matrix[:3, 3] = centre - matrix[:3, :3] @ centre + random.normal(size=3) * 10 * size
    return Affine(matrix)


class Truth:
    """x ↦ after(x + a + Bv + c v₀v₁ + d v₁v₂ + e v₀v₂), v the voxel of x: linear interpolation is exact."""

    def __init__(self, on: Grid, after: Affine, random: np.random.Generator) -> None:
        self.on, self.after = on, after
        self.coefficients = (
            random.normal(size=(7, 3)) * np.array([3, 0.3, 0.3, 0.3, 0.05, 0.05, 0.05])[:, None]
        )

    def displacement(self, voxels):
        x, y, z = np.moveaxis(voxels, -1, 0)
        terms = np.stack([np.ones_like(x), x, y, z, x * y, y * z, x * z], axis=-1)
        return terms @ self.coefficients

    def __call__(self, points):
        return self.after(points + self.displacement(self.on.to_voxels(points)))

    def warp(self) -> Warp:
        voxels = np.stack(np.meshgrid(*(np.arange(n) for n in self.on.shape), indexing="ij"), axis=-1)
        values = np.moveaxis(self.displacement(voxels.astype(float)), -1, 0).astype(np.float32)
        return Warp(self.on, torch.from_numpy(values), Affine.identity(), self.after)


def inside(on: Grid, random: np.random.Generator, count: int = 12) -> np.ndarray:
    return on.to_world(random.uniform(0, 1, (count, 3)) * (np.array(on.shape) - 1))


def voxels(on: Grid, random: np.random.Generator, count: int = 12) -> np.ndarray:
    return on.to_world(random.integers(0, on.shape, (count, 3)).astype(float))


def by_simpleitk(transform: sitk.Transform, points: np.ndarray) -> np.ndarray:
    return np.array([transform.TransformPoint((point * LPS).tolist()) for point in points]) * LPS


def by_ants(path, points: np.ndarray) -> np.ndarray:
    frame = pandas.DataFrame(points * LPS, columns=["x", "y", "z"])
    return ants.apply_transforms_to_points(3, frame, [str(path)])[["x", "y", "z"]].to_numpy() * LPS


@pytest.mark.parametrize("number", CASES)
def test_simpleitk_and_ants_apply_what_we_write(tmp_path, number):
    fixed, _, random = case(number)
    truth = Truth(fixed, affine(random, fixed.centre), random)
    points = inside(fixed, random)
    files.write_itk(truth.warp(), tmp_path / "map.h5")
    files.write_itk(truth.warp(), tmp_path / "map.nii.gz")
    composite = sitk.ReadTransform(str(tmp_path / "map.h5"))
    field = sitk.ReadImage(str(tmp_path / "map.nii.gz"), sitk.sitkVectorFloat64)
    assert np.abs(by_simpleitk(composite, points) - truth(points)).max() < NEAR
    assert np.abs(by_simpleitk(sitk.DisplacementFieldTransform(field), points) - truth(points)).max() < NEAR
    assert np.abs(by_ants(tmp_path / "map.h5", points) - truth(points)).max() < NEAR
    assert np.abs(by_ants(tmp_path / "map.nii.gz", points) - truth(points)).max() < NEAR


@pytest.mark.filterwarnings("ignore:Reference space not set")
@pytest.mark.parametrize("number", CASES)
def test_nitransforms_applies_the_composite_that_we_write(tmp_path, number):
    fixed, _, random = case(number)
    truth = Truth(fixed, affine(random, fixed.centre), random)
    files.write_itk(truth.warp(), tmp_path / "map.h5")
    chain = TransformChain.from_filename(tmp_path / "map.h5", fmt="itk")
    points = voxels(fixed, random)  # between them it is cubic
    assert np.abs(chain.map(points) - truth(points)).max() < 0.02


@pytest.mark.parametrize("number", CASES)
def test_fslpy_applies_the_warp_that_we_write_between_different_grids(tmp_path, number):
    fixed, moving, random = case(number)
    truth = Truth(fixed, affine(random, fixed.centre), random)
    files.write_fsl(truth.warp(), fixed, moving, tmp_path / "warp.nii.gz")
    source, reference = (
        fsl.data.image.Image(nib.Nifti1Image(np.zeros(one.shape, np.float32), one.affine))
        for one in (moving, fixed)
    )
    field = fnirt.readFnirt(str(tmp_path / "warp.nii.gz"), source, reference, defType="relative")
    points = voxels(fixed, random)  # it takes the nearest voxel
    assert np.abs(field.transform(points, from_="world", to="world") - truth(points)).max() < NEAR


@pytest.mark.filterwarnings("ignore:Reference space not set")
@pytest.mark.parametrize("number", CASES)
def test_reading_back_is_the_identity(tmp_path, number):
    fixed, moving, random = case(number)
    truth = Truth(fixed, affine(random, fixed.centre), random)
    points = inside(fixed, random)
    warp = truth.warp()
    files.write_itk(warp, tmp_path / "map.h5")
    files.write_itk(warp, tmp_path / "map.nii.gz")
    files.write_x5(warp, tmp_path / "map.x5")
    files.write_fsl(warp, fixed, moving, tmp_path / "warp.nii.gz")
    for name in ("map.h5", "map.nii.gz", "map.x5", "warp.nii.gz"):
        again = files.read_transform(tmp_path / name, fixed, moving)
        assert np.abs(again(points) - truth(points)).max() < 1e-3, name


@pytest.mark.parametrize("number", CASES[::2])
def test_resampling_agrees_with_simpleitk_through_the_same_file(tmp_path, number):
    turned, moving, random = case(number)
    moving = Grid((21, 18, 15), moving.affine)
    smooth = gaussian_filter(random.normal(size=moving.shape), 1.5).astype(np.float32)
    image = Volume(moving, torch.from_numpy(smooth))
    fixed = cube(20, turned.directions, 0.9 * min(moving.spacing), moving.centre)
    truth = Truth(fixed, affine(random, fixed.centre, 0.1), random)
    truth.coefficients *= 0.1 * fixed.spacing[0]
    files.write_itk(truth.warp(), tmp_path / "map.h5")
    transform = sitk.ReadTransform(str(tmp_path / "map.h5"))
    reference = to_image(Volume(fixed, torch.zeros(fixed.shape)))
    theirs = sitk.GetArrayFromImage(sitk.Resample(to_image(image), reference, transform, sitk.sitkLinear)).T
    mapping = files.read_transform(tmp_path / "map.h5")
    ours = np.asarray(resample(image, fixed, mapping).data)
    landed = moving.to_voxels(mapping(fixed.points()))
    well_inside = np.all((landed > 0) & (landed < np.array(moving.shape) - 1), axis=-1)
    assert well_inside.mean() > 0.2
    assert np.abs(ours - theirs)[well_inside].max() < 1e-4 * (smooth.max() - smooth.min())


def cube(side: int, directions: np.ndarray, spacing: float, centre: np.ndarray) -> Grid:
    affine = np.eye(4)
    affine[:3, :3] = directions * spacing
    affine[:3, 3] = centre - affine[:3, :3] @ np.full(3, (side - 1) / 2)
    return Grid((side, side, side), affine)
