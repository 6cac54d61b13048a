"""The commands do what they say, and what goes wrong is one sentence with its exit code."""

import errno
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import nibabel as nib
import numpy as np
import pytest
import SimpleITK as sitk
import torch

from credwarp import cli
from credwarp.files import open_run, read, read_transform, write_itk, write_volume
from credwarp.space import Affine, Grid, Volume

GRID = Grid((24, 26, 22), np.array([[2, 0.2, 0, -20], [-0.2, 2, 0, -25], [0, 0, 2.5, -30], [0, 0, 0, 1.0]]))
SHIFT = Affine(np.array([[1, 0, 0, 3.0], [0, 1, 0, -2.0], [0, 0, 1, 1.5], [0, 0, 0, 1]]))
COMMANDS = sorted(known.callback.__name__ for known in cli.app.registered_commands)


def blob(grid: Grid, name: str) -> Volume:
    points = grid.points()
    value = np.exp(-((points / [14, 18, 12]) ** 2).sum(-1)) + 0.5 * np.exp(
        -(((points - [8, 4, 6]) / 6) ** 2).sum(-1)
    )
    return Volume(grid, torch.from_numpy(100 * value).float(), name)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_volume(blob(GRID, "fixed"), tmp_path / "fixed.nii.gz")
    write_volume(blob(Grid(GRID.shape, SHIFT.matrix @ GRID.affine), "moving"), tmp_path / "moving.nii.gz")
    write_itk(SHIFT, tmp_path / "shift.tfm")
    return tmp_path


def command(*arguments: object) -> int:
    return cli.run([str(argument) for argument in arguments])


def test_help_appears_at_once():
    """Counted in processor seconds: a busy machine makes everything late."""
    times = []
    for _ in range(3):
        start = os.times()
        subprocess.run([sys.executable, "-m", "credwarp", "--help"], check=True, capture_output=True)
        end = os.times()
        times.append(end.children_user + end.children_system - start.children_user - start.children_system)
    assert min(times) < 0.4


def test_help_does_not_load_what_is_heavy():
    code = "import sys, credwarp.cli as c; c.run(['--help']); sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_an_example(name, capsys):
    assert command(name, "--help") == 0
    assert f"credwarp {name}" in " ".join(capsys.readouterr().out.split())


def test_inspect_shows_the_geometry(folder, capsys):
    assert command("inspect", folder / "fixed.nii.gz") == 0
    out = capsys.readouterr().out
    assert "24 × 26 × 22" in out
    assert "RAS" in out


def test_inspect_names_forms_that_disagree(folder, capsys):
    image = nib.load(folder / "fixed.nii.gz")
    image.set_qform(np.diag([2.0, 2.0, 2.5, 1.0]), code=1)
    nib.save(image, folder / "odd.nii.gz")
    assert command("inspect", folder / "odd.nii.gz") == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "sform" in out
    assert "warning" in out


def test_apply_is_what_simpleitk_does_with_the_same_file(folder):
    out = folder / "moved.nii.gz"
    assert (
        command(
            "apply",
            folder / "shift.tfm",
            folder / "moving.nii.gz",
            "-o",
            out,
            "--grid",
            folder / "fixed.nii.gz",
        )
        == 0
    )
    fixed, moving = (sitk.ReadImage(str(folder / f"{side}.nii.gz")) for side in ("fixed", "moving"))
    theirs = sitk.Resample(moving, fixed, sitk.ReadTransform(str(folder / "shift.tfm")), sitk.sitkLinear)
    ours = sitk.GetArrayFromImage(sitk.ReadImage(str(out)))
    inner = (slice(3, -3),) * 3
    assert np.abs(ours - sitk.GetArrayFromImage(theirs))[inner].max() <= 1e-4 * float(ours.max())


@pytest.mark.parametrize("interpolation", ["nearest", "label"])
def test_labels_stay_labels(folder, interpolation):
    labels = Volume(GRID, (blob(GRID, "x").data > 40).int() * 17, "labels")
    write_volume(labels, folder / "labels.nii.gz")
    out = folder / "out.nii.gz"
    arguments = (
        "apply",
        folder / "shift.tfm",
        folder / "labels.nii.gz",
        "-o",
        out,
        "--grid",
        folder / "fixed.nii.gz",
    )
    assert command(*arguments, "--interpolation", interpolation) == 0
    assert set(np.unique(np.asarray(nib.load(out).dataobj))) == {0, 17}


@pytest.mark.parametrize(
    ("form", "name"),
    [("itk", "t.h5"), ("itk", "t.nii.gz"), ("x5", "t.x5"), ("fsl", "t.mat"), ("fsl", "f.nii.gz")],
)
def test_an_exported_transform_is_the_same_map(folder, form, name):
    out = folder / name
    sides = ("--fixed", folder / "fixed.nii.gz", "--moving", folder / "moving.nii.gz")
    assert command("export", folder / "shift.tfm", "--format", form, "-o", out, *sides) == 0
    grids = (read(folder / "fixed.nii.gz").grid, read(folder / "moving.nii.gz").grid)
    points = GRID.points()[5:-5, 5:-5, 5:-5]
    assert np.abs(read_transform(out, *grids)(points) - SHIFT(points)).max() < 0.01


def test_plan_prints_what_it_reads(folder, capsys):
    assert command("plan", "--set", "prior.strength=2.5") == 0
    text = capsys.readouterr().out
    assert "strength = 2.5" in text
    (folder / "plan.toml").write_text(text)
    assert command("plan", "--plan", folder / "plan.toml", "--set", "seed=4") == 0
    out = capsys.readouterr().out
    assert "strength = 2.5" in out
    assert "seed = 4" in out
    assert command("plan", "--schema") == 0
    assert json.loads(capsys.readouterr().out)["title"] == "Plan"


def test_doctor_finds_a_sound_machine(capsys):
    assert command("doctor") == 0
    assert "all is well" in capsys.readouterr().out


def test_a_doctor_who_finds_a_wrong_kernel_says_so(capsys, monkeypatch):
    from credwarp import kernels

    monkeypatch.setattr(kernels, "square", lambda field: 1.01 * field)
    assert command("doctor") == 1
    assert "FAIL" in capsys.readouterr().out


@pytest.fixture(scope="module")
def run(demo) -> Path:
    return demo[0]


def test_the_demo_tells_how_well_it_went(demo):
    folder, said = demo
    assert "warning" not in said
    assert str(folder / "report.html") in said.replace("\n", "")
    assert "truth inside its 90 % interval" in said
    row = next(line for line in said.splitlines() if "landmark" in line)
    before, after = (float(number) for number in re.findall(r"[0-9.]+", row))
    assert after < 0.7 * before


def test_the_demos_transforms_are_each_others_inverse_as_far_as_is_said(run):
    there, back = (
        read_transform(run / "transforms" / f"from-{a}_to-{b}_mode-image_xfm.h5")
        for a, b in (("moving", "fixed"), ("fixed", "moving"))
    )
    points = open_run(run).pair.grid.points().reshape(-1, 3)
    away = np.linalg.norm(back(there(points)) - points, axis=1)
    said = json.loads((run / "qc.json").read_text(encoding="utf-8"))["inverse_error_mm"]
    assert np.quantile(away, 0.99) == pytest.approx(said, rel=1e-3)
    assert said < 0.05


def test_a_run_says_on_which_voxels_its_results_lie(run, tmp_path):
    labels = run / "inputs" / "moving_labels.nii.gz"
    assert command("apply", run, labels, "-o", tmp_path / "l.nii.gz", "--interpolation", "label") == 0
    assert read(tmp_path / "l.nii.gz").grid.matches(read(run / "inputs" / "fixed.nii.gz").grid)


def test_affine_finds_what_the_demo_found(run, tmp_path, capsys):
    inputs = run / "inputs"
    images = (inputs / "fixed.nii.gz", inputs / "moving.nii.gz")
    assert command("affine", *images, "-o", tmp_path / "a.tfm") == 0
    assert "mutual information" in capsys.readouterr().out
    points = np.random.default_rng(0).uniform(-60, 60, (50, 3))
    ours, demos = read_transform(tmp_path / "a.tfm"), open_run(run).pair.initial
    assert np.abs(ours(points) - demos(points)).max() < 0.01


def broken(folder: Path, name: str) -> Path:
    path = folder / f"{name}.nii.gz"
    data = blob(GRID, name).data.numpy().copy()
    if name == "missing":
        return path
    if name == "empty":
        path.write_bytes(b"")
        return path
    if name == "nan":
        data[3, 4, 5] = np.nan
    if name == "constant":
        data[:] = 7.0
    affine = GRID.affine.copy()
    if name == "singular":
        affine[:, 0] = 0
    if name == "complex":
        data = data.astype(np.complex64)
    if name == "flat":
        data = data[:, :, 0]
    if name == "series":
        data = np.stack([data, data], axis=-1)
    image = nib.Nifti1Image(data, None if name == "singular" else affine)
    if name == "singular":
        image.header["sform_code"] = 1
        image.header["srow_x"] = image.header["srow_y"] = image.header["srow_z"] = [0, 0, 0, 0]
    nib.save(image, path)
    if name == "truncated":
        path.write_bytes(path.read_bytes()[:-2000])
    return path


@pytest.mark.parametrize(
    "name", ["missing", "empty", "truncated", "nan", "constant", "singular", "complex", "flat", "series"]
)
def test_a_broken_image_is_one_sentence_and_leaves_nothing(folder, capsys, name):
    before = set(folder.rglob("*"))
    image = broken(folder, name)
    out = folder / "out.tfm"
    assert command("affine", folder / "fixed.nii.gz", image, "-o", out) == 3
    captured = capsys.readouterr()
    lines = [line for line in captured.err.splitlines() if not line.startswith("warning:")]
    assert len(lines) == 1
    assert lines[0].startswith("credwarp: ")
    assert "Traceback" not in captured.err
    assert set(folder.rglob("*")) - before <= {image}


@pytest.mark.parametrize(
    "arguments",
    [
        ["frobnicate"],
        ["apply"],
        ["affine", "a.nii"],
        ["demo", "--size", "3"],
        ["plan", "--set", "prior.strength=-1"],
        ["export", "x.tfm", "--format", "elastix", "-o", "y"],
    ],
)
def test_wrong_words_are_one_sentence_and_exit_two(arguments, capsys):
    assert command(*arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert len(captured.err.splitlines()) == 1


def test_an_affine_file_needs_a_grid(folder, capsys):
    assert command("apply", folder / "shift.tfm", folder / "moving.nii.gz", "-o", folder / "o.nii.gz") == 3
    assert "--grid" in capsys.readouterr().err


def test_fsl_needs_both_images(folder, capsys):
    assert command("export", folder / "shift.tfm", "--format", "fsl", "-o", folder / "o.mat") == 2
    assert "--fixed" in capsys.readouterr().err


def test_a_folder_that_cannot_be_written_is_named(folder, capsys):
    (folder / "file").write_text("in the way")
    assert command("demo", "-o", folder / "file" / "run", "--size", 24) == 3
    assert (
        command("affine", folder / "fixed.nii.gz", folder / "moving.nii.gz", "-o", folder / "no" / "a.tfm")
        == 3
    )
    assert str(folder / "no") in capsys.readouterr().err


def test_a_full_disk_is_one_sentence_exit_five_and_no_half_file(folder, capsys, monkeypatch):
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    out = folder / "o.nii.gz"
    assert (
        command(
            "apply",
            folder / "shift.tfm",
            folder / "moving.nii.gz",
            "-o",
            out,
            "--grid",
            folder / "fixed.nii.gz",
        )
        == 5
    )
    assert "full" in capsys.readouterr().err
    assert not out.exists()
    assert [p for p in folder.iterdir() if p.name.startswith(".")] == []


def test_an_unforeseen_failure_is_a_sentence_too(folder, capsys, monkeypatch):
    def defect(path: Path) -> None:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr("credwarp.files.describe", defect)
    assert command("inspect", folder / "fixed.nii.gz") == 1
    assert "CREDWARP_TRACEBACK=1" in capsys.readouterr().err


def test_an_interrupted_command_exits_130(folder, capsys, monkeypatch):
    def interrupt(path: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("credwarp.files.describe", interrupt)
    assert command("inspect", folder / "fixed.nii.gz") == 130
