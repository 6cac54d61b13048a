"""Every broken file gets one sentence and its exit code."""

import os
import random
import signal

import nibabel as nib
import numpy as np
import pytest
import SimpleITK as sitk

from credwarp import files
from credwarp.errors import BudgetError, CredwarpError, InputError

DATA = np.random.default_rng(0).integers(0, 1000, (7, 9, 8)).astype(np.int16)


def nifti(path, data=DATA, affine=None):
    nib.Nifti1Image(data, np.eye(4) if affine is None else affine).to_filename(path)
    return path


def patched(path, offset, content):
    block = bytearray(path.read_bytes())
    block[offset : offset + len(content)] = content
    path.write_bytes(block)
    return path


def itk(path, image=None, packed=False):
    sitk.WriteImage(sitk.GetImageFromArray(DATA.T) if image is None else image, str(path), packed)
    return path


def swapped(path, old, new):
    path.write_bytes(path.read_bytes().replace(old, new))
    return path


def cut(path, length):
    path.write_bytes(path.read_bytes()[:length])
    return path


def complex_image():
    return sitk.Image([7, 9, 8], sitk.sitkComplexFloat32)


def colours():
    return sitk.GetImageFromArray(np.zeros((8, 9, 7, 3), np.uint8), isVector=True)


CASES = {
    "missing": (lambda f: f / "none.nii.gz", "does not exist; check its spelling"),
    "missing folder": (lambda f: f / "none" / "a.nii.gz", "does not exist"),
    "empty": (lambda f: cut(nifti(f / "a.nii"), 0), "is empty \\(0 bytes\\)"),
    "empty gzip": (lambda f: cut(nifti(f / "a.nii.gz"), 0), "is empty \\(0 bytes\\)"),
    "empty folder": (lambda f: f, "holds no DICOM slices"),
    "unknown suffix": (lambda f: nifti(f / "a.nii").rename(f / "a.png"), "ends in none of .nii, .nii.gz"),
    "no suffix": (lambda f: nifti(f / "a.nii").rename(f / "a"), "ends in none of .nii, .nii.gz"),
    "truncated gzip": (lambda f: cut(nifti(f / "a.nii.gz"), 500), "Compressed file ended before"),
    "gzip without its end": (lambda f: cut(nifti(f / "a.nii.gz"), -4), "not a readable NIfTI file"),
    "wrong checksum": (lambda f: patched(nifti(f / "a.nii.gz"), -8, b"hell"), "not a readable NIfTI"),
    "truncated header": (lambda f: cut(nifti(f / "a.nii"), 200), "not a readable NIfTI file"),
    "truncated voxels": (lambda f: cut(nifti(f / "a.nii"), 900), "too short for its header: 1,360 bytes"),
    "gzip in name only": (lambda f: nifti(f / "a.nii").rename(f / "a.nii.gz"), "is not gzip-compressed"),
    "gzip, unnamed": (lambda f: nifti(f / "a.nii.gz").rename(f / "a.nii"), "is gzip-compressed, unlike"),
    "no NIfTI": (lambda f: patched(nifti(f / "a.nii"), 0, b"hell"), "does not begin like a NIfTI"),
    "half a pair": (lambda f: half_a_pair(f), "not a readable NIfTI file"),
    "Analyze": (lambda f: analyze(f), "Analyze file, which has no orientation; convert it to NIfTI"),
    "2-D": (lambda f: nifti(f / "a.nii", DATA[0]), "is 2-D \\(9 × 8\\); give a 3-D image"),
    "one slice": (lambda f: nifti(f / "a.nii", DATA[:, :, :1]), "is 2-D \\(7 × 9 × 1\\)"),
    "2-D NRRD": (lambda f: itk(f / "a.nrrd", sitk.Image(7, 9, sitk.sitkUInt8)), "is 2-D \\(7 × 9\\)"),
    "2-D MHA": (lambda f: itk(f / "a.mha", sitk.Image(7, 9, sitk.sitkUInt8)), "is 2-D \\(7 × 9\\)"),
    "4-D": (lambda f: nifti(f / "a.nii", np.stack([DATA] * 3, -1)), "is 4-D \\(7 × 9 × 8 × 3\\)"),
    "4-D NRRD": (lambda f: itk(f / "a.nrrd", four()), "is 4-D \\(7 × 9 × 8 × 3\\)"),
    "4-D MHA": (lambda f: itk(f / "a.mha", four()), "is 4-D \\(7 × 9 × 8 × 3\\)"),
    "complex": (lambda f: nifti(f / "a.nii", DATA.astype(np.complex64)), "complex numbers; give their magn"),
    "complex NRRD": (
        lambda f: itk(f / "a.nrrd", sitk.Image([7, 9, 8], sitk.sitkComplexFloat32)),
        "NRRD|compl|2 num",
    ),
    "colour": (lambda f: nifti(f / "a.nii", rgb()), "colours or records"),
    "colour NRRD": (lambda f: itk(f / "a.nrrd", colours()), "has 3 numbers per voxel; give one with 1"),
    "colour MHA": (lambda f: itk(f / "a.mha", colours()), "has 3 numbers per voxel; give one with 1"),
    "singular": (lambda f: singular(f), "is singular: its axes"),
    "NaN in the affine": (lambda f: patched(nifti(f / "a.nii"), 280, b"\0\0\xc0\x7f"), "finite 4 × 4"),
    "broken MHA": (lambda f: swapped(itk(f / "a.mha"), b"NDims = 3", b"NDims = 93"), "MetaImage .NDims = 93"),
    "truncated MHA": (lambda f: cut(itk(f / "a.mha"), 900), "too short for its header"),
    "truncated packed MHA": (lambda f: cut(itk(f / "a.mha", packed=True), -9), "cut off"),
    "truncated NRRD": (lambda f: cut(itk(f / "a.nrrd"), 900), "not a readable NRRD"),
    "truncated packed NRRD": (lambda f: cut(itk(f / "a.nrrd", packed=True), -9), "not a readable NRRD"),
    "truncated MGZ": (lambda f: cut(mgh(f / "a.mgz"), -20), "not a readable MGH"),
    "truncated MGH": (lambda f: cut(mgh(f / "a.mgh"), 900), "too short for its header"),
    "a pipe": (lambda f: pipe(f / "a.nii"), "is not a file"),
}


def four():
    return sitk.JoinSeries([sitk.GetImageFromArray(DATA.T)] * 3)


def mgh(path):
    nib.MGHImage(DATA, np.eye(4)).to_filename(path)
    return path


def rgb():
    return np.zeros((7, 9, 8), [("R", "u1"), ("G", "u1"), ("B", "u1")])


def singular(folder):
    path = nifti(folder / "a.nii")
    return patched(path, 296, bytes(16))  # the second row of its sform


def half_a_pair(folder):
    nib.Nifti1Pair(DATA, np.eye(4)).to_filename(folder / "a.img")
    (folder / "a.hdr").unlink()
    return folder / "a.img"


def analyze(folder):
    nib.AnalyzeImage(DATA, np.eye(4)).to_filename(folder / "a.img")
    return folder / "a.hdr"


def pipe(path):
    os.mkfifo(path)
    return path


@pytest.mark.parametrize("name", CASES)
def test_a_broken_file_gets_one_sentence(tmp_path, name, capfd):
    make, sentence = CASES[name]
    path = make(tmp_path)
    for read in (files.read, files.describe, files.read_labels, files.read_mask):
        with pytest.raises(InputError, match=sentence) as caught:
            read(path)
        said = str(caught.value)
        assert caught.value.exit_code == 3
        assert "\n" not in said
        assert said.startswith(str(path))
        assert said.endswith(".")
        assert "annotations" not in said  # a type error of ours is no fault of the file
    assert capfd.readouterr().err == ""


def huge_nifti(folder, suffix):
    header = nib.Nifti1Header()
    header.set_data_shape((32767, 32767, 32767))
    header.set_data_dtype(np.float64)
    path = nifti(folder / f"a.nii{suffix}")
    content = header.binaryblock + bytes(4)
    with nib.openers.Opener(str(path), "wb") as stream:
        stream.write(content)
    return path


HUGE = {
    "NIfTI": lambda f: huge_nifti(f, ""),
    "packed NIfTI": lambda f: huge_nifti(f, ".gz"),
    "MHA": lambda f: swapped(itk(f / "a.mha"), b"Size = 7 9 8", b"Size = 70000 90000 80000"),
    "NRRD": lambda f: swapped(itk(f / "a.nrrd"), b"sizes: 7 9 8", b"sizes: 70000 90000 80000"),
}


@pytest.mark.parametrize("name", HUGE)
def test_more_voxels_than_memory_are_refused_before_they_are_made(tmp_path, name):
    path = HUGE[name](tmp_path)
    with pytest.raises(BudgetError, match="GB of memory, .* GB are free; if its header is right") as caught:
        files.read(path)
    assert caught.value.exit_code == 5


def test_a_small_file_that_promises_gigabytes_is_not_believed(tmp_path, monkeypatch):
    monkeypatch.setattr("credwarp.files.memory.memory_available", lambda: 10**18)
    with pytest.raises(InputError, match="too short for its header: .* bytes promised, .* there compressed"):
        files.read(huge_nifti(tmp_path, ".gz"))


def corrupted(content, header, seed):
    """Some bytes of the header changed, one file in five cut short."""
    chance = random.Random(seed)
    block = bytearray(content)
    for _ in range(chance.choice([1, 1, 2, 4, 16])):
        letters = [chance.randrange(256), ord(chance.choice("0123456789-. e\n")), 0, 255]
        block[chance.randrange(min(header, len(block)))] = chance.choice(letters)
    return bytes(block[: chance.randrange(len(block))] if chance.random() < 0.2 else block)


FUZZED = {
    "a.nii": (nifti, 352),
    "a.nii.gz": (nifti, 60),
    "a.nrrd": (itk, 330),
    "a.mha": (itk, 300),
    "b.mha": (lambda path: itk(path, packed=True), 400),
    "b.nrrd": (lambda path: itk(path, packed=True), 400),
}


@pytest.mark.parametrize("name", FUZZED)
def test_200_corrupted_headers_give_no_traceback_and_no_hang(tmp_path, name, capfd):
    make, header = FUZZED[name]
    path = make(tmp_path / name)
    content = path.read_bytes()
    said = []
    signal.signal(signal.SIGALRM, too_long)
    for seed in range(200):
        path.write_bytes(corrupted(content, header, seed))
        signal.alarm(5)
        try:
            files.read(path)
        except CredwarpError as error:
            said.append(str(error))
        finally:
            signal.alarm(0)
    assert 0 < len(said) < 200
    assert not any("\n" in sentence or "annotations" in sentence for sentence in said)
    assert capfd.readouterr().err == ""


def too_long(*_):
    """An interrupt that no `except Exception` swallows."""
    raise KeyboardInterrupt
