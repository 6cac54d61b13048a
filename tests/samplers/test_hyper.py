"""Hyperparameters: averages settle, the evidence's optimum is found from both sides."""

import math

import pytest
import torch
from pydantic import TypeAdapter
from scipy.optimize import minimize_scalar

from credwarp.samplers import (
    Decay,
    Diagonal,
    Evidence,
    GaussNewton,
    Observed,
    StochasticAverage,
    effective_dimension,
)
from credwarp.samplers.laws import Dense

DOUBLE = {"dtype": torch.float64}
N, DATA, TRUTH = 60, 80, 3.0


def normal(*shape: int, seed: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), **DOUBLE)


PRIOR = torch.diag(torch.logspace(-1, 2, N, **DOUBLE))
MATRIX = normal(DATA, N, seed=0) * torch.logspace(0.5, -2, N, **DOUBLE)
DATUM = MATRIX @ (normal(N, seed=1) / (TRUTH * PRIOR.diagonal()).sqrt()) + normal(DATA, seed=2)
CURVATURE = MATRIX.T @ MATRIX


def metric(strength: float) -> GaussNewton:
    rough = Diagonal(1 / (strength * PRIOR + CURVATURE).diagonal())
    return GaussNewton(Dense.of(strength * PRIOR), Dense.of(CURVATURE), rough, tolerance=1e-8)


def observe(strength: float) -> Observed:
    """The optimum of a linear model, its χ² and its exact number of degrees of freedom."""
    inverse = torch.linalg.inv(strength * PRIOR + CURVATURE)
    mean = inverse @ MATRIX.T @ DATUM
    return Observed(float((inverse @ CURVATURE).trace()), float(mean @ PRIOR @ mean))


def log_evidence(strength: float) -> float:
    covariance = MATRIX @ torch.linalg.inv(strength * PRIOR) @ MATRIX.T + torch.eye(DATA, **DOUBLE)
    law = torch.distributions.MultivariateNormal(torch.zeros(DATA, **DOUBLE), covariance)
    return float(law.log_prob(DATUM))


def most_evident() -> float:
    best = minimize_scalar(lambda x: -log_evidence(math.exp(x)), bounds=(-5, 5), method="bounded")
    return math.exp(best.x)


@pytest.mark.parametrize("factor", [1 / 30, 1 / 4, 1.0, 4.0, 30.0])
def test_the_strength_of_most_evidence_is_found_from_any_start(factor):
    found = Evidence().find(observe, factor * TRUTH)
    assert found.converged
    assert found.value == pytest.approx(most_evident(), rel=0.05)
    assert len(found.trace) <= 8


def test_both_ends_meet_where_the_data_decide():
    low, high = Evidence(tolerance=0.005).both_ends(observe, TRUTH)
    assert low.trace[0][0] == pytest.approx(TRUTH / 4)
    assert high.trace[0][0] == pytest.approx(4 * TRUTH)
    assert low.value == pytest.approx(high.value, rel=0.03)


def test_secant_steps_take_fewer_optimisations_than_the_plain_update():
    plain, strength = 0, TRUTH / 30
    while abs(math.log(observe(strength).effective / observe(strength).energy / strength)) > 0.005:
        strength = observe(strength).effective / observe(strength).energy
        plain += 1
    taken = len(Evidence(tolerance=0.005, iterations=50).find(observe, TRUTH / 30).trace)
    assert taken < plain


def test_an_update_that_runs_away_is_not_called_converged():
    found = Evidence(iterations=5).find(lambda strength: Observed(2 * strength, 1.0), 1.0)
    assert not found.converged
    steps = [math.log(b[0] / a[0]) for a, b in zip(found.trace, found.trace[1:], strict=False)]
    assert max(steps) <= 1.5 + 1e-12


def test_the_degrees_of_freedom_are_the_trace():
    exact = observe(2.0).effective
    found = effective_dimension(metric(2.0), Dense.of(CURVATURE), torch.zeros(N, **DOUBLE), 400, seed=0)
    product = torch.linalg.inv(2.0 * PRIOR + CURVATURE) @ CURVATURE
    symmetric = (product + product.T) / 2
    off = symmetric - torch.diag(symmetric.diagonal())
    error = float((2 * off.square().sum() / 400).sqrt())
    assert abs(found - exact) < 4 * error
    again = effective_dimension(metric(2.0), Dense.of(CURVATURE), torch.zeros(N, **DOUBLE), 400, seed=0)
    assert again == found


def test_steps_of_saem_sum_to_infinity_and_their_squares_do_not():
    decay = Decay(free=5, exponent=0.8)
    steps = torch.tensor([decay.step(k) for k in range(100_000)])
    assert bool((steps[:6] == 1).all())
    assert bool((steps[6:].diff() < 0).all())
    assert float(steps.sum()) > 10 * float(steps[:1000].sum()) / 5
    assert float(steps[50_000:].square().sum()) < 1e-2


def test_a_stochastic_average_forgets_its_start_and_settles():
    noise = 1 + normal(4000, 3, seed=3)
    average = StochasticAverage(torch.full((3,), 100.0, **DOUBLE), Decay(free=10, exponent=1.0))
    for observation in noise:
        average = average.updated(observation)
    # With steps 1/k after the first ten it is the mean of what came after them.
    torch.testing.assert_close(average.value, noise[10:].mean(dim=0))
    assert average.seen == 4000


def test_evidence_is_parsed_from_a_plan():
    assert TypeAdapter(Evidence).validate_python({"kind": "evidence"}) == Evidence()
