"""Chains know nothing of each other, are resumed bit for bit, and survive what a target does to them."""

import math
from dataclasses import dataclass, replace
from typing import get_args

import pytest
import safetensors.torch
import torch
from pydantic import TypeAdapter, ValidationError

from credwarp.errors import InputError
from credwarp.samplers import (
    Block,
    Diagonal,
    Evaluation,
    GaussNewton,
    Hmc,
    Identity,
    Sampler,
    Schedule,
    Sgld,
    State,
    Underdamped,
    draw,
    refreshed,
    warm,
)
from credwarp.samplers.hmc import tuned
from credwarp.samplers.laws import Dense, Gaussian
from credwarp.samplers.target import dots

SAMPLERS = [strategy() for strategy in get_args(get_args(Sampler)[0])]
DIMENSION = 21


def target_of(dtype: torch.dtype = torch.float64) -> Gaussian:
    generator = torch.Generator().manual_seed(0)
    factor = torch.randn(DIMENSION, DIMENSION, generator=generator, dtype=dtype) / DIMENSION**0.5
    prior = torch.eye(DIMENSION, dtype=dtype)
    mean = torch.randn(DIMENSION, generator=generator, dtype=dtype)
    return Gaussian(mean, Dense.of(prior), Dense.of(factor @ factor.T))


def preconditioners(target: Gaussian) -> dict:
    variances = target.covariance.diagonal()
    index = torch.arange(0, DIMENSION, 2)
    return {
        "identity": Identity(DIMENSION),
        "diagonal": Diagonal(variances),
        "block": Block.of(index, target.precision[index][:, index], Diagonal(variances)),
        "solved": GaussNewton(target.prior, target.likelihood, target.rough(target.likelihood)),
    }


def starts(chains: int, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    return torch.randn(8, DIMENSION, generator=torch.Generator().manual_seed(1), dtype=dtype)[:chains]


def run(sampler, target, preconditioner, state, draws: int = 7, thin: int = 1, chunk: int = 50):
    chunks = list(draw(sampler, target, preconditioner, state, Schedule(draws, thin, chunk)))
    return torch.cat([c.position for c in chunks], dim=1), chunks[-1].state


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("metric", ["identity", "diagonal", "block", "solved"])
@pytest.mark.parametrize("sampler", SAMPLERS, ids=lambda s: s.kind)
def test_a_chain_does_not_depend_on_how_many_others_there_are(sampler, metric, dtype):
    target = target_of(dtype)
    metric = preconditioners(target)[metric]
    runs = []
    for chains in (1, 3, 4, 7):
        state = sampler.init(starts(chains, dtype), target, metric, seed=9)
        runs.append(run(sampler, target, metric, state)[0])
    for position in runs:
        assert position.dtype == dtype
        assert torch.equal(position, runs[-1][: len(position)])


@pytest.mark.parametrize("sampler", SAMPLERS, ids=lambda s: s.kind)
def test_a_run_saved_and_loaded_goes_on_bit_for_bit(sampler, tmp_path):
    target = target_of(torch.float32)
    metric = preconditioners(target)["block"]
    state = sampler.init(starts(4, torch.float32), target, metric, seed=9)
    whole, end = run(sampler, target, metric, state, draws=10)
    first, middle = run(sampler, target, metric, state, draws=4)
    safetensors.torch.save_file(middle.to_tensors(), tmp_path / "state.safetensors")
    loaded = State.from_tensors(safetensors.torch.load_file(tmp_path / "state.safetensors"))
    second, last = run(sampler, target, metric, loaded, draws=6)
    assert torch.equal(torch.cat([first, second], dim=1), whole)
    for name, tensor in end.to_tensors().items():
        assert torch.equal(tensor, last.to_tensors()[name]), name


@pytest.mark.parametrize("sampler", SAMPLERS, ids=lambda s: s.kind)
def test_a_step_changes_nothing_but_what_it_returns(sampler):
    target = target_of()
    metric = preconditioners(target)["diagonal"]
    state = sampler.init(starts(3), target, metric, seed=9)
    before = state.to_tensors()
    once, again = (sampler.step(state, target, metric)[0].to_tensors() for _ in range(2))
    for name, tensor in state.to_tensors().items():
        assert torch.equal(tensor, before[name]), name
        assert torch.equal(once[name], again[name]), name


@pytest.mark.parametrize("sampler", SAMPLERS, ids=lambda s: s.kind)
def test_draws_do_not_depend_on_where_chunks_end(sampler):
    target = target_of()
    metric = preconditioners(target)["diagonal"]
    state = sampler.init(starts(3), target, metric, seed=9)
    assert torch.equal(
        run(sampler, target, metric, state, 9, chunk=4)[0], run(sampler, target, metric, state, 9, chunk=9)[0]
    )


def test_thinning_keeps_the_last_of_every_few():
    target = target_of()
    metric = preconditioners(target)["diagonal"]
    state = Underdamped().init(starts(2), target, metric, seed=9)
    every = run(Underdamped(), target, metric, state, 12)[0]
    assert torch.equal(run(Underdamped(), target, metric, state, 4, thin=3)[0], every[:, 2::3])


def test_another_seed_gives_other_draws_and_chains_differ():
    target = target_of()
    metric = preconditioners(target)["diagonal"]
    same = starts(1).expand(2, -1)
    runs = [run(Sgld(), target, metric, Sgld().init(same, target, metric, seed))[0] for seed in (1, 2)]
    assert not torch.equal(runs[0], runs[1])
    assert not torch.equal(runs[0][0], runs[0][1])


@dataclass(eq=False)
class Counting:
    """A target that counts its evaluations."""

    inner: Gaussian
    calls: int = 0

    @property
    def dimension(self) -> int:
        return self.inner.dimension

    def evaluate(self, position):
        self.calls += 1
        return self.inner.evaluate(position)


@pytest.mark.parametrize(("sampler", "each"), [(Sgld(), 1), (Underdamped(), 1), (Hmc(leapfrogs=5), 5)])
def test_a_step_costs_the_gradients_it_says(sampler, each):
    target = Counting(target_of())
    metric = preconditioners(target.inner)["diagonal"]
    _, state = run(sampler, target, metric, sampler.init(starts(3), target, metric, seed=9), draws=6)
    assert target.calls == state.gradients == 1 + 6 * each
    assert state.steps == 6


@dataclass(frozen=True, eq=False)
class Walled:
    """A standard normal law on one side of a wall; beyond it, `beyond` is what comes back."""

    beyond: str
    wall: float = 2.2
    dimension: int = DIMENSION

    def evaluate(self, position):
        density, gradient = -0.5 * dots(position, position), -position
        outside = position[:, 0] > self.wall
        if self.beyond == "nan gradient":
            gradient = torch.where(outside[:, None], torch.nan, gradient)
        elif self.beyond == "infinite energy":
            density = torch.where(outside, -torch.inf, density)
        else:
            density = torch.where(outside, -1e9, density)
        return Evaluation(density, gradient)


@pytest.mark.parametrize("beyond", ["nan gradient", "infinite energy", "huge energy"])
@pytest.mark.parametrize("sampler", SAMPLERS, ids=lambda s: s.kind)
def test_a_chain_that_runs_away_is_put_back_with_half_the_step_and_the_others_do_not_notice(sampler, beyond):
    target, free = Walled(beyond), Walled(beyond, wall=torch.inf)
    metric = Identity(DIMENSION)
    start = torch.zeros(12, DIMENSION, dtype=torch.float64)
    state = sampler.init(start, target, metric, seed=0)
    (chunk,) = draw(sampler, target, metric, state, Schedule(40, chunk=40))
    hits = chunk.diverged.sum(dim=1)
    never = hits == 0
    assert 0 < int(never.sum()) < 12
    assert int(hits.max()) < 10
    assert bool(torch.isfinite(chunk.position).all())
    assert float(chunk.position[..., 0].max()) <= target.wall
    assert torch.equal(chunk.state.step_size, sampler.step_size * 0.5 ** hits.double())
    assert torch.equal(chunk.state.divergences, hits)
    undisturbed = run(sampler, free, metric, sampler.init(start, free, metric, seed=0), draws=40)[0]
    assert torch.equal(chunk.position[never], undisturbed[never])


@pytest.mark.parametrize("sampler", [Sgld(step_size=30.0), Underdamped(step_size=9.0), Hmc(step_size=9.0)])
def test_a_step_far_too_long_is_halved_until_chains_are_stable(sampler):
    target = target_of()
    metric = Identity(DIMENSION)
    state = sampler.init(starts(4), target, metric, seed=0)
    _, state = run(sampler, target, metric, state, draws=150)
    later = next(draw(sampler, target, metric, state, Schedule(50)))
    assert int(state.divergences.min()) > 0
    assert not bool(later.diverged.any())
    assert float(later.log_density.min()) > -10 * DIMENSION


def test_a_start_that_is_not_finite_is_refused_in_a_sentence():
    start = torch.zeros(3, DIMENSION, dtype=torch.float64)
    start[1, 0] = 3.0
    with pytest.raises(InputError, match=r"1 of 3 chains start where .* start them nearer to an optimum"):
        Sgld().init(start, Walled("nan gradient"), Identity(DIMENSION), seed=0)


@dataclass(frozen=True, eq=False)
class Moving:
    """A Gaussian whose mean is a hyperparameter: SAEM's average of where the chains are."""

    inner: Gaussian
    dimension: int = DIMENSION

    def evaluate(self, position):
        return self.inner.evaluate(position)

    def adapted(self, position, step):
        mean = torch.lerp(self.inner.mean, position.mean(dim=0), 1 / (1 + step))
        return replace(self, inner=replace(self.inner, mean=mean))


def test_warming_up_adapts_the_target_and_a_frozen_one_stays():
    target = Moving(target_of())
    metric = Identity(DIMENSION)
    state = Sgld(step_size=0.2).init(starts(4) + 3, target, metric, seed=0)
    *_, (state, adapted, _) = warm(Sgld(step_size=0.2), target, metric, state, 30)
    assert not torch.equal(adapted.inner.mean, target.inner.mean)
    fresh = refreshed(state, adapted, metric)
    expected = adapted.evaluate(state.position)
    torch.testing.assert_close(fresh.pull, expected.gradient)
    torch.testing.assert_close(fresh.log_density, expected.log_density)
    assert fresh.gradients == state.gradients + 1


def test_a_target_without_hyperparameters_is_warmed_as_it_is():
    target = target_of()
    state = Sgld().init(starts(2), target, Identity(DIMENSION), seed=0)
    *_, (_, after, _) = warm(Sgld(), target, Identity(DIMENSION), state, 3)
    assert after is target


def test_tuning_finds_a_step_that_is_accepted_four_times_in_five():
    target = target_of()
    metric = preconditioners(target)["diagonal"]
    state = tuned(
        Hmc(step_size=0.01), target, metric, Hmc(step_size=0.01).init(starts(8), target, metric, 0), 150
    )
    later = next(draw(Hmc(), target, metric, state, Schedule(60, chunk=60)))
    assert 0.7 < float(later.acceptance.mean()) < 0.9


@pytest.mark.parametrize("sampler", SAMPLERS, ids=lambda s: s.kind)
def test_a_sampler_is_parsed_from_a_plan(sampler):
    adapter = TypeAdapter(Sampler)
    assert adapter.validate_python({"kind": sampler.kind}) == sampler
    with pytest.raises(ValidationError, match="greater than 0"):
        adapter.validate_python({"kind": sampler.kind, "step_size": 0.0})


@pytest.mark.parametrize("sampler", SAMPLERS, ids=lambda s: s.kind)
def test_the_lowest_energy_is_the_lowest_that_was_ever_seen(sampler):
    target = target_of()
    metric = preconditioners(target)["diagonal"]
    state = sampler.init(starts(3), target, metric, seed=9)
    (chunk,) = draw(sampler, target, metric, state, Schedule(30, chunk=30))
    seen = torch.cat([state.log_density[:, None], chunk.log_density], dim=1)
    assert torch.equal(chunk.state.lowest, -seen.amax(dim=1))
    assert not torch.equal(chunk.state.lowest, -chunk.state.log_density)


def test_velocities_begin_as_the_metric_has_them():
    target = target_of()
    metric = preconditioners(target)["block"]
    chains = 4000
    state = Underdamped().init(torch.zeros(chains, DIMENSION, dtype=torch.float64), target, metric, seed=10)
    covariance = state.velocity.T @ state.velocity / chains
    wanted = metric.apply(torch.eye(DIMENSION, dtype=torch.float64))
    # A covariance of n draws is off by √(2/n) of its size, here 0.022; the largest of 441 by four times.
    assert (covariance - wanted).abs().max() < 0.1 * wanted.diagonal().max()


def test_the_virial_is_taken_round_the_centre():
    target = target_of()
    metric = preconditioners(target)["diagonal"]
    state = Underdamped().init(starts(3), target, metric, seed=11)
    centre = torch.arange(DIMENSION, dtype=torch.float64)
    after, info = Underdamped().step(replace(state, centre=centre), target, metric)
    gradient = target.evaluate(after.position).gradient
    assert torch.allclose(info.virial, -((after.position - centre) * gradient).mean(dim=1))


@pytest.mark.parametrize("certainty", [0.0, 0.9, 1.0])
def test_velocities_forget_by_friction_where_a_metric_is_uncertain_and_by_damping_where_it_is_sure(certainty):
    nothing = Dense.of(torch.zeros(1, 1, dtype=torch.float64))
    flat = Gaussian(torch.zeros(1, dtype=torch.float64), nothing, nothing)
    metric = Diagonal(torch.ones(1, dtype=torch.float64), torch.full((1,), certainty, dtype=torch.float64))
    sampler = Underdamped(step_size=0.5, friction=0.2, damping=3.0)
    state = sampler.init(torch.zeros(1, 1, dtype=torch.float64), flat, metric, seed=12)
    slow, fast = (replace(state, velocity=torch.full_like(state.velocity, v)) for v in (0.0, 1.0))
    # The same noise in both: what is left of the difference is what the step did not forget.
    left = [sampler.step(one, flat, metric)[0].velocity for one in (slow, fast)]
    wanted = math.exp(-0.5 * (0.2 + (3.0 - 0.2) * certainty**8))
    assert float(left[1] - left[0]) == pytest.approx(wanted, rel=1e-6)


def test_a_short_trajectory_keeps_its_energy():
    target = target_of()
    metric = preconditioners(target)["diagonal"]
    sampler = Hmc(step_size=0.02, leapfrogs=4, jitter=0.0)
    _, info = sampler.step(sampler.init(starts(8), target, metric, seed=13), target, metric)
    assert info.acceptance.min() > 0.99
