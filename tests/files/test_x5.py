"""X5, checked with nitransforms, whose format it is."""

import h5py
import numpy as np
import pytest
import torch
from nitransforms.io import x5
from nitransforms.linear import Affine as TheirAffine
from nitransforms.manip import TransformChain
from nitransforms.nonlinear import DenseFieldTransform

from credwarp import files
from credwarp.errors import InputError
from credwarp.space import Affine, Warp
from grids import ORIENTATIONS, grid

ON = grid((7, 9, 8), (1.1, 2.3, 0.8), ORIENTATIONS[13], (20, -15, 33), (40.0, -70.0, 12.0))
TILT = Affine(np.array([[1.1, 0.2, 0, 3], [0, 0.9, 0.1, -2], [0.1, 0, 1, 5], [0, 0, 0, 1]]))
pytestmark = pytest.mark.filterwarnings("ignore:Reference space not set")


def warp(before, after):
    values = np.random.default_rng(0).normal(size=(3, *ON.shape)).astype(np.float32)
    return Warp(ON, torch.from_numpy(values), before, after)


def voxels():
    return ON.points().reshape(-1, 3)


def test_nitransforms_reads_our_affine(tmp_path):
    files.write_x5(TILT, tmp_path / "map.x5")
    assert np.allclose(TheirAffine.from_filename(tmp_path / "map.x5", fmt="X5").map(voxels()), TILT(voxels()))


def test_nitransforms_reads_our_field(tmp_path):
    mapping = warp(Affine.identity(), Affine.identity())
    files.write_x5(mapping, tmp_path / "map.x5")
    theirs = DenseFieldTransform.from_filename(tmp_path / "map.x5", fmt="X5")
    assert np.allclose(theirs.map(voxels()), mapping(voxels()), atol=0.01)


@pytest.mark.parametrize("orientation", ORIENTATIONS[::6])
def test_nitransforms_reads_our_chain_in_its_order(tmp_path, orientation):
    on = grid((7, 9, 8), (1.1, 2.3, 0.8), orientation, (20, -15, 33), (40.0, -70.0, 12.0))
    values = np.random.default_rng(0).normal(size=(3, *on.shape)).astype(np.float32)
    mapping = Warp(on, torch.from_numpy(values), TILT, TILT)
    files.write_x5(mapping, tmp_path / "map.x5")
    theirs = TransformChain.from_filename(tmp_path / "map.x5", fmt="X5")
    places = TILT.inverse()(on.points().reshape(-1, 3))
    assert np.abs(theirs.map(places) - mapping(places)).max() < 0.01


def test_what_nitransforms_writes_is_read(tmp_path):
    TheirAffine(TILT.matrix).to_filename(tmp_path / "affine.x5", fmt="X5")
    assert np.allclose(files.read_x5(tmp_path / "affine.x5")(voxels()), TILT(voxels()))
    mapping = warp(Affine.identity(), Affine.identity())
    files.write_itk(mapping, tmp_path / "map.nii.gz")
    for deltas in (True, False):
        their = DenseFieldTransform.from_filename(tmp_path / "map.nii.gz", fmt="itk")
        their = DenseFieldTransform(their._deltas if deltas else their._field, deltas, their.reference)
        x5.to_filename(tmp_path / "field.x5", [their.to_x5()])
        assert np.allclose(files.read_x5(tmp_path / "field.x5")(voxels()), mapping(voxels()), atol=1e-4)


def test_a_field_in_x5_may_be_sheared(tmp_path):
    affine = ON.affine.copy()
    affine[:3, 1] += 0.2 * affine[:3, 0]
    on = type(ON)(ON.shape, affine)
    mapping = Warp(on, warp(TILT, TILT).displacement, Affine.identity(), TILT)
    files.write_x5(mapping, tmp_path / "map.x5")
    assert np.array_equal(files.read_x5(tmp_path / "map.x5")(voxels()), mapping(voxels()))


def changed(path, change):
    files.write_x5(warp(Affine.identity(), Affine.identity()), path)
    with h5py.File(path, "r+") as file:
        change(file)
    return path


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda f: f.attrs.__setitem__("Format", "Y6"), "does not say that it is X5"),
        (lambda f: f.__delitem__("TransformGroup"), "not a readable X5 file"),
        (lambda f: f["TransformGroup/0"].attrs.__setitem__("SubType", "bspline"), "nonlinear bspline"),
        (lambda f: f["TransformGroup/0/Domain"].__delitem__("Mapping"), "not a readable X5 file"),
        (lambda f: f["TransformChain"].__delitem__("0"), "not a readable X5 file"),
    ],
)
def test_what_is_not_meant_gets_one_sentence(tmp_path, change, sentence):
    path = changed(tmp_path / "map.x5", change)
    with pytest.raises(InputError, match=sentence) as caught:
        files.read_transform(path)
    assert "\n" not in str(caught.value)
