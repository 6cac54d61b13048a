"""The second stage: a Gaussian law that stands in for the posterior, to start chains from or to draw from."""

import time
from dataclasses import dataclass
from typing import Any, cast

import torch

from credwarp.plan import Cosine, Plan
from credwarp.register.adaptive import Following
from credwarp.register.curvature import VoxelBlocks
from credwarp.register.seek import Sought
from credwarp.register.stages import Keeper, Kept, Progress, Watch
from credwarp.register.target import VelocityTarget
from credwarp.register.targets import Still, following, from_tensors, frozen, to_tensors
from credwarp.samplers import Approximation, Curved, Fixed, Randomness, Structured
from credwarp.samplers.lowrank import LowRankNormal
from credwarp.samplers.precondition import GaussNewton
from credwarp.samplers.structured import StructuredNormal
from credwarp.space import Pair

STAGE = "approximation"
# Of the law, over which the mixture is fitted once more; and how often that is iterated.
DRAWS, NOISE_ITERATIONS = 4, 8


@dataclass(frozen=True, eq=False)
class Approximated:
    """The law, and the target with the hyperparameters it was fitted with."""

    target: Still
    law: Approximation
    facts: dict[str, Any]


def approximate(pair: Pair, plan: Plan, sought: Sought, keeper: Keeper, watch: Watch) -> Approximated:
    """Found before, or now."""
    kept = keeper.load(STAGE)
    if kept is not None:
        target = from_tensors(pair, plan, kept.tensors)
        return Approximated(target, _law(target, plan, dict(kept.tensors)), dict(kept.facts))
    watch(Progress(STAGE, 0, 1))
    started = time.perf_counter()
    # Only `Structured` asks for a curvature, and a plan that lacks one is refused before.
    moving = cast(Curved, following(sought.target, plan))
    fitted = plan.variational.fit(moving, _start(sought), plan.seed)
    gradients = fitted.gradients
    still = frozen(cast(Still | Following, fitted.target))
    if isinstance(plan.hyper, Fixed) and isinstance(still, VelocityTarget):
        draws, _ = fitted.approximation.draw(
            Randomness.seeded(plan.seed, DRAWS, fitted.approximation.mean.device)
        )
        still = still.averaged(draws, NOISE_ITERATIONS)
        fitted = plan.variational.fit(still, fitted.approximation.mean, plan.seed)
        gradients += fitted.gradients
    facts = {
        "gradients": gradients,
        "reason": fitted.reason,
        "trace": list(fitted.trace),
        "seconds": time.perf_counter() - started,
    }
    keeper.save(STAGE, Kept(to_tensors(still) | _tensors(fitted.approximation), facts))
    return Approximated(still, fitted.approximation, facts)


def _start(sought: Sought) -> torch.Tensor:
    if isinstance(sought.target, VelocityTarget):
        return sought.target.position(sought.optima[:1])[0]
    return sought.optima[0].flatten()


def _tensors(law: Approximation) -> dict[str, torch.Tensor]:
    if isinstance(law, StructuredNormal):
        curvature = law.preconditioner.curvature
        assert isinstance(curvature, VoxelBlocks)
        return {"mean": law.mean, "blocks": curvature.blocks}
    assert isinstance(law, LowRankNormal)
    return {"mean": law.mean, "log_variance": law.log_variance, "factor": law.factor}


def _law(target: Still, plan: Plan, tensors: dict[str, torch.Tensor]) -> Approximation:
    if "blocks" not in tensors:
        return LowRankNormal(tensors["mean"], tensors["log_variance"], tensors["factor"])
    assert isinstance(target, VelocityTarget)
    assert isinstance(plan.variational, Structured)
    assert isinstance(plan.coordinates, Cosine)
    curvature = VoxelBlocks(tensors["blocks"])
    metric = GaussNewton(target.prior, curvature, target.rough(curvature), plan.variational.solving)
    return StructuredNormal(tensors["mean"], metric)
