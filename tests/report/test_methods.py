"""The methods text says every choice of the plan and cites what it names."""

import re
from dataclasses import fields, is_dataclass
from typing import get_args

import pytest

from credwarp.plan import Plan
from credwarp.report.methods import CHOICES, REFERENCES, SECTIONS, methods
from credwarp.samplers import Sampler
from findings import quality


def members(section: str):
    """The kinds there are of a section of the plan, and of the sampler."""
    info = Plan.model_fields.get(section)
    union = Sampler if info is None else info.annotation
    found = [
        m
        for m in (union, *get_args(union), *(a for u in get_args(union) for a in get_args(u)))
        if is_dataclass(m)
    ]
    for member in found:
        kind = next(f for f in fields(member) if f.name == "kind")
        yield from get_args(kind.type) or [kind.default]


@pytest.mark.parametrize("section", SECTIONS)
def test_there_are_words_for_every_choice_of_the_plan(section):
    kinds = list(members(section))
    assert kinds
    assert {(section, kind) for kind in kinds} <= set(CHOICES)


def test_references_are_numbered_in_the_order_of_the_text():
    found = methods(Plan().to_toml(), quality(), "1.2.3")
    numbers = [int(n) for group in re.findall(r"\[([\d, ]+)\]", found.text) for n in group.split(",")]
    firsts = list(dict.fromkeys(numbers))
    assert firsts == list(range(1, len(found.references) + 1))
    assert "credwarp 1.2.3" in found.text
    assert "Vehtari" in found.references[-1]


def test_every_reference_that_is_cited_exists():
    cited = {key for _, keys in CHOICES.values() for key in keys}
    assert cited <= set(REFERENCES)


def test_an_unknown_kind_is_named_and_no_plan_is_no_choice():
    assert "kind “spherical”" in methods('[prior]\nkind = "spherical"\n', quality(), "1").text
    assert "prior" not in methods("", quality(), "1").text


def test_without_chains_convergence_is_not_claimed():
    text = methods(Plan().to_toml(), {"method": "map"}, "1").text
    assert "R-hat" not in text
    assert "no uncertainty" in text


def test_a_sampler_is_told_of_where_it_drew_and_a_network_where_it_predicted():
    told = {m: methods(Plan().to_toml(), {"method": m}, "1").text for m in ("mcmc", "vi", "amortised")}
    assert [method for method, text in told.items() if "Langevin" in text] == ["mcmc"]
    assert [method for method, text in told.items() if "trained network" in text] == ["amortised"]
