"""Laws of the own family are recovered, and the bound is the bound of the law that is drawn from."""

from dataclasses import dataclass, replace

import pytest
import torch
from pydantic import TypeAdapter

from credwarp.samplers import (
    Diagonal,
    DiagonalLowRank,
    Evaluation,
    Fitted,
    Randomness,
    Reparametrised,
    Schedule,
    Sgld,
    Structured,
    Variational,
    draw,
)
from credwarp.samplers.adam import Adam, Moments
from credwarp.samplers.laws import Dense, Gaussian, scores, sgld_covariance
from credwarp.samplers.lowrank import LowRankNormal
from credwarp.samplers.variational import _gradient

DOUBLE = {"dtype": torch.float64}


def normal(*shape: int, seed: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), **DOUBLE)


def lowrank(dimension: int, rank: int) -> LowRankNormal:
    spread = 0.7 * normal(dimension, seed=1) - 1
    return LowRankNormal(normal(dimension, seed=0), spread, 0.5 * normal(rank, dimension, seed=2))


def covariance(law: LowRankNormal) -> torch.Tensor:
    return torch.diag(torch.exp(law.log_variance)) + law.factor.T @ law.factor


def as_target(law: LowRankNormal) -> Gaussian:
    precision = torch.linalg.inv(covariance(law))
    prior = 1e-3 * torch.eye(len(law.mean), **DOUBLE)
    return Gaussian(law.mean, Dense.of(prior), Dense.of((precision + precision.T) / 2 - prior))


def oracle(law: LowRankNormal) -> torch.distributions.LowRankMultivariateNormal:
    return torch.distributions.LowRankMultivariateNormal(law.mean, law.factor.T, torch.exp(law.log_variance))


@pytest.fixture(scope="module", params=[1, 2], ids=["rank 1", "rank 2"])
def recovered(request) -> tuple[LowRankNormal, Fitted]:
    truth = lowrank(10, request.param)
    thorough = DiagonalLowRank(
        rank=request.param, pairs=128, window=512, patience=1, step_size=0.1, decay=0.02
    )
    return truth, thorough.fit(as_target(truth), torch.zeros(10, **DOUBLE), seed=0)


def test_a_gaussian_of_the_own_family_is_recovered_to_one_percent(recovered):
    truth, fitted = recovered
    sd = truth.variances.sqrt()
    assert fitted.reason == "converged"
    assert float(((fitted.approximation.mean - truth.mean) / sd).abs().max()) < 0.01
    assert float((fitted.approximation.variances.sqrt() / sd - 1).abs().max()) < 0.01
    found, exact = covariance(fitted.approximation), covariance(truth)
    assert float(((found - exact) / (sd[:, None] * sd)).abs().max()) < 0.02


def test_half_the_noise_would_be_seen():
    truth = lowrank(10, 1)
    target = as_target(truth)

    @dataclass(frozen=True, eq=False)
    class Halved:
        """The gradient of samples half as far out: what a straight-through smoothing amounts to."""

        dimension: int = 10

        def evaluate(self, position):
            middle = position.mean(dim=0)
            inner = target.evaluate(middle + (position - middle) / 2)
            return Evaluation(target.evaluate(position).log_density, inner.gradient)

    quick = DiagonalLowRank(pairs=32, window=256, patience=1, step_size=0.1, decay=0.02)
    fitted = quick.fit(Halved(), torch.zeros(10, **DOUBLE), seed=0)
    ratio = fitted.approximation.variances / truth.variances
    assert float((ratio.sqrt() - 1).abs().max()) > 0.1


def test_entropy_density_and_draws_are_those_of_the_law():
    law = lowrank(7, 3)
    position = normal(5, 7, seed=4)
    assert law.entropy == pytest.approx(float(oracle(law).entropy()), rel=1e-12)
    torch.testing.assert_close(law.log_prob(position), oracle(law).log_prob(position))
    white = torch.eye(10, **DOUBLE)
    torch.testing.assert_close(law.deviation(white).T @ law.deviation(white), covariance(law))
    torch.testing.assert_close(law.variances, covariance(law).diagonal())


def test_the_gradient_is_that_of_the_bound_for_the_same_noise():
    law, target = lowrank(7, 2), as_target(lowrank(7, 1))
    white = normal(3, 9, seed=5)
    parameters = torch.cat([law.mean, law.log_variance, law.factor.flatten()]).requires_grad_(True)
    rows = parameters.view(4, 7)
    moved = LowRankNormal(rows[0], rows[1], rows[2:])
    away = moved.deviation(white)
    position = torch.cat([moved.mean + away, moved.mean - away])
    density = -0.5 * (((position - target.mean) @ target.precision) * (position - target.mean)).sum(dim=1)
    (density.mean() + oracle(moved).entropy()).backward()
    slopes = target.evaluate(position.detach()).gradient
    torch.testing.assert_close(_gradient(law, white, slopes), parameters.grad)


def test_the_bound_is_tight_where_the_law_is_the_target(recovered):
    truth, fitted = recovered
    # The target leaves its constant out, so the bound ends at minus that constant.
    constant = -oracle(truth).log_prob(truth.mean)
    late = torch.tensor(fitted.trace[-500:], **DOUBLE)
    assert float(late.mean() - constant) == pytest.approx(0, abs=4 * float(late.std()) / 500**0.5 + 0.01)


def test_a_fit_that_may_not_go_on_says_so_and_keeps_what_it_has():
    fitted = DiagonalLowRank(iterations=10).fit(as_target(lowrank(5, 1)), torch.zeros(5, **DOUBLE), seed=0)
    assert (fitted.reason, fitted.gradients, len(fitted.trace)) == ("capped", 20, 10)
    assert bool(torch.isfinite(fitted.approximation.mean).all())


def test_a_fit_starts_as_the_paper_does():
    fitted = DiagonalLowRank(iterations=1, step_size=1e-12).fit(
        as_target(lowrank(5, 1)), torch.zeros(5, **DOUBLE), 0
    )
    law = fitted.approximation
    torch.testing.assert_close(law.mean, torch.zeros(5, **DOUBLE), atol=1e-10, rtol=0)
    torch.testing.assert_close(law.preconditioner.variances, torch.full((5,), 0.25, **DOUBLE))
    torch.testing.assert_close(law.factor, torch.full((1, 5), 0.1, **DOUBLE))


def test_samples_without_a_number_do_not_spoil_a_fit():
    inner = as_target(lowrank(5, 1))

    @dataclass(frozen=True, eq=False)
    class Holed:
        dimension: int = 5

        def evaluate(self, position):
            inside = inner.evaluate(position)
            hole = position[:, :1] > 1.5
            return Evaluation(inside.log_density, torch.where(hole, torch.nan, inside.gradient))

    fitted = DiagonalLowRank(iterations=200).fit(Holed(), torch.ones(5, **DOUBLE), seed=0)
    assert bool(torch.isfinite(fitted.approximation.mean).all())
    assert bool(torch.isfinite(fitted.approximation.log_variance).all())


def test_adam_is_adam():
    start, slopes = normal(4, seed=0), normal(20, 4, seed=1)
    leaf = start.clone().requires_grad_(True)
    oracle_ = torch.optim.Adam([leaf], lr=0.05, maximize=True)
    decayed = torch.optim.lr_scheduler.LambdaLR(oracle_, lambda k: 1 / (1 + 0.1 * k))
    value, moments = start, Moments.zeros(start)
    for slope in slopes:
        leaf.grad = slope.clone()
        oracle_.step()
        decayed.step()
        value, moments = Adam(step_size=0.05, decay=0.1).update(value, slope, moments)
    torch.testing.assert_close(value, leaf.detach())


@dataclass(frozen=True, eq=False)
class Smoothing:
    """A symmetric kernel on a line, much like the Sobolev one."""

    matrix: torch.Tensor

    @property
    def log_det(self) -> float:
        return float(torch.logdet(self.matrix))

    def apply(self, position):
        return position @ self.matrix


def smoothing(dimension: int) -> Smoothing:
    places = torch.arange(dimension, **DOUBLE)
    kernel = torch.exp(-(places[:, None] - places).abs())
    return Smoothing(kernel / kernel.sum(dim=1).mean())


def test_smoothed_parameters_follow_the_same_law_as_the_targets_own():
    operator, target = smoothing(8), as_target(lowrank(8, 1))
    smooth = Reparametrised(target, operator)
    leaf = normal(3, 8, seed=0).requires_grad_(True)
    away = leaf @ operator.matrix - target.mean
    (-0.5 * (away @ target.precision * away).sum()).backward()
    torch.testing.assert_close(smooth.evaluate(leaf.detach()).gradient, leaf.grad)
    # log p(x) − log p(S x) is log |det S|, whatever x.
    gain = (
        smooth.evaluate(leaf.detach()).log_density - target.evaluate(smooth.apply(leaf.detach())).log_density
    )
    torch.testing.assert_close(gain, torch.full((3,), operator.log_det, **DOUBLE))


def test_the_papers_sampler_on_smoothed_parameters_keeps_the_targets_law():
    operator, target = smoothing(8), as_target(lowrank(8, 1))
    smooth = Reparametrised(target, operator)
    inverse = torch.linalg.inv(operator.matrix)
    precision = operator.matrix @ target.precision @ operator.matrix
    metric = Diagonal(torch.full((8,), float(1 / torch.linalg.eigvalsh(precision)[-1]), **DOUBLE))
    truth = sgld_covariance(precision, metric, 0.4)
    start = target.mean @ inverse + normal(128, 8, seed=3) @ torch.linalg.cholesky(truth).T
    state = Sgld().init(start, smooth, metric, seed=0)
    (chunk,) = draw(Sgld(), smooth, metric, state, Schedule(40, chunk=40))
    outer = operator.matrix @ truth @ operator.matrix
    assert (
        scores(
            smooth.apply(chunk.position.flatten(0, 1)).view(128, 40, 8),
            target.mean,
            outer,
            torch.eye(8, **DOUBLE),
        ).worst
        < 4
    )


def test_a_gaussian_is_fitted_exactly_by_its_own_structure():
    target = as_target(lowrank(30, 2))
    fitted = Structured(solving=1e-4).fit(target, torch.zeros(30, **DOUBLE), seed=0)
    law = fitted.approximation
    sd = target.covariance.diagonal().sqrt()
    assert fitted.reason == "converged"
    assert fitted.gradients == 2 * len(fitted.trace) <= 50
    assert float(((law.mean - target.mean) / sd).abs().max()) < 3e-3
    root = law.preconditioner.sqrt(torch.eye(law.preconditioner.noises, **DOUBLE))
    torch.testing.assert_close(
        root.T @ root / (sd[:, None] * sd), target.covariance / (sd[:, None] * sd), rtol=0, atol=1e-3
    )


@dataclass(frozen=True, eq=False)
class Exponential:
    """y = exp(A w) + noise under a standard normal prior: a likelihood that is not Gaussian in w."""

    matrix: torch.Tensor
    data: torch.Tensor
    limit: float = torch.inf

    @property
    def dimension(self) -> int:
        return self.matrix.shape[1]

    @property
    def prior(self) -> Dense:
        return Dense.of(torch.eye(self.dimension, **DOUBLE))

    def evaluate(self, position):
        model = torch.exp(position @ self.matrix.T)
        left = self.data - model
        density = -0.5 * position.square().sum(dim=1) - 0.5 * left.square().sum(dim=1)
        gradient = -position + (left * model) @ self.matrix
        return Evaluation(
            density, torch.where(position.norm(dim=1, keepdim=True) > self.limit, torch.nan, gradient)
        )

    def curvature(self, position):
        slopes = torch.exp(position @ self.matrix.T)[:, :, None] * self.matrix
        return Dense.of((slopes.mT @ slopes).mean(dim=0))

    def rough(self, curvature):
        return Diagonal(1 / (1 + curvature.matrix.diagonal()))


def exponential(limit: float = torch.inf) -> Exponential:
    matrix = normal(6, 4, seed=0) / 4
    return Exponential(matrix, torch.exp(matrix @ normal(4, seed=1)) + 0.5, limit)


def test_the_structured_law_is_where_its_own_expectations_balance():
    target = exponential()
    strategy = Structured(pairs=1000, rate=1.0, iterations=15, solving=1e-6, tolerance=1e-9)
    law = strategy.fit(target, torch.zeros(4, **DOUBLE), seed=0).approximation
    draws, _ = law.draw(Randomness.seeded(1, 1000, torch.device("cpu")))
    pairs = torch.stack([draws, 2 * law.mean - draws])
    slopes = target.evaluate(pairs.flatten(0, 1)).gradient.view(2, 1000, 4).mean(dim=0)
    curvatures = torch.stack([target.curvature(pair).matrix for pair in pairs.movedim(1, 0)])
    found = law.preconditioner.curvature.matrix
    # The fit's last iteration had as many pairs, so both sides scatter alike.
    for each, balance in ((slopes, torch.zeros(4, **DOUBLE)), (curvatures, found)):
        error = (2 / 1000) ** 0.5 * each.std(dim=0)
        assert bool(((each.mean(dim=0) - balance).abs() < 4 * error).all())
    at_the_mean = target.curvature(law.mean[None]).matrix
    assert float((at_the_mean - found).norm() / found.norm()) > 0.1


def test_structured_inference_goes_on_past_samples_without_a_number():
    fitted = Structured(iterations=25).fit(exponential(limit=2.0), torch.zeros(4, **DOUBLE), seed=2)
    assert len(fitted.trace) < 25
    assert bool(torch.isfinite(fitted.approximation.mean).all())
    hopeless = Structured(iterations=3).fit(exponential(limit=0.0), torch.zeros(4, **DOUBLE), seed=2)
    assert hopeless.reason == "diverged"
    assert torch.equal(hopeless.approximation.mean, torch.zeros(4, **DOUBLE))


@pytest.mark.parametrize("kind", ["structured", "diagonal_low_rank"])
def test_every_member_is_parsed_from_a_plan_fits_and_draws(kind):
    strategy = replace(TypeAdapter(Variational).validate_python({"kind": kind}), iterations=3)
    target = as_target(lowrank(6, 1))
    law = strategy.fit(target, torch.zeros(6, **DOUBLE), seed=0).approximation
    first, after = law.draw(Randomness.seeded(3, 2, torch.device("cpu")))
    second, _ = law.draw(after)
    assert first.shape == (2, 6)
    assert not torch.equal(first, second)
    assert law.preconditioner.apply(first).shape == (2, 6)
