"""Every sampler keeps the law it is given, and the check that says so sees every mutant."""

from dataclasses import dataclass, replace
from typing import get_args

import pytest
import torch

from credwarp.samplers import (
    Block,
    Diagonal,
    GaussNewton,
    Hmc,
    Identity,
    Sampler,
    Schedule,
    Sgld,
    Underdamped,
    draw,
)
from credwarp.samplers.chain import arrive
from credwarp.samplers.laws import Dense, Gaussian, scores, sgld_covariance
from credwarp.samplers.target import Preconditioner, column
from credwarp.summaries import mixing

SAMPLERS = [strategy() for strategy in get_args(get_args(Sampler)[0])]
CHAINS = 128
# In Monte-Carlo errors: at most 75 scores a run, so 4 is passed by chance in 99.5 % of them.
BOUND = 4.0


def gaussian(dimension: int, condition: float, seed: int = 0) -> Gaussian:
    """Random axes, precisions from 1 to `condition` evenly in the logarithm, ½ of each the prior's."""
    generator = torch.Generator().manual_seed(seed)
    axes, _ = torch.linalg.qr(torch.randn(dimension, dimension, generator=generator, dtype=torch.float64))
    precisions = torch.logspace(0, torch.log10(torch.tensor(condition)), dimension, dtype=torch.float64)
    prior = 0.5 * torch.eye(dimension, dtype=torch.float64)
    mean = torch.randn(dimension, generator=generator, dtype=torch.float64)
    return Gaussian(mean, Dense.of(prior), Dense.of((axes * precisions) @ axes.T - prior))


def draws_of(covariance: torch.Tensor, chains: int, seed: int = 1) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    white = torch.randn(chains, len(covariance), generator=generator, dtype=torch.float64)
    return white @ torch.linalg.cholesky((covariance + covariance.T) / 2).T


def directions(target: Gaussian) -> torch.Tensor:
    """The axes of the weakest and the strongest precisions, and a few at random."""
    vectors = torch.linalg.eigh(target.precision).eigenvectors.T
    some = draws_of(torch.eye(target.dimension, dtype=torch.float64), 8, seed=2)
    return torch.cat([vectors[:8], vectors[-8:], some])


def law(sampler, target: Gaussian, preconditioner: Preconditioner) -> torch.Tensor:
    """The covariance of what the sampler is to draw."""
    if isinstance(sampler, Sgld):
        return sgld_covariance(target.precision, preconditioner, sampler.step_size)
    return target.covariance


def worst_score(sampler, target: Gaussian, preconditioner: Preconditioner, truth, start, schedule) -> float:
    """The largest deviation, in Monte-Carlo errors, of what is drawn after the schedule's first half."""
    state = sampler.init(start, target, preconditioner, seed=3)
    (chunk,) = draw(sampler, target, preconditioner, state, replace(schedule, chunk=schedule.draws))
    if bool(chunk.diverged.any()):
        return float("inf")
    kept = chunk.position[:, schedule.draws // 2 :]
    return scores(kept, target.mean, truth, directions(target)).worst


def lasting(sampler, steps: int) -> Schedule:
    """As many steps, or as many trajectories as have about that many."""
    return Schedule(max(6, steps // sampler.leapfrogs) if isinstance(sampler, Hmc) else steps)


def exact(target: Gaussian) -> Block:
    rest = Diagonal(target.covariance.diagonal())
    return Block.of(torch.arange(target.dimension), target.precision, rest)


def half_block(target: Gaussian) -> Block:
    """Dense on every other coordinate, diagonal and careful on the rest, more or less certain of them."""
    index = torch.arange(0, target.dimension, 2)
    largest = torch.linalg.eigvalsh(target.precision)[-1]
    precision = target.precision[index][:, index] * 2
    certainty = torch.linspace(0, 1, target.dimension, dtype=torch.float64)
    return Block.of(index, precision, Diagonal(torch.full_like(certainty, float(1 / largest)), certainty))


def mismatched(target: Gaussian) -> Diagonal:
    """As long steps as the strongest direction allows, the same everywhere: the weakest hardly move."""
    largest = torch.linalg.eigvalsh(target.precision)[-1]
    return Diagonal(torch.full((target.dimension,), float(1 / largest), dtype=torch.float64))


def solving(target: Gaussian) -> GaussNewton:
    return GaussNewton(target.prior, target.likelihood, target.rough(target.likelihood), tolerance=1e-5)


@pytest.mark.parametrize("metric", [exact, half_block, mismatched])
@pytest.mark.parametrize(("dimension", "condition"), [(2, 1.0), (3, 1e2), (20, 1e4), (200, 1e1), (200, 1e4)])
@pytest.mark.parametrize("sampler", SAMPLERS, ids=lambda s: s.kind)
def test_chains_that_follow_the_law_go_on_following_it(sampler, dimension, condition, metric):
    target = gaussian(dimension, condition)
    preconditioner = metric(target)
    truth = law(sampler, target, preconditioner)
    start = target.mean + draws_of(truth, CHAINS)
    assert worst_score(sampler, target, preconditioner, truth, start, lasting(sampler, 40)) < BOUND


@pytest.mark.parametrize("spread", [0.0, 3.0])
@pytest.mark.parametrize("sampler", SAMPLERS, ids=lambda s: s.kind)
def test_chains_that_start_elsewhere_come_to_follow_the_law(sampler, spread):
    target = gaussian(20, 1e4)
    truth = law(sampler, target, exact(target))
    start = target.mean + spread * draws_of(truth, CHAINS)
    assert (
        worst_score(
            sampler,
            target,
            exact(target),
            truth,
            start,
            lasting(sampler, 60 if isinstance(sampler, Sgld) else 300),
        )
        < BOUND
    )


@pytest.mark.parametrize("sampler", SAMPLERS, ids=lambda s: s.kind)
def test_a_metric_that_is_solved_for_gives_the_law_too(sampler):
    target = gaussian(10, 1e2)
    truth = law(sampler, target, exact(target))
    start = target.mean + draws_of(truth, 128)
    assert worst_score(sampler, target, solving(target), truth, start, lasting(sampler, 24)) < BOUND


@pytest.mark.parametrize("sampler", SAMPLERS, ids=lambda s: s.kind)
def test_few_long_chains_are_right_within_the_errors_their_effective_sizes_predict(sampler):
    target = gaussian(5, 1e2)
    truth = law(sampler, target, exact(target))
    state = sampler.init(target.mean + draws_of(truth, 4), target, exact(target), seed=5)
    (chunk,) = draw(sampler, target, exact(target), state, replace(lasting(sampler, 800), chunk=800))
    away = chunk.position - target.mean
    pairs = away[..., :, None] * away[..., None, :]
    assert bool((away.mean(dim=(0, 1)).abs() < BOUND * mixing.mean_error(away)).all())
    assert bool(((pairs.mean(dim=(0, 1)) - truth).abs() < BOUND * mixing.mean_error(pairs)).all())
    assert float(mixing.rhat(away).max()) < 1.05


def test_metropolis_keeps_the_law_where_the_step_is_coarse():
    target = gaussian(20, 1e2)
    coarse = Hmc(step_size=1.2, leapfrogs=4)
    start = target.mean + draws_of(target.covariance, CHAINS)
    state = coarse.init(start, target, exact(target), seed=3)
    assert 0.3 < float(next(draw(coarse, target, exact(target), state, Schedule(5))).acceptance.mean()) < 0.9
    assert worst_score(coarse, target, exact(target), target.covariance, start, Schedule(60)) < BOUND


@dataclass(frozen=True, eq=False)
class Mutant:
    """A preconditioner with a part that is another's."""

    drift: Preconditioner
    noise: Preconditioner
    scale: float = 1.0

    @property
    def noises(self) -> int:
        return self.noise.noises

    @property
    def certainty(self):
        return self.drift.certainty

    def apply(self, position):
        return self.drift.apply(position)

    def sqrt(self, noise):
        return self.scale * self.noise.sqrt(noise)

    def inverse(self, position):
        return self.drift.inverse(position)


@dataclass(frozen=True)
class Published:
    """The released sampler: the noise is in what is read out, not in what is gone on from."""

    sampler: Sgld

    def init(self, position, target, preconditioner, seed):
        return replace(self.sampler.init(position, target, preconditioner, seed), velocity=position)

    def step(self, state, target, preconditioner):
        # The state holds the sample; what it was before its noise is kept as the velocity.
        kept = state.velocity + column(state.step_size, state.pull) * state.pull
        noise, randomness = state.randomness.normals(preconditioner.noises, kept)
        sample = kept + column((2 * state.step_size).sqrt(), kept) * preconditioner.sqrt(noise)
        state = replace(state, velocity=kept, randomness=randomness)
        return arrive(state, sample, target, preconditioner)


@dataclass(frozen=True)
class Baoab:
    """The default sampler written once more, with a defect or without."""

    sampler: Underdamped
    defect: str

    def init(self, position, target, preconditioner, seed):
        return self.sampler.init(position, target, preconditioner, seed)

    def step(self, state, target, preconditioner):
        half = column(state.step_size / 2, state.position)
        decay = column(torch.exp(-self.sampler.friction * state.step_size), state.position)
        noise, randomness = state.randomness.normals(preconditioner.noises, state.position)
        velocity = state.velocity + half * state.pull
        position = state.position + half * velocity
        kept = velocity / decay if self.defect == "friction sign" else velocity * decay
        velocity = kept + (1 - decay**2).sqrt() * preconditioner.sqrt(noise)
        position = position + half * velocity
        after = kept if self.defect == "noise not stored" else velocity
        state, info = arrive(
            replace(state, velocity=after, randomness=randomness), position, target, preconditioner
        )
        return replace(state, velocity=state.velocity + half * state.pull), info


@dataclass(frozen=True, eq=False)
class Blind:
    """A target whose energy is forgotten where steps are accepted or not."""

    target: Gaussian

    @property
    def dimension(self) -> int:
        return self.target.dimension

    def evaluate(self, position):
        return replace(
            self.target.evaluate(position), log_density=torch.zeros(len(position), dtype=torch.float64)
        )


PLAIN = Identity(20)


def score_of_a_mutant(sampler, mutant, preconditioner) -> tuple[float, float]:
    """The check's verdict on the sampler with the right preconditioner, and on the mutant."""
    target = gaussian(20, 4.0)
    truth = law(sampler, target, exact(target))
    start = target.mean + draws_of(truth, CHAINS)
    right = worst_score(sampler, target, exact(target), truth, start, lasting(sampler, 60))
    return right, worst_score(
        mutant, target, preconditioner(exact(target)), truth, start, lasting(sampler, 60)
    )


DEFECTS = {
    "noise halved": lambda metric: Mutant(metric, metric, 0.5),
    "noise a tenth too small": lambda metric: Mutant(metric, metric, 0.9),
    "preconditioner missing in the drift": lambda metric: Mutant(PLAIN, metric),
    "preconditioner missing in the noise": lambda metric: Mutant(metric, PLAIN),
}


@pytest.mark.parametrize("defect", DEFECTS)
@pytest.mark.parametrize("sampler", SAMPLERS, ids=lambda s: s.kind)
def test_a_preconditioner_with_a_defect_fails_the_check(sampler, defect):
    right, wrong = score_of_a_mutant(sampler, sampler, DEFECTS[defect])
    assert right < BOUND < wrong


@pytest.mark.parametrize(
    ("sampler", "mutant"),
    [
        (Sgld(), Published(Sgld())),
        (Underdamped(), Baoab(Underdamped(), "noise not stored")),
        (Underdamped(), Baoab(Underdamped(), "friction sign")),
    ],
    ids=["sgld, noise not stored", "underdamped, noise not stored", "underdamped, friction sign"],
)
def test_a_sampler_with_a_defect_fails_the_check(sampler, mutant):
    right, wrong = score_of_a_mutant(sampler, mutant, lambda metric: metric)
    assert right < BOUND < wrong


def test_without_its_defect_the_mutant_is_the_sampler():
    target = gaussian(20, 4.0)
    state = Underdamped().init(draws_of(target.covariance, 4), target, exact(target), seed=3)
    steps = [
        sampler.step(state, target, exact(target))[0] for sampler in (Underdamped(), Baoab(Underdamped(), ""))
    ]
    torch.testing.assert_close(steps[0].position, steps[1].position)
    torch.testing.assert_close(steps[0].velocity, steps[1].velocity)


def test_metropolis_without_energies_fails_the_check():
    target = gaussian(20, 1e2)
    coarse = Hmc(step_size=1.2, leapfrogs=4)
    start = target.mean + draws_of(target.covariance, CHAINS)
    state = coarse.init(start, target, exact(target), seed=3)
    (chunk,) = draw(coarse, Blind(target), exact(target), state, Schedule(60, chunk=60))
    assert scores(chunk.position[:, 30:], target.mean, target.covariance, directions(target)).worst > BOUND


def test_the_covariance_of_the_discretised_paper_sampler_is_the_fixed_point_of_its_recursion():
    target = gaussian(6, 1e2)
    metric = half_block(target)
    covariance = sgld_covariance(target.precision, metric, 0.4)
    identity = torch.eye(6, dtype=torch.float64)
    step = identity - 0.4 * metric.apply(identity) @ target.precision
    after = step @ covariance @ step.T + 0.8 * metric.apply(identity)
    torch.testing.assert_close(after, covariance, rtol=1e-10, atol=1e-14)
