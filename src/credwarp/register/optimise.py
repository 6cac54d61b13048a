"""The most probable warp, coarse to fine: low resolutions first, the noise's law refitted on the way."""

import logging
from dataclasses import dataclass, replace

import torch

from credwarp.plan import Plan
from credwarp.posterior import Posterior
from credwarp.register.target import VelocityTarget
from credwarp.samplers import Optimiser, Randomness
from credwarp.shapes import Parameters
from credwarp.space import Grid, Pair, Volume, coarsened, resample, resample_mask
from credwarp.transforms import DenseSvf

log = logging.getLogger("credwarp")
SMALLEST_SIDE = 8
# Of the masks at a level, fewer of which say little of where to go.
FEWEST_VOXELS = 64
NOISE_ITERATIONS = 8


@dataclass(frozen=True, eq=False)
class Optimised:
    """A local optimum: its velocity parameters, the posterior they maximise, and what that cost."""

    target: VelocityTarget
    w: Parameters
    log_density: float
    gradients: int


def optimise(pair: Pair, plan: Plan, start: int = 0) -> Optimised:
    """Over the levels that leave enough voxels, to the plan's own resolution.

    From no deformation where `start` is 0, from a draw of the prior (another one for each number) elsewhere.
    """
    found: Optimised | None = None
    spent = 0
    for factor in levels_of(pair, plan):
        target = _target(pair, plan, factor)
        first = beginning(target, plan.seed, start) if found is None else carried(found, target.posterior)
        found = climb(target, first, plan.optimiser, plan.optimisation.rounds)
        spent += found.gradients
        log.info(
            "start %d, level 1/%d: log-density %.1f after %d gradients",
            start, factor, found.log_density, found.gradients,
        )  # fmt: skip
    assert found is not None
    return replace(found, gradients=spent)


def levels_of(pair: Pair, plan: Plan) -> list[int]:
    """The plan's levels that leave enough voxels, and enough of them inside the masks."""
    return [f for f in plan.optimisation.levels if f == 1 or _enough(pair, f)]


def _enough(pair: Pair, factor: int) -> bool:
    if min(pair.grid.shape) < SMALLEST_SIDE * factor:
        return False
    both = Volume(pair.grid, pair.fixed_mask & pair.moving_mask)
    return int(resample_mask(both, pair.grid.coarsened(factor)).data.sum()) >= FEWEST_VOXELS


def beginning(target: VelocityTarget, seed: int, start: int) -> Parameters:
    """No velocity, or a draw from the prior."""
    if start == 0:
        return target.posterior.zeros(1)
    still = target.posterior.zeros(1)
    noise, _ = Randomness.seeded(seed, start + 1, still.device).normals(target.dimension, still)
    sd = target.prior.eigenvalues.rsqrt().nan_to_num(posinf=0.0)
    return target.parameters(noise[start:] * sd.to(noise.dtype))


def climb(target: VelocityTarget, start: Parameters, optimiser: Optimiser, rounds: int) -> Optimised:
    """Optimise, refit the noise, again: `rounds` times, from `start`."""
    target = replace(target, posterior=target.posterior.tuned(start)).fitted(target.position(start), 15)
    position, gradients = target.position(start), 0
    for number in range(rounds):
        if number:
            w = target.parameters(position)
            target = replace(target, posterior=target.posterior.tuned(w)).fitted(position, NOISE_ITERATIONS)
        metric = target.rough(target.curvature(position))
        optimum = optimiser.maximise(target, position[0], metric)
        position, gradients = optimum.position[None], gradients + optimum.gradients
    return Optimised(target, target.parameters(position), optimum.log_density, gradients)


def carried(found: Optimised, posterior: Posterior) -> Parameters:
    """The same velocity, in millimetres, as parameters of another posterior."""
    old, new = found.target.posterior.transform, posterior.transform
    ratio = [a / b for a, b in zip(old.grid.spacing, new.grid.spacing, strict=True)]
    parts = [
        _moved(component, old.parameters, new.parameters) * scale
        for component, scale in zip(found.w[0], ratio, strict=True)
    ]
    return torch.stack(parts)[None]


def _moved(component: torch.Tensor, old: Grid, new: Grid) -> torch.Tensor:
    return resample(Volume(old, component), new, order=3).data


def _target(pair: Pair, plan: Plan, factor: int) -> VelocityTarget:
    seen = coarsened(pair, factor) if factor > 1 else pair
    transform = DenseSvf(coarsening=1) if factor > 1 else plan.transform
    posterior = Posterior.of(seen, transform, plan.likelihood, plan.prior)
    return VelocityTarget(posterior, posterior.init(posterior.zeros(1)))
