"""The first sentence says what the flags say, the gravest first."""

import pytest

from credwarp.report import verdict
from credwarp.report.verdict import AMBER, RED, WORDS, flags
from findings import flagged, quality


def test_a_converged_run_without_flags_is_green_and_says_on_what_grounds():
    light, sentence = verdict(quality())
    assert light == "green"
    assert "R-hat at most 1.012" in sentence
    assert "431 effective draws" in sentence


@pytest.mark.parametrize("kind", RED)
def test_grave_flags_forbid(kind):
    light, sentence = verdict(flagged(kind))
    assert light == "red"
    assert sentence.startswith("Do not use")
    assert RED[kind] in sentence


@pytest.mark.parametrize("kind", AMBER)
def test_mild_flags_ask_for_a_look(kind):
    light, sentence = verdict(flagged(kind))
    assert light == "amber"
    assert AMBER[kind] in sentence


def test_no_convergence_leads_and_unrelated_images_are_in_the_same_first_sentence():
    sentence = verdict(flagged("folds", "misfit", "not_converged", rhat_max=1.7, ess_min=9.0)).sentence
    assert sentence.index("not converged (R-hat up to 1.70") < sentence.index("do not match")
    assert "fold" not in sentence
    assert sentence.count(". ") == 0


def test_what_did_not_converge_is_red_even_without_its_flag():
    assert verdict(quality(converged=False)).light == "red"
    assert verdict({}).light == "red"


def test_without_draws_or_with_an_approximation_it_is_never_green():
    light, sentence = verdict(quality(method="map"))
    assert light == "amber"
    assert "nothing here says how sure" in sentence
    assert verdict(quality(method="vi")).light == "amber"
    assert "too narrow" in verdict(quality(method="amortised")).sentence


def test_an_unknown_flag_is_named():
    light, sentence = verdict(flagged("odd_thing"))
    assert light == "amber"
    assert "odd thing" in sentence


def test_flags_keep_their_own_sentences():
    assert flags(flagged("misfit", "folds")) == [
        {"kind": "Misfit", "sentence": "about misfit", "light": "red"},
        {"kind": "Folds", "sentence": "about folds", "light": "amber"},
    ]


def test_each_light_has_its_word():
    assert set(WORDS) == {"green", "amber", "red"}
