"""Curves of uncertainty against error, and of probability against frequency, against counts by hand."""

import numpy as np
import pytest

from experiments.paper2021.curves import reliability, risk_coverage, sparsification


@pytest.fixture
def errors():
    return np.random.default_rng(0).gamma(2.0, 1.0, 4000)


def test_removing_the_most_uncertain_leaves_the_mean_error_of_the_others(errors):
    uncertainty = np.random.default_rng(1).random(4000)
    curve = sparsification(errors, uncertainty)
    for share, left in zip(curve.x, curve.y, strict=True):
        kept = uncertainty.argsort()[: round(4000 * (1 - share))]
        assert left == pytest.approx(errors[kept].mean())


def test_no_order_is_better_than_that_of_the_error_itself_and_none_worse_than_its_contrary(errors):
    oracle, contrary = sparsification(errors, errors), sparsification(errors, -errors)
    blind = sparsification(errors, np.random.default_rng(1).random(4000))
    assert oracle.mean < blind.mean < contrary.mean
    assert (oracle.y[0], blind.y[0]) == pytest.approx((errors.mean(), errors.mean()))


def test_risk_is_the_share_of_wrong_labels_among_the_surest():
    confidence = np.array([0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.0] * 2)
    wrong = confidence < 0.55
    curve = risk_coverage(wrong, confidence)
    at = dict(zip(np.round(curve.x, 2), curve.y, strict=True))
    assert at[0.4] == 0.0
    assert at[0.8] == pytest.approx(0.5)
    assert at[1.0] == pytest.approx(wrong.mean())


def test_calibrated_probabilities_lie_on_the_diagonal_and_squared_ones_below():
    generator = np.random.default_rng(0)
    probability = generator.random(200_000)
    true = generator.random(200_000) < probability
    right = reliability(probability, true)
    # The frequency in a bin of 20,000 has a standard error of at most 0.0036.
    assert np.abs(np.array(right.predicted) - np.array(right.observed)).max() < 4 * 0.0036
    assert right.brier == pytest.approx(1 / 6, abs=0.003)
    humble = reliability(probability**2, true)
    assert all(o > p for p, o in zip(humble.predicted, humble.observed, strict=True))
    assert humble.error > 10 * right.error


def test_empty_bins_are_left_out_and_certainty_is_in_the_last():
    found = reliability(np.array([0.0, 0.05, 1.0]), np.array([False, True, True]))
    assert found.count == (2, 1)
    assert found.predicted == (0.025, 1.0)
    assert found.observed == (0.5, 1.0)
