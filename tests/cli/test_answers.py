"""The commands that carry a user's labels, points and dose over, and those that judge a finished run."""

import csv
import json
import shutil
from pathlib import Path

import nibabel as nib
import numpy as np
import pytest
import torch

from credwarp import cli
from credwarp.files import (
    open_run,
    read,
    read_components,
    read_labels,
    read_points,
    write_components,
    write_volume,
)
from credwarp.space import Grid, Volume, look_up

LPS = np.array([-1.0, -1.0, 1.0])


def command(*arguments: object) -> int:
    return cli.run([str(argument) for argument in arguments])


def sentence(capsys, *arguments: object) -> str:
    """The one line in which a command fails."""
    assert command("--quiet", *arguments) == 3
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    return lines[0]


def rows(path: Path) -> list[dict[str, str]]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return list(csv.DictReader(line for line in lines if not line.startswith("#")))


@pytest.fixture(scope="module")
def run(demo) -> Path:
    return demo[0]


@pytest.fixture(scope="module")
def opened(run):
    return open_run(run)


@pytest.fixture
def copied(run, tmp_path) -> Path:
    shutil.copytree(run, tmp_path / "copy")
    return tmp_path / "copy"


@pytest.fixture(scope="module")
def carried(run, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("labels") / "carried"
    assert command("--quiet", "labels", run, run / "inputs" / "moving_labels.nii.gz", "-o", folder) == 0
    return folder


def test_label_probabilities_sum_to_one_with_background(carried):
    total = sum(np.asarray(read(path).data, dtype=float) for path in carried.glob("probability_*.nii.gz"))
    assert np.abs(total - 1).max() < 1e-5


def test_the_most_probable_map_has_every_label_as_an_integer(run, carried):
    image = nib.load(carried / "labels.nii.gz")
    assert image.get_data_dtype().kind in "iu"
    had = read_labels(run / "inputs" / "moving_labels.nii.gz").labels
    assert read_labels(carried / "labels.nii.gz").labels == had
    assert {int(row["label"]) for row in rows(carried / "labels.csv")} == set(had)


def test_a_label_s_numbers_are_ordered_and_better_than_before(carried):
    table = rows(carried / "labels.csv")
    for row in table:
        assert float(row["volume_q025"]) <= float(row["volume_mean"]) <= float(row["volume_q975"])
        assert float(row["dice_q05"]) <= float(row["dice_q95"])
    for what, sign in (("dice", 1), ("asd", -1)):
        gain = [sign * (float(row[f"{what}_mean"]) - float(row[f"{what}_before"])) for row in table]
        assert np.mean(gain) > 0
    assert "displacement and label uncertainty correlate by r = " in (carried / "labels.csv").read_text()


def test_one_label_alone_is_what_it_is_among_all(run, carried, tmp_path):
    labels = run / "inputs" / "moving_labels.nii.gz"
    assert command("--quiet", "labels", run, labels, "-o", tmp_path, "--label", 10) == 0
    alone, among = (read(folder / "probability_10.nii.gz").data for folder in (tmp_path, carried))
    assert torch.equal(alone, among)
    assert [row["label"] for row in rows(tmp_path / "labels.csv")] == ["10"]


@pytest.mark.parametrize("name", ["moved.csv", "moved.mrk.json"])
@pytest.mark.parametrize("side", ["fixed", "moving"])
def test_points_are_where_the_draws_take_them(run, opened, tmp_path, name, side):
    given = run / "inputs" / f"{side}_points.csv"
    assert command("--quiet", "points", run, given, "--from", side, "-o", tmp_path / name) == 0
    if side == "fixed":
        places = read_points(given).positions
        known = np.mean([warp(places) for warp in opened.warps()], axis=0)
        assert np.abs(read_points(tmp_path / name).positions - known).max() < 1e-3
    else:
        back = read_points(tmp_path / name).positions
        again = np.mean([warp(back) for warp in opened.warps()], axis=0)
        away = np.linalg.norm(again - read_points(given).positions, axis=1)
        # There and back by means of maps, which are not quite each other's inverse.
        assert away.mean() < 0.06 * min(opened.pair.grid.spacing)


def test_points_leave_in_the_frame_they_came_in(run, tmp_path):
    given = read_points(run / "inputs" / "fixed_points.csv")
    text = "\n".join(
        ",".join(map(str, [name, *place]))
        for name, place in zip(given.names, given.positions * LPS, strict=True)
    )
    (tmp_path / "lps.csv").write_text(f"# CoordinateSystem = LPS\nname,x,y,z\n{text}\n", encoding="utf-8")
    for source, out in ((run / "inputs" / "fixed_points.csv", "a.csv"), (tmp_path / "lps.csv", "b.csv")):
        assert command("--quiet", "points", run, source, "--from", "fixed", "-o", tmp_path / out) == 0
    assert (tmp_path / "b.csv").read_text().startswith("# CoordinateSystem = LPS")
    first, second = rows(tmp_path / "a.csv"), rows(tmp_path / "b.csv")
    for one, other in zip(first, second, strict=True):
        assert float(one["x"]) == pytest.approx(-float(other["x"]), abs=1e-3)
        assert float(one["xz"]) == pytest.approx(-float(other["xz"]), abs=1e-4)
        assert float(one["radius95"]) == pytest.approx(float(other["radius95"]), abs=1e-4)


@pytest.fixture(scope="module")
def received(run, tmp_path_factory) -> Path:
    folder, inputs = tmp_path_factory.mktemp("dose") / "received", run / "inputs"
    chosen = ("--structures", inputs / "fixed_labels.nii.gz", "--structure", 10, "--structure", 16)
    assert command("--quiet", "dose", run, inputs / "moving.nii.gz", *chosen, "-o", folder) == 0
    return folder


def test_the_mean_dose_is_the_mean_of_doses_warped_one_by_one(run, opened, received):
    given = read(run / "inputs" / "moving.nii.gz")
    warped = np.stack([np.asarray(look_up(given, opened.pair.grid, warp).data) for warp in opened.warps()])
    inside = warped.min(axis=0) > 0
    assert (
        np.abs(np.asarray(read(received / "dose_mean.nii.gz").data) - warped.mean(axis=0))[inside].max() < 0.5
    )
    regions = np.asarray(opened.pair.fixed_labels)
    for structure in (10, 16):
        means = warped[:, regions == structure].mean(axis=1)
        found = next(r for r in rows(received / "structures.csv") if r["structure"] == str(structure))
        assert found["quantity"] == "mean"
        low, middle, high = (float(found[name]) for name in ("q05", "q50", "q95"))
        assert (low, middle, high) == pytest.approx(np.quantile(means, (0.05, 0.5, 0.95)), rel=1e-3)


def test_dose_volume_curves_fall_from_one(received):
    for structure in ("10", "16"):
        curve = [row for row in rows(received / "dvh.csv") if row["structure"] == structure]
        middle = [float(row["q50"]) for row in curve]
        assert middle[0] == 1
        assert np.all(np.diff(middle) <= 0)
        assert all(float(row["q05"]) <= float(row["q50"]) <= float(row["q95"]) for row in curve)
    assert (received / "dvh.png").read_bytes()[:4] == b"\x89PNG"


@pytest.mark.parametrize("side", ["fixed", "moving"])
def test_an_image_as_several_draws_have_it_is_a_file_each(run, opened, tmp_path, side):
    other = "moving" if side == "fixed" else "fixed"
    image = run / "inputs" / f"{other}.nii.gz"
    words = ("apply", run, image, "-o", tmp_path / "w.nii.gz", "--posterior", 10, "--to", side)
    assert command("--quiet", *words) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"w_{n:02}.nii.gz" for n in range(1, 11)]
    grid, warps = read(run / "inputs" / f"{side}.nii.gz").grid, list(opened.warps(10, side))
    least = float(read(image).data.min())
    known = look_up(read(image), grid, warps[2], least)
    assert torch.equal(read(tmp_path / "w_03.nii.gz").data, known.data)


def test_labels_of_a_draw_are_labels(run, tmp_path):
    labels = run / "inputs" / "moving_labels.nii.gz"
    words = ("--posterior", 1, "--interpolation", "label")
    assert command("--quiet", "apply", run, labels, "-o", tmp_path / "l.nii.gz", *words) == 0
    assert read_labels(tmp_path / "l_1.nii.gz").labels == read_labels(labels).labels


def far_away(path: Path, source: Path) -> Path:
    volume = read(source)
    affine = volume.grid.affine.copy()
    affine[:3, 3] += 1000
    write_volume(Volume(Grid(volume.grid.shape, affine), volume.data.int(), path.name), path)
    return path


def test_what_does_not_fit_is_one_sentence(run, tmp_path, capsys):
    inputs, out = run / "inputs", tmp_path / "out"
    labels, image = inputs / "moving_labels.nii.gz", inputs / "moving.nii.gz"
    elsewhere = far_away(tmp_path / "elsewhere.nii.gz", labels)
    structures = ("--structures", inputs / "fixed_labels.nii.gz")
    said = sentence(capsys, "labels", run, elsewhere, "-o", out)
    assert "lies outside the moving image, whose space its labels must be in" in said
    said = sentence(capsys, "labels", run, labels, "--fixed-labels", elsewhere, "-o", out)
    assert "lies outside the fixed image" in said
    assert "has no label 99" in sentence(capsys, "labels", run, labels, "--label", 99, "-o", out)
    assert "lies outside the moving image" in sentence(capsys, "dose", run, elsewhere, *structures, "-o", out)
    said = sentence(capsys, "dose", run, image, "--structures", elsewhere, "-o", out)
    assert "lies outside the fixed image, whose space its structures must be in" in said
    said = sentence(capsys, "dose", run, image, *structures, "--structure", 99, "-o", out)
    assert "has no label 99; its labels are" in said
    (tmp_path / "far.csv").write_text("# RAS\nname,x,y,z\nin,0,0,0\nout,0,900,0\n", encoding="utf-8")
    said = sentence(capsys, "points", run, tmp_path / "far.csv", "--from", "fixed", "-o", tmp_path / "o.csv")
    assert "1 of 2 points lie outside the field of view of the registration (out)" in said
    (tmp_path / "frameless.csv").write_text("name,x,y,z\nin,0,0,0\n", encoding="utf-8")
    said = sentence(
        capsys, "points", run, tmp_path / "frameless.csv", "--from", "fixed", "-o", tmp_path / "o.csv"
    )
    assert "does not say whether its points are RAS or LPS" in said
    said = sentence(
        capsys, "points", run, inputs / "fixed_points.csv", "--from", "fixed", "-o", tmp_path / "o.txt"
    )
    assert "ends in neither .csv nor .mrk.json" in said
    said = sentence(capsys, "apply", run, image, "-o", tmp_path / "w.nii.gz", "--posterior", 41)
    assert "the run holds 40; ask for 1 to 40" in said
    register = ("register", inputs / "fixed.nii.gz", image, "-o", out / "run")
    said = sentence(capsys, *register, "--fixed-points", inputs / "fixed_points.csv")
    assert "has nothing to compare with; give --moving-points too" in said
    (tmp_path / "one.csv").write_text("# RAS\nname,x,y,z\nin,0,0,0\n", encoding="utf-8")
    both = ("--fixed-points", tmp_path / "one.csv", "--moving-points", inputs / "moving_points.csv")
    assert "do not name the same points in the same order" in sentence(capsys, *register, *both)
    assert not (out / "run").exists()
    for words in (
        ("labels", tmp_path, labels, "-o", out),
        ("apply", tmp_path, image, "-o", tmp_path / "w.nii.gz"),
    ):
        assert str(tmp_path) in sentence(capsys, *words)


def test_a_run_s_numbers_stand_in_its_quality_file(run):
    qc = json.loads((run / "qc.json").read_text(encoding="utf-8"))
    assert qc["landmarks"]["count"] == len(read_points(run / "inputs" / "fixed_points.csv").names) > 30
    assert 0 < qc["landmarks"]["radius95_mm"] < 20
    assert 0 <= qc["landmarks"]["inside95"] <= 1
    assert -1 <= qc["uncertainty_correlation"]["low"] <= qc["uncertainty_correlation"]["r"] <= 1
    assert qc["uncertainty_correlation"]["count"] == 17


def test_a_notebook_shows_the_report_s_first_screen(opened):
    page = opened._repr_html_()
    assert "Look closer" in page
    assert "<img" in page
    assert "<script" not in page


def test_two_runs_are_as_far_apart_as_they_were_moved(run, copied, tmp_path, capsys):
    path = copied / "maps" / "displacement_mean.nii.gz"
    values, grid = read_components(path)
    values[2] += 2.0
    write_components(values, grid, "mm along R, A, S", path)
    assert command("--quiet", "compare", run, copied, "-o", tmp_path / "apart") == 0
    assert "run and copy" in capsys.readouterr().out
    (pair,) = rows(tmp_path / "apart" / "pairs.csv")
    assert float(pair["apart_median_mm"]) == pytest.approx(2.0, abs=1e-3)
    assert float(pair["radius_ratio"]) == 1
    assert 0 < float(pair["apart_beyond_radius"]) < 1
    apart = read(tmp_path / "apart" / "apart_run_copy.nii.gz").data
    assert float((apart - 2).abs().max()) < 1e-3
    assert float(read(tmp_path / "apart" / "radius95_difference_run_copy.nii.gz").data.abs().max()) == 0
    assert (tmp_path / "apart" / "comparison.png").read_bytes()[:4] == b"\x89PNG"
    assert [row["run"] for row in rows(tmp_path / "apart" / "runs.csv")] == ["run", "copy"]


def test_runs_that_cannot_be_compared_are_one_sentence(run, copied, capsys):
    assert "one run has nothing to be compared with" in sentence(capsys, "compare", run)
    path = copied / "maps" / "displacement_mean.nii.gz"
    values, grid = read_components(path)
    affine = grid.affine.copy()
    affine[0, 3] += 1.0
    write_components(values, Grid(grid.shape, affine), "mm along R, A, S", path)
    assert "lies on other voxels" in sentence(capsys, "compare", run, copied)


def test_a_run_as_it_was_passes(run, capsys):
    assert command("--quiet", "verify", run) == 0
    out = capsys.readouterr().out
    assert "checks passed" in out
    assert "sum to 1" in out
    assert "undo each other" in out


def test_whatever_changed_is_named(copied, capsys):
    provenance = json.loads((copied / "provenance.json").read_text(encoding="utf-8"))
    provenance["moving"] |= {"path": str(copied / "gone.nii.gz")}
    provenance["fixed"] |= {"path": str(copied / "qc.json")}
    provenance["packages"]["torch"] = "1.0"
    (copied / "provenance.json").write_text(json.dumps(provenance), encoding="utf-8")
    with (copied / "plan.toml").open("a") as plan:
        plan.write("# a word\n")
    (copied / "maps" / "radius95.nii.gz").unlink()
    label = copied / "labels" / "probability_10.nii.gz"
    doubled = read(label)
    write_volume(doubled.with_data(2 * doubled.data), label)
    transforms = sorted((copied / "transforms").iterdir())
    shutil.copy(transforms[0], transforms[1])
    assert command("--quiet", "verify", copied) == 3
    out = capsys.readouterr().out
    for said in (
        "gone.nii.gz is not there any more", "qc.json has changed since", "torch 1.0, now",
        "plan.toml has changed", "radius95.nii.gz is not there any more", "do not sum to 1",
        "undo each other to", "checks failed",
    ):  # fmt: skip
        assert said in out, said


def test_a_run_that_has_not_ended_is_one_sentence(copied, capsys):
    provenance = json.loads((copied / "provenance.json").read_text(encoding="utf-8"))
    del provenance["files"]
    (copied / "provenance.json").write_text(json.dumps(provenance), encoding="utf-8")
    assert "is not finished" in sentence(capsys, "verify", copied)
    assert "holds no finished run" in sentence(capsys, "verify", copied / "maps")
