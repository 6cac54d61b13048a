"""Optimisers reach known optima, say why they stop, and tell basins apart."""

from dataclasses import dataclass, replace
from typing import get_args

import numpy as np
import pytest
import torch
from pydantic import TypeAdapter
from scipy.optimize import minimize

from credwarp.samplers import Diagonal, Evaluation, Identity, Lbfgs, Optimiser, Optimum, distinct
from credwarp.samplers.laws import Dense, Gaussian

OPTIMISERS = [strategy() for strategy in get_args(get_args(Optimiser)[0])]
DOUBLE = {"dtype": torch.float64}


def normal(*shape: int, seed: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), **DOUBLE)


def gaussian(dimension: int, condition: float, **kind) -> Gaussian:
    spectrum = torch.logspace(0, np.log10(condition), dimension, **DOUBLE)
    factor = 0.05 * normal(dimension, dimension, seed=0)
    scale = spectrum.sqrt()
    matrix = torch.diag(spectrum) + scale[:, None] * (factor @ factor.T) * scale
    kind = {**DOUBLE, **kind}
    mean = normal(dimension, seed=1).to(**kind)
    return Gaussian(mean, Dense.of(torch.eye(dimension, **kind) / 2), Dense.of(matrix.to(**kind)))


@dataclass(frozen=True, eq=False)
class Residuals:
    """−½ |r(w)|² − ½ |w|²/s² for r of any kind: least squares with a Gauss–Newton curvature."""

    dimension: int
    residual: object
    spread: float = 100.0

    @property
    def prior(self) -> Dense:
        return Dense.of(torch.eye(self.dimension, **DOUBLE) / self.spread**2)

    def evaluate(self, position):
        leaf = position.clone().requires_grad_(True)
        density = (
            -0.5 * self.residual(leaf).square().sum(dim=1) - 0.5 * leaf.square().sum(dim=1) / self.spread**2
        )
        (gradient,) = torch.autograd.grad(density.sum(), leaf)
        return Evaluation(density.detach(), gradient)

    def curvature(self, position):
        slopes = torch.autograd.functional.jacobian(lambda w: self.residual(w[None])[0], position[0])
        return Dense.of(slopes.T @ slopes)

    def rough(self, curvature):
        return Diagonal(1 / (self.prior.matrix + curvature.matrix).diagonal())


def valley(w):
    """Rosenbrock's."""
    return torch.stack([1 - w[:, 0], 10 * (w[:, 1] - w[:, 0] ** 2)], dim=1)


def wells(w):
    """Two, at −1 and at 1, the left one deeper."""
    return torch.stack([3 * (w[:, 0] ** 2 - 1), 0.5 * (w[:, 0] + 1)], dim=1)


def by_scipy(target, start: torch.Tensor) -> np.ndarray:
    def energy(w):
        found = target.evaluate(torch.from_numpy(w)[None])
        return -float(found.log_density), -np.asarray(found.gradient[0])

    return minimize(energy, np.asarray(start), jac=True, method="BFGS", options={"gtol": 1e-10}).x


@pytest.mark.parametrize("optimiser", OPTIMISERS, ids=lambda o: o.kind)
@pytest.mark.parametrize(("dimension", "condition"), [(2, 1.0), (30, 1e4), (200, 1e6)])
def test_the_mean_of_a_gaussian_is_found(optimiser, dimension, condition):
    target = gaussian(dimension, condition)
    metric = target.rough(target.likelihood)
    found = optimiser.maximise(target, torch.zeros(dimension, **DOUBLE), metric)
    sd = target.covariance.diagonal().sqrt()
    assert found.reason == "converged"
    assert float(((found.position - target.mean) / sd).abs().max()) < 0.02
    assert found.log_density == found.trace[-1] == max(found.trace)


@pytest.mark.parametrize("optimiser", OPTIMISERS, ids=lambda o: o.kind)
@pytest.mark.parametrize(("residual", "start"), [(valley, [-1.2, 1.0]), (wells, [0.9, 0.0])])
def test_a_curved_valley_ends_where_scipy_ends(optimiser, residual, start):
    target = Residuals(2, residual)
    start = torch.tensor(start, **DOUBLE)
    found = replace(optimiser, iterations=200, tolerance=1e-8, gain=0.0).maximise(target, start, Identity(2))
    np.testing.assert_allclose(np.asarray(found.position), by_scipy(target, start), atol=1e-5)
    assert all(later > earlier for earlier, later in zip(found.trace, found.trace[1:], strict=False))


@pytest.mark.parametrize("optimiser", OPTIMISERS, ids=lambda o: o.kind)
def test_single_precision_positions_reach_the_optimum_too(optimiser):
    target = gaussian(30, 1e2, dtype=torch.float32)
    found = optimiser.maximise(target, torch.zeros(30), target.rough(target.likelihood))
    assert found.position.dtype == torch.float32
    sd = target.covariance.diagonal().sqrt()
    assert float(((found.position - target.mean) / sd).abs().max()) < 0.02


def test_a_preconditioner_saves_gradients():
    target = gaussian(100, 1e6)
    start = torch.zeros(100, **DOUBLE)
    exact = replace(Lbfgs(), iterations=1000, gain=0.0)
    taken = [
        exact.maximise(target, start, metric).gradients
        for metric in (target.rough(target.likelihood), Identity(100))
    ]
    assert 5 * taken[0] < taken[1]


def test_no_more_iterations_than_given():
    target = Residuals(2, valley)
    found = Lbfgs(iterations=3).maximise(target, torch.tensor([-1.2, 1.0], **DOUBLE), Identity(2))
    assert found.reason == "capped"
    assert len(found.trace) == 4


@dataclass(frozen=True, eq=False)
class Cliff:
    """Rises towards a wall behind which nothing has a number."""

    dimension: int = 1

    def evaluate(self, position):
        room = 1 - position[:, 0]
        return Evaluation(torch.log(room) + 5 * position[:, 0], (5 - 1 / room)[:, None])


def test_a_search_does_not_step_over_a_cliff():
    found = Lbfgs(tolerance=1e-8).maximise(Cliff(), torch.tensor([-3.0], **DOUBLE), Identity(1))
    assert found.reason == "converged"
    assert float(found.position) == pytest.approx(0.8, abs=1e-6)


@dataclass(frozen=True, eq=False)
class Misled:
    """A gradient that points down: no step along it is better."""

    dimension: int = 2

    def evaluate(self, position):
        return Evaluation(-0.5 * position.square().sum(dim=1), position)

    prior = Dense.of(torch.eye(2, **DOUBLE))

    def curvature(self, position):
        return Dense.of(torch.zeros(2, 2, **DOUBLE))

    def rough(self, curvature):
        return Identity(2)


@pytest.mark.parametrize("optimiser", OPTIMISERS, ids=lambda o: o.kind)
def test_where_nothing_is_better_the_start_comes_back_stalled(optimiser):
    start = torch.ones(2, **DOUBLE)
    found = optimiser.maximise(Misled(), start, Identity(2))
    assert found.reason == "stalled"
    assert torch.equal(found.position, start)


def apart(one: Optimum, other: Optimum) -> float:
    return float((one.position - other.position).abs().max())


@pytest.mark.parametrize("optimiser", OPTIMISERS, ids=lambda o: o.kind)
def test_basins_are_told_apart_and_the_best_comes_first(optimiser):
    target = Residuals(1, lambda w: wells(w))
    starts = torch.tensor([[2.0], [-2.0], [1.2], [-0.6]], **DOUBLE)
    exact = replace(optimiser, tolerance=1e-8, gain=0.0)
    basins = distinct([exact.maximise(target, start, Identity(1)) for start in starts], 0.01, apart)
    assert [len(basin) for basin in basins] == [2, 2]
    assert float(basins[0][0].position) == pytest.approx(-1, abs=1e-3)
    assert basins[0][0].log_density > basins[1][0].log_density


def test_a_chain_of_neighbours_is_one_basin():
    places = [0.0, 0.9, 1.8, 5.0]
    optima = [Optimum(torch.tensor([p]), (p,), "converged", 1) for p in places]
    basins = distinct(optima, 1.0, apart)
    assert [[o.log_density for o in basin] for basin in basins] == [[5.0], [1.8, 0.9, 0.0]]


@pytest.mark.parametrize("optimiser", OPTIMISERS, ids=lambda o: o.kind)
def test_an_optimiser_is_parsed_from_a_plan(optimiser):
    assert TypeAdapter(Optimiser).validate_python({"kind": optimiser.kind}) == optimiser
