"""A pair's work: recognised when done, gone on with when stopped, never written over, told in sentences."""

import json
import shutil
from pathlib import Path

import pytest
import SimpleITK as sitk
import torch

from cohorts import TINY, cohort, draws_of
from credwarp import __version__
from credwarp.batch.cases import Case
from credwarp.batch.checks import Choices
from credwarp.batch.places import Roots
from credwarp.batch.recognise import OtherRun, recognised
from credwarp.batch.run import Source
from credwarp.batch.work import attempt
from credwarp.errors import InputError
from credwarp.kernels.threads import count
from credwarp.plan import Plan
from credwarp.workflow import begin, complete, compute_on


def silent(news) -> None:
    pass


def case_of(folder: Path, *settings: str, count: int = 1, row: int = 0) -> Case:
    table = cohort(folder, count, labels=True)
    choices = Choices(Plan().with_settings([*TINY, *settings]), (), Roots.of(folder))
    good, problems = Source(table).checked(choices)
    assert problems == []
    return good[row]


def task(case: Case, out: Path, kind="whole", chain=0, **others):
    told = {"kind": kind, "chain": chain, "threads": 1, "strict": False, "version": __version__}
    return {"case": case.to_dict(), "out": str(out), **told, **others}


def done(case: Case, out: Path, kind="whole", chain=0, wanted=lambda: True):
    return attempt(task(case, out, kind, chain), silent, wanted)


def test_a_case_travels_as_json(tmp_path):
    case = case_of(tmp_path, "method=map")
    assert Case.from_dict(json.loads(json.dumps(case.to_dict()))) == case


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> tuple[Case, Path, dict]:
    folder = tmp_path_factory.mktemp("whole")
    case = case_of(folder)
    return case, folder / "out", done(case, folder / "out")


def test_a_pairs_draws_are_those_of_the_command_for_one_pair(whole, tmp_path):
    case, out, result = whole
    assert (result["status"], result["code"]) == ("not converged", 4)
    assert result["figures"]["draws"] == 16
    assert 0 < result["figures"]["dice"] <= 1
    assert result["figures"]["radius95"] > 0
    begin(case.request, case.plan, tmp_path / "alone")
    complete(tmp_path / "alone")
    folder = out / case.folder
    assert torch.equal(draws_of(folder), draws_of(tmp_path / "alone"))
    stamp = (folder / "report.html").stat().st_mtime_ns
    again = done(case, out)
    assert again["figures"] == result["figures"]
    assert (folder / "report.html").stat().st_mtime_ns == stamp


def test_a_pair_that_nobody_waits_for_stops_and_goes_on_later_with_the_same_draws(whole, tmp_path):
    (case, out, _), left = whole, iter([True] * 5)
    first = done(case, tmp_path / "out", wanted=lambda: next(left, False))
    assert first["status"] == "abandoned"
    assert recognised(case, tmp_path / "out" / case.folder) == "begun"
    done(case, tmp_path / "out")
    assert torch.equal(draws_of(tmp_path / "out" / case.folder), draws_of(out / case.folder))
    log = [
        json.loads(line) for line in (tmp_path / "out" / case.folder / "log.jsonl").read_text().splitlines()
    ]
    assert [line["message"][:12] for line in log if line["message"].startswith("whole")] == [
        "whole: new b",
        "whole: begun",
    ]


def test_chains_on_their_own_are_those_of_the_whole(whole, tmp_path):
    case, out, result = whole
    assert done(case, tmp_path / "parts", "warm") | {"seconds": 0, "where": ""} == {
        "figures": {}, "sentence": "", "status": "part", "code": 0, "chains": 2, "seconds": 0, "where": "",
    }  # fmt: skip
    early = done(case, tmp_path / "parts", "join")
    assert early["status"] == "failed"
    assert "do not have all their draws" in early["sentence"]
    left = iter([True])
    assert (
        done(case, tmp_path / "parts", "chain", 1, wanted=lambda: next(left, False))["status"] == "abandoned"
    )
    for chain in (1, 0):
        assert done(case, tmp_path / "parts", "chain", chain)["status"] == "part"
    parted = done(case, tmp_path / "parts", "join")
    assert torch.equal(draws_of(tmp_path / "parts" / case.folder), draws_of(out / case.folder))
    changing = ("run_seconds", "peak_memory_mb")
    assert all(parted["figures"][k] == v for k, v in result["figures"].items() if k not in changing)
    assert not (tmp_path / "parts" / case.folder / "state" / "chains").exists()


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> tuple[Case, Path]:
    folder = tmp_path_factory.mktemp("finished")
    case = case_of(folder, "method=map")
    assert done(case, folder / "out")["status"] == "done"
    return case, folder


def test_what_is_finished_is_known_by_its_provenance(finished, tmp_path):
    case, folder = finished
    place = folder / "out" / case.folder
    assert recognised(case, place) == "finished"
    assert recognised(case, tmp_path / "nothing") == "new"
    plan = Case(**{**vars(case), "plan": case.plan.with_settings(["seed=1"])})
    with pytest.raises(OtherRun, match="another plan"):
        recognised(plan, place)
    for file in (case.moving.image, case.fixed.labels):
        kept = file.read_bytes()
        file.write_bytes(kept + b"\0")
        with pytest.raises(OtherRun, match="other images"):
            recognised(case, place)
        file.write_bytes(kept)
    result = done(plan, folder / "out")
    assert (result["status"], result["code"], result["again"]) == ("failed", 3, False)
    older = tmp_path / "older"
    shutil.copytree(place, older)
    facts = json.loads((older / "provenance.json").read_text())
    (older / "provenance.json").write_text(json.dumps(facts | {"credwarp": "0.0.9"}))
    with pytest.raises(OtherRun, match=r"another version \(0.0.9"):
        recognised(case, older)


def test_a_run_that_ended_before_its_report_is_not_taken_for_whole(finished, tmp_path):
    case, folder = finished
    shutil.copytree(folder / "out", tmp_path / "out")
    place = tmp_path / "out" / case.folder
    for name in ("report.html", "qc.json", "plan.toml"):
        (place / name).unlink()
        assert recognised(case, place) == ("new" if name == "plan.toml" else "begun")
        assert done(case, tmp_path / "out")["sentence"].startswith("This is the most probable warp")
        assert recognised(case, place) == "finished"


def test_landmarks_are_carried_and_belong_to_what_is_finished(finished, tmp_path):
    case, folder = finished
    points = tmp_path / "points.csv"
    points.write_text("# CoordinateSystem = RAS\nname,x,y,z\na,2,2,2\nb,1,3,-2\n", encoding="utf-8")
    marked = Case(**{**vars(case), "landmarks": points})
    place = folder / "out" / case.folder
    assert recognised(marked, place) == "begun"
    assert done(marked, folder / "out")["status"] == "done"
    assert len((place / "landmarks.csv").read_text().splitlines()) == 5
    assert recognised(marked, place) == "finished"
    points.write_text(points.read_text().replace("a,2", "a,3"), encoding="utf-8")
    assert recognised(marked, place) == "begun"


@pytest.mark.parametrize(
    ("failure", "code", "again", "said"),
    [
        (MemoryError(), 5, True, "memory"),
        (ZeroDivisionError("x / 0"), 1, True, "ZeroDivisionError"),
        (OSError(28, "No space left on device"), 1, True, "No space left"),
    ],
    ids=["memory", "defect", "disk"],
)
def test_whatever_goes_wrong_is_a_result_with_a_sentence(
    finished, tmp_path, monkeypatch, failure, code, again, said
):
    def broken(*arguments) -> None:
        raise failure

    case, _ = finished
    monkeypatch.setattr("credwarp.batch.work.begin", broken)
    result = done(case, tmp_path)
    assert (result["status"], result["code"], result["again"]) == ("failed", code, again)
    assert said in result["sentence"]


def test_links_put_into_a_runs_folder_and_other_versions_are_refused(finished, tmp_path):
    case, _ = finished
    (tmp_path / case.folder).mkdir()
    (tmp_path / case.folder / "maps").symlink_to(tmp_path)
    assert "symbolic link" in done(case, tmp_path)["sentence"]
    other = attempt(task(case, tmp_path, version="9.9"), silent, lambda: True)
    assert "install the same one" in other["sentence"]


def test_threads_are_those_that_were_asked_for_and_a_run_keeps_those_it_began_with(
    finished, tmp_path, monkeypatch
):
    seen = []

    def noted(*arguments) -> None:
        seen.append((count(), torch.get_num_threads(), sitk.ProcessObject.GetGlobalDefaultNumberOfThreads()))
        raise InputError("enough.")

    case, _ = finished
    before = torch.get_num_threads()
    monkeypatch.setattr("credwarp.batch.work.complete", noted)
    try:
        for place, threads in (("one", 2), ("one", 1), ("other", 1)):
            attempt(task(case, tmp_path / place, threads=threads), silent, lambda: True)
        assert seen == [(2, 2, 2), (2, 2, 2), (1, 1, 1)]
    finally:
        compute_on(before)
