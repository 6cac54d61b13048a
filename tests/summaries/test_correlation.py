"""The paper's correlation is SciPy's, interval included."""

import numpy as np
import pytest
import torch
from scipy.stats import pearsonr

from credwarp.errors import InputError
from credwarp.summaries import displacement_uncertainty, pearson


def test_r_and_its_interval_are_scipys():
    random = np.random.default_rng(0)
    one = random.normal(size=15)
    other = 0.4 * one + random.normal(size=15)
    known = pearsonr(one, other)
    interval = known.confidence_interval(0.95)
    found = pearson(np.append(one, np.nan), np.append(other, 1.0))
    assert found.count == 15
    assert (found.r, found.low, found.high) == pytest.approx((known.statistic, interval.low, interval.high))


def test_no_variation_is_no_correlation():
    assert np.isnan(pearson(np.ones(6), np.arange(6.0)).r)


def test_too_few_labels_are_one_sentence():
    with pytest.raises(InputError, match="3 labels are too few"):
        pearson(np.arange(3.0), np.arange(3.0))


def test_uncertainty_is_the_mean_of_the_regions_sd():
    sd = torch.arange(27.0).reshape(3, 3, 3)
    regions = torch.zeros((3, 3, 3), dtype=torch.int32)
    regions[0], regions[2, 2] = 5, 8
    found = displacement_uncertainty(sd, regions, (5, 8, 9))
    assert found[:2].tolist() == [4.0, 25.0]
    assert np.isnan(found[2])
