"""The 95 % radius holds 95 %: Monte Carlo and chi-square laws, whatever the eigenvalues."""

import numpy as np
import pytest
import torch
from scipy.stats import chi2

from credwarp.summaries.radius import eigenvalues, radius95

NORMALS = np.random.default_rng(0).normal(size=(400_000, 3)) ** 2


def turned(values, seed=0):
    turn = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))[0]
    matrix = turn @ np.diag(values) @ turn.T
    return torch.from_numpy(matrix[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]])


@pytest.mark.parametrize(("values", "freedom"), [((1, 0, 0), 1), ((2, 2, 0), 2), ((3, 3, 3), 3)])
def test_equal_eigenvalues_are_a_chi_square(values, freedom):
    exact = np.sqrt(max(values) * chi2.ppf(0.95, freedom))
    assert float(radius95(turned(values))) == pytest.approx(exact, rel=1e-3)


@pytest.mark.parametrize(
    "values",
    [(1, 0.5, 0.2), (1, 0.01, 0.001), (1, 0.04, 0.03), (4, 3.9, 0.1), (1e-6, 3e-7, 0), (900, 20, 7)],
)
def test_the_ball_holds_95_percent(values):
    drawn = np.sqrt(np.quantile(NORMALS @ np.array(values), 0.95))
    assert float(radius95(turned(values, seed=3))) == pytest.approx(drawn, rel=0.006)


def test_no_spread_is_no_radius():
    assert radius95(torch.zeros((6, 2, 3))).tolist() == [[0.0] * 3] * 2


def test_eigenvalues_are_numpys():
    random = np.random.default_rng(1).normal(size=(200, 3, 3))
    matrices = random @ random.transpose(0, 2, 1)
    packed = torch.from_numpy(matrices[:, [0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]].T.copy())
    ours = torch.stack(eigenvalues(packed), dim=1)
    assert np.allclose(ours, np.linalg.eigvalsh(matrices)[:, ::-1], atol=1e-10)
