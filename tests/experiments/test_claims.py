"""What the paper says gets the word that the measurements in the folders earn."""

import numpy as np
import pytest

from experiments.paper2021 import claims, starts
from experiments.paper2021.claims import JUDGES
from finished import LABELS, finished

GOT, NOT, REVERSED = "reproduced", "not reproduced", "reversed"


def dice(value: float) -> list[list[float]]:
    """Two draws; structures differ a little."""
    offsets = np.linspace(0, 0.01, len(LABELS))
    return [(value + sign * 0.001 + offsets).tolist() for sign in (-1, 1)]


def words(number: str, folder, changes) -> dict[str, str]:
    found = finished(number, folder, changes)
    judged = JUDGES[found.experiment.name](found)
    assert all(claim.measured for claim in judged)
    return {claim.says: claim.word for claim in judged}


def word(found: dict[str, str], part: str) -> str:
    (said,) = [says for says in found if part in says]
    return found[said]


def test_regularisation_as_the_paper_has_it_and_the_contrary(tmp_path):
    weak, baseline, proposed = (
        {"motion": 3.0, "folds": [9] * 10},
        {"motion": 0.5, "dice": dice(0.71)},
        {"motion": 2.0},
    )
    papers = words("1", tmp_path, {"weak": weak, "baseline": baseline, "proposed": proposed})
    assert set(papers.values()) == {GOT}
    contrary = words(
        "1",
        tmp_path,
        {
            "weak": {"motion": 0.5},
            "strong": {"folds": [9] * 10},
            "baseline": {"motion": 3.0, "dice": dice(0.9)},
            "proposed": {"motion": 2.0},
        },
    )
    assert set(contrary.values()) == {REVERSED}


def test_two_pairs(tmp_path):
    weak = {"folds": [9] * 10, "dice": dice(0.9)}
    better = {"strong.unlike": {"dice": dice(0.7)}, "proposed.unlike": {"dice": dice(0.75)}}
    assert set(words("1b", tmp_path, {"weak": weak, **better}).values()) == {GOT}
    found = words("1b", tmp_path, {"weak": {"dice": dice(0.6)}, "proposed.alike": {"motion": 4.0}})
    assert word(found, "alignment is best") == REVERSED
    assert word(found, "almost the same") == NOT
    assert word(found, "somewhat more accurate") == NOT
    assert word(found, "(M₂)") == NOT


def test_uncertainty(tmp_path):
    wide = {"sd": {"mean": 2.0, "median": 2.0}}
    assert word(words("3", tmp_path, {"vi": wide}), "VI is more uncertain") == GOT
    assert word(words("3", tmp_path, {"sgld": wide}), "VI is more uncertain") == REVERSED
    assert word(words("3", tmp_path, {"vi": wide}), "Label uncertainties differ less") == GOT
    spread = {"dice": [[0.7] * len(LABELS), [0.9] * len(LABELS)]}
    assert word(words("3", tmp_path, {"vi": spread}), "Label uncertainties differ less") == REVERSED
    worse = {"dice": dice(0.6)}
    assert word(words("3", tmp_path, {"vi": worse}), "more accurate than affine") == REVERSED
    assert word(words("3", tmp_path, {"vi": {"folds": [5] * 10}}), "Hardly a voxel") == NOT


@pytest.mark.parametrize(
    ("apart", "expected"),
    [
        (starts.Meeting(0.1, 0.2, 1.01, 1.0), [GOT, GOT]),
        (starts.Meeting(0.3, 0.2, 1.1, 1.0), [NOT, NOT]),
        (starts.Meeting(0.1, 0.9, 2.0, 1.2), [NOT, REVERSED]),
    ],
)
def test_initialisation(tmp_path, monkeypatch, apart, expected):
    monkeypatch.setattr(claims, "meeting", lambda found: apart)
    assert list(words("4", tmp_path, {}).values()) == expected


def test_bsplines(tmp_path):
    smooth = {"roughness": 0.01, "dice": dice(0.9), "sd": {"mean": 0.5, "median": 0.5}}
    assert set(words("5", tmp_path, {"two": smooth, "four": smooth}).values()) == {GOT}
    rough = {"roughness": 0.5, "dice": dice(0.6)}
    found = words("5", tmp_path, {"two": rough, "four": rough})
    assert list(found.values()) == [REVERSED, REVERSED, NOT]


def test_only_experiments_that_were_run_are_judged(tmp_path):
    found = finished("5", tmp_path, {})
    assert len(claims.claims({found.experiment.name: found})) == 3
