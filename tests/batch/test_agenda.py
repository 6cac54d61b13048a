"""What is done when: failures thrice, chains between warmup and join, nothing beyond the memory."""

from pathlib import Path

import pytest

from credwarp.batch.agenda import Agenda
from credwarp.batch.cases import Case
from credwarp.plan import Plan
from credwarp.workflow import Subject

FAILED = {"status": "failed", "code": 1, "sentence": "no.", "again": True}
DONE = {"status": "done", "code": 0, "sentence": "yes."}
PLENTY = float("inf")


def case(name: str, memory: float = 1000.0) -> Case:
    image = Subject(Path("image.nii.gz"))
    return Case(name, name, image, image, None, Plan(), memory, memory / 2)


def taken(agenda: Agenda, room: float = PLENTY) -> list[tuple[str, str, int]]:
    found = []
    while (task := agenda.next(room)) is not None:
        found.append(task)
    return found


def test_a_pair_that_fails_is_tried_twice_more_behind_the_others():
    agenda = Agenda.of([case("a"), case("b")], "whole")
    order = []
    while (task := agenda.next(PLENTY)) is not None:
        order.append(task.case.name)
        agenda.note(task, FAILED if task.case.name == "a" else DONE)
    assert order == ["a", "b", "a", "a"]
    assert agenda.outcomes["a"].attempts == 3
    assert agenda.outcomes["b"].attempts == 1
    assert agenda.code == 1


def test_what_is_hopeless_is_not_tried_again_and_what_was_abandoned_is_no_failure():
    agenda = Agenda.of([case("a"), case("b")], "whole")
    agenda.note(agenda.next(PLENTY), FAILED | {"again": False})
    for _ in range(5):
        agenda.note(agenda.next(PLENTY), {"status": "abandoned"})
    agenda.note(agenda.next(PLENTY), DONE)
    assert [outcome.status for outcome in agenda.outcomes.values()] == ["failed", "done"]
    assert agenda.outcomes["b"].attempts == 1


def test_chains_wait_for_the_warmup_and_what_joins_them_for_all_of_them():
    agenda = Agenda.of([case("a"), case("b")], "warm")
    warm = agenda.next(PLENTY)
    agenda.note(warm, {"status": "part", "code": 0, "chains": 2})
    chains = taken(agenda)
    assert [(task.case.name, task.kind, task.chain) for task in chains] == [
        ("a", "chain", 0),
        ("a", "chain", 1),
        ("b", "warm", 0),
    ]
    part = {"status": "part", "code": 0, "chains": 0}
    agenda.note(chains[1], part)
    assert agenda.next(PLENTY) is None
    agenda.note(chains[0], part)
    join = agenda.next(PLENTY)
    assert (join.kind, join.memory_mb, chains[0].memory_mb) == ("join", 1000, 500)
    agenda.note(join, DONE)
    assert agenda.outcomes["a"].status == "done"


def test_a_pair_whose_chain_fails_for_good_ends_once():
    agenda = Agenda.of([case("a")], "warm")
    agenda.note(agenda.next(PLENTY), {"status": "part", "code": 0, "chains": 3})
    first, second, _ = taken(agenda)
    for _ in range(3):
        agenda.note(first, FAILED)
        first = agenda.next(PLENTY) or first
    agenda.note(second, {"status": "part", "code": 0, "chains": 0})
    assert agenda.outcomes["a"].status == "failed"
    assert taken(agenda) == []


def test_the_first_pair_that_fits_runs_and_those_that_fit_nowhere_end_with_a_sentence():
    agenda = Agenda.of([case("large", 9e3), case("small", 5e2), case("middle", 2e3)], "whole")
    assert [task.case.name for task in taken(agenda, 1e3)] == ["small"]
    agenda.refuse_larger(4e3)
    assert "9,000 MB" in agenda.outcomes["large"].sentence
    assert agenda.code == 5
    assert [task.case.name for task in taken(agenda)] == ["middle"]


@pytest.mark.parametrize(
    ("codes", "worst"), [((0,), 0), ((0, 4), 4), ((6, 4), 6), ((4, 3, 0), 3), ((5, 1), 1)]
)
def test_the_worst_of_all_is_the_commands_code(codes, worst):
    agenda = Agenda.of([case(str(place)) for place in range(len(codes))], "whole")
    for code in codes:
        agenda.note(agenda.next(PLENTY), {"status": "any", "code": code, "sentence": ""})
    assert agenda.code == worst
