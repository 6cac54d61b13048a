"""From nothing to the page on heads of a few voxels: stopped, gone on with, measured against brute force."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from credwarp.files import open_run
from experiments.paper2021 import __main__ as program
from experiments.paper2021 import cells, running, subjects
from experiments.paper2021.measuring import roughness, seen

TINY = cells.Scale(
    "smoke",
    10.92,
    (16, 18, 16),
    3,
    ("epochs=1", "images=2", "architecture.channels=[4,4]"),
    {
        "amortised": ["sampling.draws=8"],
        "every": ["transform.squarings=4"],
        "diagonal_low_rank": ["variational.iterations=4", "sampling.draws=8"],
        "sgld": ["sampling.warmup=2", "sampling.thin=1"],
        "structured": [
            "transform.coarsening=1",
            "variational.iterations=1",
            "optimisation.levels=[1]",
            "optimisation.rounds=1",
            "optimisation.starts=1",
            "optimiser.iterations=2",
        ],
        "underdamped": ["sampling.warmup=2", "sampling.draws=16", "sampling.thin=1", "metric.size=24"],
    },
)


@pytest.fixture(scope="module")
def output(tmp_path_factory) -> Path:
    """All experiments, stopped in the middle of one and gone on with."""
    folder = tmp_path_factory.mktemp("paper")
    arguments = ["--scale", "smoke", "--output", str(folder)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cells.Scale, "read", classmethod(lambda cls, name: TINY))
        measure, calls = running.measure, []

        def stopped(*given):
            calls.append(given)
            if len(calls) == 3:
                raise KeyboardInterrupt
            return measure(*given)

        patch.setattr(running, "measure", stopped)
        with pytest.raises(KeyboardInterrupt):
            program.main(arguments)
        done = {path: path.stat().st_mtime_ns for path in folder.glob("runs/*/measured.json")}
        assert len(done) == 2
        assert program.main(arguments) == 0
        assert {path: path.stat().st_mtime_ns for path in done} == done
    return folder


def measured(output: Path) -> dict[Path, dict]:
    return {path.parent: json.loads(path.read_text()) for path in output.glob("runs/*/measured.json")}


def test_every_different_run_is_there_once_and_the_page_shows_all(output):
    wanted = {cell.folder for e in cells.experiments(TINY) for cell in e.cells}
    assert {path.name.removeprefix("demo-") for path in measured(output)} == wanted
    page = (output / "page" / "index.md").read_text(encoding="utf-8")
    for heading in ("Regularisation strength", "Run time", "What none of the published tables has"):
        assert f"## {heading}" in page
    figures = {path.stem for path in (output / "page").glob("*.png")}
    assert figures == {path.stem for path in (output / "page").glob("*.svg")}
    assert all(f"({figure}.png)" in page for figure in figures)
    assert len(figures) == 9
    assert page.count("reproduced**") + page.count("reversed**") == 22


def test_chains_take_over_the_law_that_was_fitted_before(output):
    found = {cell.folder: cell for e in cells.experiments(TINY) for cell in e.cells}
    stems: dict[str, set[float]] = {}
    for path, facts in measured(output).items():
        stem = path.name.rsplit("-", 1)[0]
        if "approximation" in facts["seconds"]:
            stems.setdefault(stem, set()).add(facts["seconds"]["approximation"])
    assert all(len(seconds) == 1 for seconds in stems.values())
    assert len(stems) < len(found)


def test_what_is_measured_is_what_the_draws_say(output):
    place, facts = next(
        (path, facts) for path, facts in measured(output).items() if path.name.startswith("demo-sample")
    )
    run = open_run(place)
    brain = seen(run)
    spacing = np.array(run.pair.grid.spacing)[:, None]
    draws = np.stack([np.asarray(field[0][:, brain]) * spacing for field in run.displacements()])
    sd = np.sqrt(draws.var(axis=0, ddof=1).sum(axis=0))
    assert facts["sd"]["median"] == pytest.approx(np.median(sd), rel=1e-4)
    assert facts["motion"] == pytest.approx(np.linalg.norm(draws.mean(axis=0), axis=0).mean(), rel=1e-4)
    assert len(facts["dice"]) == len(facts["folds"]) == facts["draws"] == run.total
    assert np.nanmax(facts["dice"]) <= 1


def test_the_map_between_heads_leads_back_to_where_it_began(output, tmp_path):
    there = subjects.demo(TINY, output / "subjects").pairs["alike"]().true_map()
    back = subjects._other(TINY, tmp_path, 2, 1, "back").true_map()
    places = np.random.default_rng(0).uniform(-30, 30, (200, 3)) + [0, -17, 8]
    moved = np.linalg.norm(there(places) - places, axis=1)
    # Between voxels of 11 mm the map is linear: its error is a small part of the way.
    assert np.linalg.norm(back(there(places)) - places, axis=1).mean() < 0.1 * moved.mean()
    assert 0.5 < moved.mean() < 4


def test_heads_are_made_once(output, monkeypatch):
    monkeypatch.setattr(subjects, "pair", lambda *given: pytest.fail("made again"))
    assert subjects.demo(TINY, output / "subjects").pairs["sample"]().request.fixed.image.exists()


def test_roughness_is_the_step_between_neighbours_inside():
    determinant = torch.arange(4.0)[:, None, None] * torch.ones(4, 3, 2)
    where = torch.ones(4, 3, 2, dtype=torch.bool)
    # 18 steps of 1 along the first axis, 16 and 12 of 0 along the others.
    assert roughness(determinant, where) == pytest.approx((18 / (18 + 16 + 12)) ** 0.5)
    inside = where.clone()
    inside[2:] = False
    determinant[2:] = 100.0
    assert roughness(determinant, inside) < 1


def test_one_experiment_can_be_asked_for_without_running_it_again(output, tmp_path, monkeypatch):
    monkeypatch.setattr(running, "register", lambda *given: pytest.fail("a run was run again"))
    monkeypatch.setattr(cells.Scale, "read", classmethod(lambda cls, name: TINY))
    arguments = ["--output", str(output), "--page", str(tmp_path)]
    assert program.main([*arguments, "--only", "5"]) == 0
    page = (tmp_path / "index.md").read_text(encoding="utf-8")
    assert "Dense velocities and B-splines" in page
    assert "Run time" not in page


def test_an_experiment_that_is_none_is_refused_and_so_is_a_folder_without_data(tmp_path, capsys):
    arguments = ["--output", str(tmp_path)]
    assert program.main([*arguments, "--only", "2"]) == 3
    assert "the experiments are 1, 1b, 3, 4, 5, runtime" in capsys.readouterr().err
    assert program.main([*arguments, "--data", str(tmp_path)]) == 3


def test_another_plan_is_another_run():
    cell = cells.experiments(TINY)[0].cells[0]
    other = replace(cell, plan=cell.plan.with_settings(["prior.strength=0.3"]))
    assert other.folder != cell.folder
