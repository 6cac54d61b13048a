"""What a run will take, from a few gradients measured; and how much of a plan fits into a time."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch

from credwarp.errors import BudgetError
from credwarp.plan import Plan
from credwarp.register.seek import SEARCH_OVERHEAD
from credwarp.register.target import VelocityTarget
from credwarp.register.targets import Still, bound, seen
from credwarp.shapes import Positions
from credwarp.space import Grid, Pair

REPEATS = 3
# Solves of a variational iteration, in gradients.
SOLVES = 8.0
FEWEST_DRAWS, LEAST_THIN = 40, 2
BASE_MB = 900.0


@dataclass(frozen=True)
class Forecast:
    """Seconds of each stage, megabytes of memory and disk, and what it was reckoned from."""

    optimum: float
    approximation: float
    warmup: float
    each_draw: float
    draws: int
    memory_mb: float
    disk_mb: float
    gradient: float

    @property
    def seconds(self) -> float:
        """Altogether."""
        return self.optimum + self.approximation + self.warmup + self.each_draw * self.draws

    def lines(self) -> list[str]:
        """For a person."""
        drawing = self.each_draw * self.draws
        parts = f"{self.optimum:.0f} search, {self.approximation:.0f} approximation, {self.warmup:.0f} warmup"
        return [
            f"forecast: {self.seconds:.0f} s ({parts}, {drawing:.0f} for {self.draws} draws), "
            f"{self.memory_mb:.0f} MB of memory, {self.disk_mb:.0f} MB of disk.",
            f"a gradient of one chain takes {1e3 * self.gradient:.1f} ms here.",
        ]


def forecast(pair: Pair, plan: Plan) -> Forecast:
    """From gradients of the plan's own posterior at velocities of a typical size."""
    target = _typical(pair, plan)
    chains = plan.sampling.chains
    some = _velocities(target, chains)
    one = _seconds(lambda: target.evaluate(some[:1]))
    all_of_them = _seconds(lambda: target.evaluate(some))
    step = all_of_them + _overhead(target, plan, some)
    summary = _seconds(lambda: target.posterior.transform.displacement(target.parameters(some[:1])))
    sampling, size = plan.sampling, target.dimension
    per_draw = {
        "map": 0.0, "vi": SOLVES * one, "mcmc": step * sampling.thin / chains, "amortised": one,
    }[plan.method]  # fmt: skip
    draws = 1 if plan.method == "map" else sampling.each * chains
    return Forecast(
        optimum=_searching(plan) * one,
        approximation=0.0
        if plan.method in ("map", "amortised")
        else plan.variational.iterations * (2 + SOLVES) * one,
        warmup=(sampling.warmup + 82) * step if plan.method == "mcmc" else 0.0,
        each_draw=per_draw + 4 * summary,
        draws=draws,
        memory_mb=memory_mb(pair.grid, plan, chains),
        disk_mb=draws * size * 2e-6 + pair.grid.voxels * 4e-6 * 8,
        gradient=one,
    )


def memory_mb(grid: Grid, plan: Plan, chains: int) -> float:
    """The most that a process with so many chains holds at once; `grid` is the one that is compared on."""
    size = 3 * math.prod(plan.transform.bind(grid).parameters.shape)
    return BASE_MB + grid.voxels * 4e-6 * 60 + chains * size * 4e-6 * 14 + _block_mb(plan)


def within(predicted: Forecast, plan: Plan, seconds: float) -> tuple[Plan, Forecast]:
    """The plan cut to a time: thinner steps first, then fewer draws; never fewer than mean something."""
    left = seconds - predicted.seconds + predicted.each_draw * predicted.draws
    fewest = FEWEST_DRAWS if plan.method != "map" else 1
    thinnest = LEAST_THIN / plan.sampling.thin if plan.method == "mcmc" else 1.0
    if left < fewest * predicted.each_draw * thinnest:
        least = seconds - left + fewest * predicted.each_draw * thinnest
        raise BudgetError(
            f"a budget of {seconds:.0f} s is impossible here: at least {least:.0f} s are needed; give more "
            "time, fewer --chains, a coarser --set preparation.spacing, or --method map."
        )
    if predicted.seconds <= seconds:
        return plan, predicted
    share = left / (predicted.each_draw * predicted.draws)
    thin = max(LEAST_THIN, math.floor(plan.sampling.thin * share)) if plan.method == "mcmc" else 1
    thin = min(thin, plan.sampling.thin)
    each = predicted.each_draw * thin / plan.sampling.thin if plan.method == "mcmc" else predicted.each_draw
    draws = max(fewest, min(predicted.draws, math.floor(left / each)))
    sampling = replace(plan.sampling, draws=draws, thin=thin)
    cut = replace(predicted, draws=draws, each_draw=each)
    return plan.model_copy(update={"sampling": sampling}), cut


def _typical(pair: Pair, plan: Plan) -> Still:
    posterior = bound(pair, plan)
    return seen(posterior, posterior.init(posterior.zeros(1)), plan)


def _velocities(target: Still, chains: int) -> Positions:
    noise = torch.randn((chains, target.dimension), generator=torch.Generator().manual_seed(0))
    if isinstance(target, VelocityTarget):
        return noise * target.prior.eigenvalues.rsqrt().nan_to_num(posinf=0.0).to(noise.dtype)
    return 0.3 * noise


def _overhead(target: Still, plan: Plan, some: Positions) -> float:
    """Noise and preconditioner of a step, roughly: normals, and products with the dense block."""
    block = torch.zeros((min(getattr(plan.metric, "size", 1), target.dimension),) * 2)
    rows = some[:, : len(block)]
    return _seconds(lambda: (torch.randn_like(some), rows @ block, rows @ block, some + some))


def _block_mb(plan: Plan) -> float:
    return float(getattr(plan.metric, "size", 0)) ** 2 * (3 * 4 + 4 * 8) * 1e-6


def _searching(plan: Plan) -> float:
    """What the search costs, in gradients at the finest level."""
    chosen = plan.optimisation
    climb = chosen.rounds * plan.optimiser.iterations * SEARCH_OVERHEAD
    if plan.method == "amortised":
        return 0.0
    if chosen.start == "network":
        return climb
    return chosen.starts * climb * sum(factor**-3 for factor in chosen.levels)


def _seconds(work: Callable[[], object]) -> float:
    work()
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return sorted(times)[REPEATS // 2]
