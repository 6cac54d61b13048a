"""Files of SimpleITK and ANTs are read as they meant them; ours say what we mean."""

import logging
import random
import signal
import struct
import time

import ants
import numpy as np
import pytest
import SimpleITK as sitk
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from credwarp import files
from credwarp.errors import CredwarpError, InputError
from credwarp.files.links import at_right_angles
from credwarp.space import Affine, Chain, Grid, Warp
from grids import any_grid, grid

LPS = np.array([-1.0, -1.0, 1.0])
HERE = grid((6, 7, 5), (1.2, 0.9, 2.1), ((1, 0, 2), (1.0, -1.0, -1.0)), (20, -10, 35), (4.0, -7.0, 2.0))
FIELD = "DisplacementFieldTransform_double_3_3"
CENTRE = (3.0, -2.0, 5.0)


def shifted(transform):
    transform.SetCenter(CENTRE)
    transform.SetTranslation((1.0, -2.0, 0.5))
    return transform


def euler():
    transform = shifted(sitk.Euler3DTransform())
    transform.SetRotation(0.2, -0.1, 0.3)
    return transform


def euler_zyx():
    transform = euler()
    transform.SetComputeZYX(True)
    return transform


def versor():
    transform = shifted(sitk.VersorRigid3DTransform())
    transform.SetRotation((0.3, 0.5, 0.1), 0.4)
    return transform


def similarity():
    transform = shifted(sitk.Similarity3DTransform())
    transform.SetRotation((0.3, 0.5, 0.1), 0.4)
    transform.SetScale(1.2)
    return transform


def affine():
    transform = shifted(sitk.AffineTransform(3))
    transform.SetMatrix((1.1, 0.1, 0, -0.2, 0.9, 0.05, 0, 0.1, 1.2))
    return transform


def skewed():
    transform = shifted(sitk.ScaleSkewVersor3DTransform())
    transform.SetScale((1.1, 0.9, 1.2))
    transform.SetRotation((0, 0, 1), 0.3)
    return transform


def scaled():
    transform = sitk.ScaleTransform(3, (1.1, 0.9, 1.2))
    transform.SetCenter(CENTRE)
    return transform


def turned():
    transform = sitk.VersorTransform((0, 0, 1), 0.3)
    transform.SetCenter(CENTRE)
    return transform


def displaced(seed=0):
    values = np.random.default_rng(seed).normal(size=(*HERE.shape[::-1], 3))
    image = sitk.GetImageFromArray(values, isVector=True)
    flipped = np.diag([-1, -1, 1, 1]) @ HERE.affine
    image.SetOrigin(flipped[:3, 3].tolist())
    image.SetSpacing(HERE.spacing)
    image.SetDirection((flipped[:3, :3] / np.array(HERE.spacing)).ravel().tolist())
    return sitk.DisplacementFieldTransform(image)


LINEAR = {
    "euler": euler,
    "euler zyx": euler_zyx,
    "versor": versor,
    "similarity": similarity,
    "affine": affine,
    "skewed": skewed,
    "scaled": scaled,
    "turned": turned,
    "translation": lambda: sitk.TranslationTransform(3, (1.0, 2.0, 3.0)),
    "identity": lambda: sitk.Transform(3, sitk.sitkIdentity),
}


def points(count=30):
    random = np.random.default_rng(5)
    return HERE.to_world(random.uniform(0, 1, (count, 3)) * (np.array(HERE.shape) - 1))


def theirs(transform, places):
    return np.array([transform.TransformPoint((place * LPS).tolist()) for place in places]) * LPS


def by_ants(transform, places):
    return np.array([ants.apply_ants_transform_to_point(transform, p.tolist()) for p in places * LPS]) * LPS


@pytest.mark.parametrize("suffix", [".tfm", ".txt", ".h5", ".mat"])
@pytest.mark.parametrize("name", LINEAR)
def test_a_linear_transform_of_simpleitk_is_read(tmp_path, name, suffix):
    transform = LINEAR[name]()
    path = tmp_path / f"map{suffix}"
    if name == "identity" and suffix == ".mat":
        pytest.skip("ITK's Matlab format cannot hold a transform without parameters.")
    sitk.WriteTransform(transform, str(path))
    assert np.allclose(files.read_transform(path)(points()), theirs(transform, points()), atol=1e-9)


@pytest.mark.parametrize(
    "order", [("d",), ("a", "d"), ("d", "a"), ("e", "d", "s"), ("d", "a", "d"), ("a", "e", "s")]
)
@pytest.mark.parametrize("suffix", [".h5", ".tfm"])
def test_a_composite_of_simpleitk_is_read_in_its_order(tmp_path, order, suffix):
    parts = {"a": affine, "e": euler, "s": similarity, "d": displaced}
    composite = sitk.CompositeTransform([parts[letter]() for letter in order])
    path = tmp_path / f"map{suffix}"
    sitk.WriteTransform(composite, str(path))
    again = files.read_itk(path)
    assert isinstance(again, Chain) == (order.count("d") > 1)
    near = 1e-5 if "d" in order else 1e-9  # a field is kept in single precision
    assert np.allclose(again(points()), theirs(composite, points()), atol=near)


@pytest.mark.parametrize("suffix", [".nii.gz", ".nii", ".nrrd", ".mha"])
def test_a_field_image_of_simpleitk_is_read(tmp_path, suffix):
    transform = displaced()
    path = tmp_path / f"field{suffix}"
    sitk.WriteImage(sitk.Cast(transform.GetDisplacementField(), sitk.sitkVectorFloat32), str(path))
    assert np.allclose(files.read_transform(path)(points()), theirs(transform, points()), atol=1e-4)


def test_what_ants_writes_is_read(tmp_path):
    linear = ants.create_ants_transform(
        transform_type="AffineTransform",
        dimension=3,
        matrix=[[1.1, 0.1, 0], [-0.2, 0.9, 0.05], [0, 0.1, 1.2]],
        translation=(1, -2, 0.5),
        center=CENTRE,
    )
    flipped = np.diag([-1, -1, 1, 1]) @ HERE.affine
    vectors = ants.from_numpy(
        np.random.default_rng(0).normal(size=(*HERE.shape, 3)).astype(np.float32),
        origin=flipped[:3, 3].tolist(),
        spacing=HERE.spacing,
        direction=flipped[:3, :3] / np.array(HERE.spacing),
        has_components=True,
    )
    field = ants.transform_from_displacement_field(vectors)
    ants.image_write(vectors, str(tmp_path / "1Warp.nii.gz"))
    for name, transform in (
        ("0GenericAffine.mat", linear),
        ("Composite.h5", ants.compose_ants_transforms([linear, field])),
        ("1Warp.nii.gz", field),
    ):
        if name != "1Warp.nii.gz":
            ants.write_transform(transform, str(tmp_path / name))
        expected = [
            np.array(ants.apply_ants_transform_to_point(transform, p.tolist())) for p in points() * LPS
        ]
        again = files.read_transform(tmp_path / name)
        assert np.allclose(again(points()), np.array(expected) * LPS, atol=1e-4), name


@pytest.mark.parametrize("suffix", [".tfm", ".txt", ".mat", ".h5"])
def test_an_affine_that_we_write_is_read_by_simpleitk_and_ants(tmp_path, suffix):
    mapping = files.read_itk(written(affine(), tmp_path / "first.tfm"))
    path = tmp_path / f"map{suffix}"
    files.write_itk(mapping, path)
    assert np.allclose(theirs(sitk.ReadTransform(str(path)), points()), mapping(points()), atol=1e-12)
    transform = ants.read_transform(str(path))
    assert np.allclose(by_ants(transform, points()), mapping(points()), atol=1e-4)
    assert np.array_equal(files.read_transform(path)(points()), mapping(points()))


def written(transform, path):
    sitk.WriteTransform(transform, str(path))
    return path


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(on=any_grid, seed=st.integers(0, 10**6))
def test_a_warp_between_affines_survives_every_format(tmp_path, on, seed):
    random = np.random.default_rng(seed)
    turn = np.linalg.qr(random.normal(size=(3, 3)))[0]
    before, after = np.eye(4), np.eye(4)
    before[:3, :3], before[:3, 3] = turn, random.normal(size=3) * 9
    after[:3, :3] += random.normal(size=(3, 3)) * 0.1
    values = torch.from_numpy(random.normal(size=(3, *on.shape)).astype(np.float32))
    warp = Warp(on, values, Affine(before), Affine(after))
    # ITK's header knows right angles only, so a stretch before the field is for the composite.
    here = warp.before.inverse()(on.to_world(random.uniform(0.1, 0.9, (9, 3)) * (np.array(on.shape) - 1)))
    for name in ("map.h5", "map.nii.gz", "map.x5"):
        path = tmp_path / name
        (files.write_x5 if name == "map.x5" else files.write_itk)(warp, path)
        again = files.read_transform(path)
        assert np.abs(again(here) - warp(here)).max() < 1e-3
        assert isinstance(again, Warp)


def field(seed):
    values = np.random.default_rng(seed).normal(size=(3, *HERE.shape)).astype(np.float32)
    return Warp(HERE, torch.from_numpy(values), Affine.identity(), Affine.identity())


def chain():
    return Chain((field(0), Affine(np.diag([1.02, 0.98, 1.0, 1.0])), field(1)))


@pytest.mark.parametrize("name", ["map.h5", "map.x5"])
def test_two_fields_in_a_row_survive(tmp_path, name):
    mapping = chain()
    (files.write_x5 if name == "map.x5" else files.write_itk)(mapping, tmp_path / name)
    assert np.allclose(files.read_transform(tmp_path / name)(points()), mapping(points()), atol=1e-5)


def test_two_fields_in_a_row_become_one_on_a_grid(tmp_path):
    mapping = chain()
    with pytest.raises(InputError, match="needs the grid to write it on; give one"):
        files.write_itk(mapping, tmp_path / "map.nii.gz")
    files.write_itk(mapping, tmp_path / "map.nii.gz", HERE)
    voxels = HERE.points()
    assert np.allclose(files.read_itk(tmp_path / "map.nii.gz")(voxels), mapping(voxels), atol=1e-4)


def test_the_identity_is_still_a_composite(tmp_path):
    files.write_itk(Affine.identity(), tmp_path / "map.h5")
    assert sitk.ReadTransform(str(tmp_path / "map.h5")).GetName() == "CompositeTransform"
    assert np.array_equal(files.read_itk(tmp_path / "map.h5")(points()), points())


def test_a_field_with_sheared_axes_is_interpolated_at_right_angles_and_says_so(tmp_path, caplog):
    sheared = HERE.affine.copy()
    sheared[:3, 1] += 0.1 * sheared[:3, 0]
    on = Grid((20, 21, 19), sheared)
    places = np.moveaxis(on.points() - on.centre, -1, 0)
    warp = Warp(
        on, torch.from_numpy((0.1 * places + 1).astype(np.float32)), Affine.identity(), Affine.identity()
    )
    with caplog.at_level(logging.WARNING, "credwarp"):
        files.write_itk(warp, tmp_path / "map.h5")
    assert "sheared" in caplog.text
    assert at_right_angles(warp).grid.is_orthogonal
    inner = on.to_world(np.random.default_rng(0).uniform(0.2, 0.8, (40, 3)) * (np.array(on.shape) - 1))
    assert np.allclose(theirs(sitk.ReadTransform(str(tmp_path / "map.h5")), inner), warp(inner), atol=1e-4)
    for corner in on.corners():
        assert at_right_angles(warp).grid.contains(corner[None])[0]


def test_the_same_map_is_written_as_the_same_bytes_a_second_later(tmp_path):
    linear = files.read_itk(written(affine(), tmp_path / "in.tfm"))
    maps = {
        "map.h5": field(0),
        "map.nii.gz": field(0),
        "map.x5": field(0),
        "map.tfm": linear,
        "map.mat": linear,
    }
    seen = []
    for pause in (0.0, 1.1):  # clocks in files count seconds
        time.sleep(pause)
        for name, mapping in maps.items():
            (files.write_x5 if name == "map.x5" else files.write_itk)(mapping, tmp_path / name)
        seen.append({name: (tmp_path / name).read_bytes() for name in maps})
    assert seen[0] == seen[1]


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("map.tfm", b"", "is empty"),
        ("map.tfm", b"hello\n", "not a readable ITK transform"),
        ("map.tfm", b"#Insight Transform File V1.0\n", "holds 0 transforms"),
        ("map.tfm", b"\xff\xfe\x00" * 20, "not a readable ITK transform"),
        ("map.mat", struct.pack("<5i", 0, 2**30, 2**30, 0, 5) + b"hell\0", "cut off"),
        ("map.h5", b"\x89HDF\r\n\x1a\n" + bytes(100), "not a readable ITK transform"),
        ("map.h5", b"nothing of the kind", "not a readable ITK transform"),
        ("map.x5", b"nothing of the kind", "not a readable X5 file"),
        ("map.xyz", b"nothing of the kind", "ends in none of"),
    ],
)
def test_a_broken_transform_gets_one_sentence(tmp_path, name, content, sentence):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=sentence) as caught:
        files.read_transform(tmp_path / name)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "parameters", "fixed", "sentence"),
    [
        ("AffineTransform_double_2_2", "1 0 0 1 0 0", "0 0", "not a 3-D one"),
        ("AffineTransform_double_3_3", "1 0 0 1 0 0", "0 0 0", "6 \\+ 3 parameters"),
        ("AffineTransform_double_3_3", "0 " * 12, "0 0 0", "has no inverse"),
        ("BSplineTransform_double_3_3", "0 0", "0 0 0", "convert it to a displacement field"),
        (
            "DisplacementFieldTransform_double_3_3",
            "0 0",
            "2 2 2 0 0 0 1 1 1 1 0 0 0 1 0 0 0 1",
            "not a readable",
        ),
    ],
)
def test_a_transform_that_cannot_be_meant_gets_one_sentence(tmp_path, kind, parameters, fixed, sentence):
    path = tmp_path / "map.tfm"
    numbers = f"Parameters: {parameters}\nFixedParameters: {fixed}\n"
    path.write_text(f"#Insight Transform File V1.0\n#Transform 0\nTransform: {kind}\n{numbers}")
    with pytest.raises(InputError, match=sentence):
        files.read_itk(path)


def test_transforms_side_by_side_are_refused(tmp_path):
    files.write_itk(Affine.identity(), tmp_path / "map.tfm")
    text = (tmp_path / "map.tfm").read_text()
    (tmp_path / "map.tfm").write_text(text + "\n".join(text.splitlines()[1:]) + "\n")
    with pytest.raises(InputError, match="holds 2 transforms and no word on how they combine"):
        files.read_itk(tmp_path / "map.tfm")


def test_a_warp_is_not_squeezed_into_an_affine_file(tmp_path):
    mapping = files.read_itk(written(displaced(), tmp_path / "in.h5"))
    for name, write in (("map.tfm", files.write_itk), ("map.nrrd", files.write_itk)):
        with pytest.raises(InputError):
            write(mapping, tmp_path / name)
        assert not (tmp_path / name).exists()


@pytest.mark.parametrize("suffix", [".h5", ".nii.gz", ".x5"])
def test_a_field_with_nan_is_refused(tmp_path, suffix):
    broken = field(0)
    broken.displacement[1, 2, 3, 4] = torch.nan
    (files.write_x5 if suffix == ".x5" else files.write_itk)(broken, tmp_path / f"map{suffix}")
    with pytest.raises(InputError, match="has 1 vectors that are NaN or infinite"):
        files.read_transform(tmp_path / f"map{suffix}")


@pytest.mark.parametrize("name", ["map.tfm", "map.mat", "map.nii", "map.nii.gz"])
def test_100_corrupted_transforms_give_no_traceback_and_no_hang(tmp_path, name, capfd):
    path = tmp_path / name
    files.write_itk(Affine(np.diag([1.1, 1, 1, 1])) if name in ("map.tfm", "map.mat") else field(0), path)
    content = path.read_bytes()
    refused = 0
    for seed in range(100):
        chance = random.Random(seed)
        block = bytearray(content)
        for _ in range(chance.choice([1, 4, 16])):
            block[chance.randrange(min(len(block), 400))] = chance.choice([chance.randrange(256), 0, 10, 49])
        path.write_bytes(block[: chance.randrange(len(block))] if chance.random() < 0.2 else block)
        signal.alarm(20)  # the end of the process: nothing else stops a loop in a C library
        try:
            files.read_transform(path)
        except CredwarpError:
            refused += 1
        finally:
            signal.alarm(0)
    assert refused > 0
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("name", ["map.h5", "map.x5"])
def test_a_cut_hdf5_file_is_refused_wherever_it_is_cut(tmp_path, name, capfd):
    path = tmp_path / name
    (files.write_x5 if name == "map.x5" else files.write_itk)(field(0), path)
    content = path.read_bytes()
    for length in np.linspace(1, len(content) - 1, 40).astype(int):
        path.write_bytes(content[:length])
        with pytest.raises(InputError):
            files.read_transform(path)
    assert capfd.readouterr().err == ""


def test_a_heap_of_text_in_which_the_library_would_loop_is_refused(tmp_path):
    files.write_itk(field(0), tmp_path / "map.h5")
    content = bytearray((tmp_path / "map.h5").read_bytes())
    heap = content.index(b"GCOL")
    (size,) = struct.unpack_from("<Q", content, heap + 8)
    place = heap + 16
    while (entry := struct.unpack_from("<H6xQ", content, place))[0] != 0:
        place += 16 + (entry[1] + 7) // 8 * 8
    content[place + 8 : place + 16] = bytes(8)  # what is free has no length
    (tmp_path / "map.h5").write_bytes(content)
    assert place < heap + size
    with pytest.raises(InputError, match="a heap of text in it is broken"):
        files.read_itk(tmp_path / "map.h5")
