"""A plan is one tree of choices: it survives TOML, and says what is wrong with it in a sentence."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from credwarp.errors import PlanError
from credwarp.plan import Plan, schema
from credwarp.priors import LogNormalEnergy
from credwarp.transforms import BsplineSvf


def test_a_plan_survives_toml():
    plan = Plan(transform=BsplineSvf(spacing=(2.0, 3.0, 1.5)), prior=LogNormalEnergy(strength=2.0), seed=3)
    assert Plan.from_toml(plan.to_toml()) == plan


def test_an_empty_document_is_the_default_plan():
    assert Plan.from_toml("") == Plan()


def test_every_choice_of_every_room_can_be_planned_by_name():
    kinds = {
        "transform": ["dense", "bspline"],
        "likelihood": ["mixture", "gaussian", "mind"],
        "prior": ["sobolev", "gaussian", "gamma", "lognormal"],
    }
    for section, names in kinds.items():
        for name in names:
            plan = Plan().with_settings([f"{section}.kind={name}"])
            assert getattr(plan, section).kind == name
            assert Plan.from_toml(plan.to_toml()) == plan


def test_a_new_kind_starts_from_its_own_defaults():
    plan = Plan().with_settings(["prior.strength=7", "prior.kind=gamma"])
    assert plan.prior.strength == 1.2


def test_naming_the_kind_again_keeps_its_settings():
    plan = Plan().with_settings(["prior.strength=7", "prior.kind=sobolev"])
    assert plan.prior.strength == 7


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("prior.strength=-1", ["prior.strength", "-1", "greater than 0"]),
        ("prior.strenght=2", ["prior.strenght", "prior.strength"]),
        ("transform.squarings=99", ["transform.squarings", "99", "'auto'", "12"]),
        ("transform.squarings=many", ["transform.squarings", "'many'", "'auto'", "integer"]),
        ("transform.kind=affine", ["transform.kind", "affine", "'dense'", "'bspline'"]),
        ("likelihood.window=4", ["likelihood.window", "4", "3, 5, 7"]),
        ("nowhere.at=1", ["nowhere", "transform", "prior"]),
        ("seed=-1", ["seed", "-1"]),
        ("seed", ["seed", "a.b=c"]),
        ("seed.of=1", ["seed"]),
        ("prior=3", ["prior", "3", "section"]),
        ("preparation.spacing=0", ["preparation.spacing", "0", "'fixed'"]),
    ],
)
def test_a_wrong_setting_is_named_with_its_value_and_the_allowed_ones(setting, words):
    with pytest.raises(PlanError) as caught:
        Plan().with_settings([setting])
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert [w for w in words if w not in sentence] == []


def test_a_document_that_is_not_toml_is_refused_in_a_sentence():
    with pytest.raises(PlanError, match="not TOML"):
        Plan.from_toml("prior = [")


leaves = st.none() | st.booleans() | st.floats() | st.text(max_size=5)
names = st.sampled_from([*Plan.model_fields, "kind", "strength", "window"]) | st.text(max_size=5)
trees = st.recursive(leaves, lambda c: st.lists(c, max_size=3) | st.dictionaries(names, c, max_size=3))


@given(st.dictionaries(names, trees, max_size=4))
@settings(max_examples=100, deadline=None)
def test_any_tree_is_a_plan_or_a_sentence(tree):
    try:
        Plan.from_dict(tree)
    except PlanError as error:
        assert str(error)  # noqa: PT017


@given(
    st.sampled_from(["prior.strength", "prior.kind", "transform", "seed", "likelihood.alpha"]),
    st.text(max_size=12),
)
@settings(max_examples=100, deadline=None)
def test_any_setting_is_taken_or_refused_in_a_sentence(path, value):
    try:
        Plan().with_settings([f"{path}={value}"])
    except PlanError as error:
        assert str(error)  # noqa: PT017


def test_the_schema_names_every_section_and_kind():
    tree = json.loads(schema())
    assert set(tree["properties"]) == set(Plan.model_fields)
    text = json.dumps(tree)
    assert all(kind in text for kind in ("bspline", "mind", "lognormal"))
