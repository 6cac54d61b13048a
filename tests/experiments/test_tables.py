"""Each number of each table is the one in the run's folder; the paper's are those of its tables."""

import json

import numpy as np
import pytest

from experiments.paper2021 import tables
from experiments.paper2021.anatomy import members
from experiments.paper2021.cells import Scale
from experiments.paper2021.page import circumstances, total_seconds
from experiments.paper2021.results import spread
from finished import LABELS, finished, known, mixed


def row(table: tables.Table, title: str) -> dict[str, str]:
    found = next(line for line in table.rows if line[0].startswith(title))
    return dict(zip(table.columns, found, strict=True))


def by_label(values: dict[str, float]) -> list[list[float]]:
    """Two draws of each structure, 0.02 apart, round the value of its group."""
    each = {label: value for group, value in values.items() for label in members(group)}
    return [[each[label] + sign * 0.01 for label in LABELS] for sign in (-1, 1)]


def test_accuracy_has_the_papers_groups_beside_ours(tmp_path):
    dice = by_label({"small": 0.6, "medium": 0.7, "large": 0.8})
    found = finished("3", tmp_path, {"vi": {"dice": dice}, "sgld": {"distance": dice}})
    line = row(tables.accuracy(found, "dice"), "VI")
    assert [line[f"{group}, paper"] for group in ("small", "medium", "large")] == [
        "0.68 (0.07)",
        "0.79 (0.03)",
        "0.88 (0.02)",
    ]
    assert [line[f"{group}, here"] for group in ("small", "medium", "large")] == [
        "0.60 (0.01)",
        "0.70 (0.01)",
        "0.80 (0.01)",
    ]
    assert row(tables.accuracy(found, "distance"), "SG-MCMC")["medium, here"] == "0.70 (0.01)"
    assert row(tables.accuracy(found, "distance"), "SG-MCMC")["medium, paper"] == "0.95 (0.07)"
    assert row(tables.accuracy(found, "distance"), "default")["medium, paper"] == tables.NONE


def test_a_structure_that_a_result_lacks_is_left_out_of_its_group(tmp_path):
    dice = np.array(by_label({"small": 0.6, "medium": 0.7, "large": 0.8}))
    dice[:, LABELS.index(16)] = np.nan
    found = finished("3", tmp_path, {"vi": {"dice": dice.tolist()}})
    assert row(tables.accuracy(found, "dice"), "VI")["large, here"] == "0.80 (0.01)"
    fewer = {"labels": list(LABELS[1:]), "dice": dice[:, 1:].tolist()}
    assert finished("3", tmp_path, {"vi": fewer}).on()["vi"].group("dice", "large").mean == pytest.approx(0.8)


def test_correlations_and_folds_are_those_measured(tmp_path):
    r = {"r": -0.25, "low": -0.7, "high": 0.3, "count": 15}
    found = finished("3", tmp_path, {"vi": {"correlation": r, "folds": [0, 4] * 5}})
    line = row(tables.correlation(found), "VI")
    assert (line["r, paper"], line["r, here"], line["95 % interval"]) == ("0.07", "−0.25", "−0.70 to 0.30")
    line = row(tables.folding(found), "VI")
    assert (line["voxels, paper"], line["voxels, here"]) == ("0.00 (0.04)", "2.00 (2.11)")
    assert line["% of voxels, here"] == "0.2"


def test_run_time_counts_draws_transitions_and_effective_draws_a_second(tmp_path):
    chained = {"mixing": mixed(1.02, 8.0), "seconds": {"approximation": 3.0, "warmup": 2.0, "draws": 4.0}}
    found = finished("runtime", tmp_path, {"sgld": chained})
    line = row(tables.runtime(found), "SG-MCMC")
    sampling = found.on()["sgld"].plan.sampling
    assert line["registration (s), here"] == "5"
    assert line["draws/s, here"] == "2.5"
    assert float(line["transitions/s"]) == sampling.chains * sampling.each * sampling.thin / 4
    assert (line["effective draws/s, worst"], line["effective draws/s, median"]) == ("2", "4")
    assert line["draws/s, paper"] == "< 1"
    line = row(tables.runtime(found), "VI")
    assert (line["registration (s), here"], line["effective draws/s, worst"]) == ("3", "2.5")
    assert (line["registration (s), paper"], line["draws/s, paper"]) == ("180", "140")
    assert line["training (s), here"] == tables.NONE
    found = finished("runtime", tmp_path, {"voxelmorph": {"training_seconds": 1234.5}})
    line = row(tables.runtime(found), "VoxelMorph")
    assert (line["training (s), paper"], line["training (s), here"]) == ("136800", "1234")
    assert (line["registration (s), paper"], line["draws/s, paper"]) == ("0.055", "26")


def test_what_chains_that_have_not_met_are_worth_is_a_bound(tmp_path):
    found = finished(
        "3", tmp_path, {"sgld": {"mixing": mixed(1.5, 8.0)}, "default": {"mixing": mixed(1.01, 300)}}
    )
    table = tables.mixing([found])
    assert row(table, "SG-MCMC")["ESS, worst"] == "≤ 8"
    assert row(table, "SG-MCMC")["converged"] == "no"
    assert row(table, "default")["ESS, worst"] == "300"
    assert row(table, "default")["converged"] == "yes"
    assert len(table.rows) == 2


def test_calibration_is_that_of_the_truth_and_of_the_labels(tmp_path):
    found = finished("3", tmp_path, {})
    line = row(tables.calibration(found), "VI")
    assert line["error before (mm)"] == "3.00"
    assert line["truth in 90 % intervals"] == "80 %"
    assert (line["error / SD"], line["sparsification excess"]) == ("1.50", "0.15")
    assert (line["calibration error of labels"], line["Brier score"]) == ("0.100", "0.100")


def test_without_a_truth_there_are_dashes(tmp_path):
    found = finished("3", tmp_path, {})
    place = found.on()["vi"].folder / "measured.json"
    without = {name: value for name, value in known().items() if name not in ("truth", "sparsification")}
    place.write_text(json.dumps(without), encoding="utf-8")
    line = row(tables.calibration(found), "VI")
    assert line["truth in 90 % intervals"] == tables.NONE
    assert line["Brier score"] == "0.100"


def test_regularisation_and_parametrisations_are_those_measured(tmp_path):
    found = finished("1", tmp_path, {"weak": {"strength": 0.1, "folds": [3] * 10, "motion": 2.5}})
    line = row(tables.regularisation(found, "sample"), "λ = 0.1")
    assert (line["λ in the end"], line["folded voxels a draw"]) == ("0.10", "3.0")
    assert (line["mean displacement (mm)"], line["Dice"], line["Dice before"]) == ("2.50", "0.800", "0.700")
    found = finished("5", tmp_path, {"four": {"roughness": 0.025}})
    assert row(tables.bsplines(found), "B-spline, δ = 4")["step of det J between voxels"] == "0.025"


def test_time_that_runs_share_counts_once(tmp_path):
    found = finished("3", tmp_path, {})
    stems = {result.folder.name.rsplit("-", 1)[0] for result in found.results}
    assert total_seconds(found.results) == pytest.approx(3.0 * len(stems) + 4.0 * len(found.results))
    facts = dict(circumstances([found], Scale.read("smoke")).rows)
    assert facts["data"] == "a source"
    assert facts["grid"] == "1000 voxels of 2.00 × 2.00 × 2.00 mm"


def test_a_table_is_markdown_and_a_missing_number_a_dash():
    table = tables.Table("A title", ("a", "b"), (("1", tables.number(None)), ("2", tables.number(-1.234))))
    assert table.markdown() == "**A title**\n\n| a | b |\n| --- | --- |\n| 1 | — |\n| 2 | −1.23 |\n"
    assert tables.number(float("nan")) == tables.NONE


def test_a_spread_is_of_the_numbers_that_are_numbers():
    found = spread(np.array([1.0, np.nan, 3.0]))
    assert (found.mean, found.sd) == pytest.approx((2.0, 2**0.5))
