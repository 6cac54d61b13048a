"""Each word for the measurement that earns it."""

import pytest

from experiments.paper2021 import verdicts

GOT, NOT, REVERSED = "reproduced", "not reproduced", "reversed"


@pytest.mark.parametrize(
    ("function", "cases"),
    [
        (verdicts.folds, {(5.0, 0.0): GOT, (0.5, 0.0): NOT, (0.0, 3.0): REVERSED, (5.0, 5.0): NOT}),
        (verdicts.few_folds, {(0.5, 0.1): GOT, (0.1, 0.5): REVERSED, (0.0, 2.0): NOT, (0.0, 0.0): GOT}),
        (
            verdicts.prevented,
            {(0.1, 0.3, 0.5): GOT, (0.2, 0.3, 0.5): NOT, (0.4, 0.3, 0.5): REVERSED, (-0.2, -0.1, 0.5): NOT},
        ),
        (verdicts.between, {(1, 2, 3): GOT, (3, 2, 1): REVERSED, (1, 3, 2): NOT}),
        (verdicts.same, {(1.01,): GOT, (1.2,): NOT, (0.8,): NOT}),
        (verdicts.larger, {(1.2,): GOT, (1.0,): NOT, (0.8,): REVERSED}),
        (verdicts.positive, {(0.1,): GOT, (0.0,): NOT, (-0.1,): REVERSED}),
        (verdicts.met, {(1.01,): GOT, (1.1,): NOT, (1.5,): REVERSED, (float("nan"),): NOT}),
        (verdicts.sure, {(2.0, 1.0): GOT, (1.0, 1.0): NOT, (-2.0, 1.0): REVERSED, (float("nan"), 1.0): NOT}),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_number_earns_its_word(function, cases):
    for numbers, word in cases.items():
        assert function(*numbers) == word


@pytest.mark.parametrize(
    ("function", "cases"),
    [
        (verdicts.best, {(3, 1, 2): GOT, (2, 1, 3): NOT, (1, 2, 3): REVERSED}),
        (verdicts.all_larger, {(1.2, 1.3): GOT, (1.2, 1.0): NOT, (0.8, 0.7): REVERSED, (1.2, 0.7): NOT}),
        (verdicts.similar, {(0.80, 0.81, 0.82): GOT, (0.70, 0.81, 0.82): NOT}),
        (verdicts.majority, {(0.6, 0.7): GOT, (0.4, 0.7): NOT, (0.4, 0.3): REVERSED}),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_several_numbers_earn_their_word(function, cases):
    for numbers, word in cases.items():
        assert function(numbers) == word


def test_discrepancies_are_compared_as_they_are_rounded():
    assert verdicts.as_close((0.14, 0.24), (0.1, 0.2)) == GOT
    assert verdicts.as_close((0.14, 0.26), (0.1, 0.2)) == NOT


def test_correlations_of_fifteen_structures_differ_only_when_they_are_far_apart():
    one, near, far = ({"r": r, "count": 15} for r in (0.10, 0.07, -0.8))
    assert verdicts.more_correlated(one, near) == NOT
    assert verdicts.more_correlated(one, far) == GOT
    assert verdicts.more_correlated(far, one) == REVERSED
