"""Other tools, given a run's files, put images, labels and points where we do; and back again."""

from pathlib import Path

import ants
import nibabel as nib
import numpy as np
import pandas
import pytest
import SimpleITK as sitk
from nitransforms.manip import TransformChain
from nitransforms.resampling import apply as nitransforms_apply
from scipy.spatial.transform import Rotation

from credwarp import propagate
from credwarp.files import RunFolder, read_transform, write_volume
from credwarp.phantom import pair as phantom_pair
from credwarp.propagate import record, summarise
from credwarp.space import Affine, Grid, Volume, prepare
from grids import ORIENTATIONS, grid
from runs import smooth_run

LPS = np.array([-1.0, -1.0, 1.0])
# Orientation and tilt of the moving image's axes, and its voxels in mm.
CASES = {
    "flipped": (ORIENTATIONS[3], (0.0, 0.0, 0.0), (6.0, 7.5, 6.5)),
    "oblique and anisotropic": (ORIENTATIONS[21], (7.0, -12.0, 20.0), (5.0, 7.0, 9.0)),
}


@pytest.fixture(scope="module", params=CASES)
def case(request, tmp_path_factory):
    """Originals that lie askew to each other, an affine start, and what a run of them leaves."""
    folder = tmp_path_factory.mktemp("originals")
    orientation, tilt, spacing = CASES[request.param]
    matrix = np.eye(4)
    matrix[:3, :3] = 1.06 * Rotation.from_rotvec([9, -6, 14], degrees=True).as_matrix()
    matrix[:3, 3] = [7.0, -5.0, 9.0]
    initial = Affine(matrix)
    base = grid((34, 30, 28), spacing, orientation, tilt)
    affine = base.affine.copy()
    affine[:3, 3] += initial(np.zeros(3)) - base.centre
    heads = phantom_pair((28, 32, 26), affine=initial, moving_grid=Grid(base.shape, affine))
    volumes = {
        "fixed": heads.fixed.image, "moving": heads.moving.image, "moving_labels": heads.moving.labels,
    }  # fmt: skip
    for name, volume in volumes.items():
        write_volume(volume, folder / f"{name}.nii.gz")
    run = smooth_run(prepare(heads.fixed, heads.moving, initial), chains=2, draws=3, size=0.6)
    place = RunFolder.create(folder / "run")
    record(run, summarise(run), place, heads.moving.image)
    return folder, place, run, volumes


def resampled(folder: Path, place: RunFolder, tool: str, name: str, labels: bool) -> np.ndarray:
    """A moving image on the fixed grid, by another tool, from files alone."""
    fixed, moving = (str(folder / f"{one}.nii.gz") for one in ("fixed", name))
    if tool == "SimpleITK":
        kind = sitk.sitkNearestNeighbor if labels else sitk.sitkLinear
        read = [sitk.ReadImage(path) for path in (moving, fixed)]
        return sitk.GetArrayFromImage(sitk.Resample(*read, sitk.ReadTransform(str(place.to_fixed)), kind)).T
    if tool == "ANTsPy":
        kind = "nearestNeighbor" if labels else "linear"
        read = [ants.image_read(path) for path in (fixed, moving)]
        return ants.apply_transforms(*read, [str(place.to_fixed)], interpolator=kind).numpy()
    chain = TransformChain.from_filename(place.to_fixed, fmt="itk")
    order = 0 if labels else 1
    return np.asarray(nitransforms_apply(chain, nib.load(moving), nib.load(fixed), order=order).dataobj)


@pytest.mark.filterwarnings("ignore:Reference space not set")
@pytest.mark.parametrize("tool", ["SimpleITK", "ANTsPy", "nitransforms"])
def test_the_warped_image_is_theirs(case, tool):
    folder, place, run, volumes = case
    ours = np.asarray(nib.load(place.map("warped")).dataobj)
    theirs = resampled(folder, place, tool, "moving", labels=False)
    apart = np.abs(ours - theirs)[well_inside(run, volumes["moving"], place)]
    assert apart.max() <= 0.01 * np.ptp(ours)


@pytest.mark.filterwarnings("ignore:Reference space not set")
@pytest.mark.parametrize("tool", ["SimpleITK", "ANTsPy", "nitransforms"])
def test_warped_labels_are_theirs(case, tool):
    folder, place, run, volumes = case
    mean = read_transform(place.to_fixed)
    ours = np.asarray(propagate.apply(volumes["moving_labels"], run.pair.grid, mean, "nearest").data)
    theirs = resampled(folder, place, tool, "moving_labels", labels=True)
    inside = well_inside(run, volumes["moving"], place)
    assert len(np.unique(ours)) > 10
    assert (ours == theirs)[inside].mean() >= 0.999


def well_inside(run, moving: Volume, place: RunFolder) -> np.ndarray:
    """Voxels that come from inside of the moving image: at its edge tools fade out each in its own way."""
    seen = moving.grid.to_voxels(read_transform(place.to_fixed)(run.pair.grid.points()))
    inside = np.all((seen > 0.01) & (seen < np.array(moving.grid.shape) - 1.01), axis=-1)
    assert inside.mean() > 0.4
    return inside


def by_simpleitk(path: Path, points: np.ndarray) -> np.ndarray:
    transform = sitk.ReadTransform(str(path))
    return np.array([transform.TransformPoint((point * LPS).tolist()) for point in points]) * LPS


def by_ants(path: Path, points: np.ndarray) -> np.ndarray:
    frame = pandas.DataFrame(points * LPS, columns=["x", "y", "z"])
    return ants.apply_transforms_to_points(3, frame, [str(path)])[["x", "y", "z"]].to_numpy() * LPS


def by_nitransforms(path: Path, points: np.ndarray) -> np.ndarray:
    return TransformChain.from_filename(path, fmt="itk").map(points)


@pytest.mark.filterwarnings("ignore:Reference space not set")
@pytest.mark.parametrize("way", ["to_fixed", "to_moving"])
def test_points_are_theirs(case, way):
    _, place, run, _ = case
    path = getattr(place, way)
    field = read_transform(path)
    # At voxels of the field: between them nitransforms is cubic.
    shape = np.array(field.grid.shape)
    voxels = np.random.default_rng(0).integers(shape // 4, shape - shape // 4, (40, 3)).astype(float)
    points = field.before.inverse()(field.grid.to_world(voxels))
    ours = field(points)
    for theirs in (by_simpleitk, by_ants, by_nitransforms):
        assert np.abs(theirs(path, points) - ours).max() < 0.01, theirs.__name__


def test_the_inverse_file_undoes_the_forward_one_in_another_tool(case):
    _, place, run, _ = case
    points = run.pair.grid.points()[::2, ::2, ::2].reshape(-1, 3)
    away = np.linalg.norm(
        by_simpleitk(place.to_moving, by_simpleitk(place.to_fixed, points)) - points, axis=1
    )
    moved = np.linalg.norm(by_simpleitk(place.to_fixed, points) - run.pair.initial(points), axis=1)
    assert moved.mean() > 2
    assert np.quantile(away, 0.99) <= 0.05
