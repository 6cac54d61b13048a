"""What the charts draw is right: ticks, densities, correlations, places."""

import re
from dataclasses import replace

import numpy as np
import pytest

from credwarp.report.charts import Frame, bars, number, ticks
from credwarp.report.convergence import autocorrelation, convergence
from credwarp.report.fit import mixture_density
from credwarp.report.tables import facts
from findings import whole


@pytest.mark.parametrize("ends", [(0.0, 1.0), (-3.2, 7.7), (1.0, 1.0004), (0.0, 12345.0), (-1e-5, 1e-5)])
def test_ticks_are_a_few_round_numbers_inside(ends):
    found = ticks(*ends, 5)
    assert 3 <= len(found) <= 11
    assert ends[0] - 1e-9 <= found[0]
    assert found[-1] <= ends[1] * (1 + 1e-9) + 1e-12


def test_numbers_are_short():
    assert [number(v) for v in (0.0, 0.25, -2.0, 12345.0, 1.02)] == ["0", "0.25", "−2", "12,345", "1.02"]


def test_a_bar_is_as_high_as_its_count():
    frame = Frame((0.0, 2.0), (0.0, 10.0), "x", "y")
    path = re.search(
        r'class="bar" d="(.*?)"', bars(frame, np.array([0, 1, 2]), np.array([5, 10]), None, "")
    ).group(1)
    tops = [float(y) for y in re.findall(r"L[\d.]+ ([\d.]+)", path)]
    assert tops == pytest.approx([frame.up(5.0), frame.up(10.0)], abs=0.05)


def test_the_mixture_is_a_density():
    x = np.linspace(-30, 30, 60001)
    density = mixture_density(x, {"proportion": [0.2, 0.8], "precision": [0.1, 9.0]})
    assert np.trapezoid(density, x) == pytest.approx(1, abs=1e-6)
    assert np.trapezoid(density * x**2, x) == pytest.approx(0.2 / 0.1 + 0.8 / 9, abs=1e-4)


def test_the_autocorrelation_of_an_autoregression_is_known():
    noise = np.random.default_rng(0).normal(size=(8, 20000))
    series = np.zeros_like(noise)
    for step in range(1, noise.shape[1]):
        series[:, step] = 0.8 * series[:, step - 1] + 0.6 * noise[:, step]
    # Bartlett: the error of a correlation is about √(2 τ / n).
    assert np.abs(autocorrelation(series, 20) - 0.8 ** np.arange(20)).max() < 4 * np.sqrt(2 * 9 / noise.size)


def test_the_worst_functionals_come_first():
    found = convergence(whole().tracked)
    assert [row.name for row in found.rows] == [f"place {k}" for k in range(11, 3, -1)]
    assert [row.trace is not None for row in found.rows] == [True] * 4 + [False] * 4
    assert found.count == 12


def test_the_fewest_effective_draws_come_first_too():
    tracked = whole().tracked
    scarce = np.array(tracked.ess)
    scarce[2] = 1.0
    rows = convergence(replace(tracked, ess=scarce)).rows
    assert "place 2" in [row.name for row in rows[:2]]


def test_nested_facts_become_rows():
    tree = {"a": {"b": 1.5, "c": [1, 2]}, "d": [{"e": True}, {"e": None}], "f": "text"}
    assert facts(tree) == [("a.b", "1.5"), ("a.c", "1, 2"), ("d 1.e", "yes"), ("d 2.e", "–"), ("f", "text")]
