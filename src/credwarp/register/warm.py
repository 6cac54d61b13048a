"""The third stage: chains started, their metric renewed where they are, the step checked."""

import time
from dataclasses import dataclass, replace
from typing import Any, cast

import torch

from credwarp.plan import Plan
from credwarp.register.adaptive import Following
from credwarp.register.approximate import Approximated
from credwarp.register.curvature import VoxelBlocks
from credwarp.register.seek import Sought
from credwarp.register.stages import Keeper, Kept, Progress, Watch
from credwarp.register.target import VelocityTarget
from credwarp.register.targets import Still, following, from_tensors, frozen, to_tensors
from credwarp.samplers import (
    Identity,
    Pilot,
    Preconditioner,
    Randomness,
    State,
    Underdamped,
    check_step,
    refreshed,
    warm,
)
from credwarp.shapes import Positions
from credwarp.space import Pair

STAGE = "warmup"


@dataclass(frozen=True, eq=False)
class Warmed:
    """Chains ready to be drawn from: their target and preconditioner stay as they are from here."""

    target: Still
    preconditioner: Preconditioner
    state: State
    facts: dict[str, Any]


def warm_up(
    pair: Pair, plan: Plan, sought: Sought, near: Approximated, keeper: Keeper, watch: Watch
) -> Warmed:
    """Done before, or now."""
    kept = keeper.load(STAGE)
    if kept is None:
        warmed, shape = _warm_up(plan, sought, near, watch)
        states = {f"state.{name}": value for name, value in warmed.state.to_tensors().items()}
        keeper.save(STAGE, Kept(to_tensors(warmed.target) | states | shape, warmed.facts))
        return warmed
    target = from_tensors(pair, plan, kept.tensors)
    state = {n.removeprefix("state."): t for n, t in kept.tensors.items() if n.startswith("state.")}
    metric = _metric(
        target, plan, near, VoxelBlocks(kept.tensors["blocks"]) if "blocks" in kept.tensors else None
    )
    return Warmed(target, metric, State.from_tensors(state), dict(kept.facts))


def _warm_up(
    plan: Plan, sought: Sought, near: Approximated, watch: Watch
) -> tuple[Warmed, dict[str, torch.Tensor]]:
    started = time.perf_counter()
    target, sampler = near.target, plan.sampler
    position = _positions(plan, sought, near)
    curvature = _curvature(target, position)
    metric = _metric(target, plan, near, curvature)
    state = sampler.init(position, target, metric, plan.seed)
    half = plan.sampling.warmup // 2
    moving = following(target, plan)
    for steps in (half, plan.sampling.warmup - half):
        state, moving = _run(plan, moving, metric, state, steps, watch)
        # The curvature where the chains are by now serves better than that where they began.
        moving = _tuned(moving, state.position)
        target = frozen(moving)
        curvature = _curvature(target, state.position)
        metric = _metric(target, plan, near, curvature)
        state = refreshed(state, target, metric)
    facts: dict[str, Any] = {"virials": [], "step_accepted": True}
    if isinstance(sampler, Underdamped):
        checked = check_step(sampler, target, metric, state, near.law.mean, Pilot())
        state = checked.state
        facts["virials"] = [{"value": v.value, "error": v.error} for v in checked.virials]
        facts["step_accepted"] = checked.accepted
    facts |= {
        "gradients": state.gradients * plan.sampling.chains,
        "step_size": state.step_size.tolist(),
        "seconds": time.perf_counter() - started,
    }
    shape = {} if curvature is None else {"blocks": curvature.blocks}
    return Warmed(target, metric, state, facts), shape


def _run(
    plan: Plan, target: Still | Following, metric: Preconditioner, state: State, steps: int, watch: Watch
) -> tuple[State, Still | Following]:
    """Some transitions, the hyperparameters following if they are to."""
    for after in warm(plan.sampler, target, metric, state, steps):
        state, target = after[0], cast(Still | Following, after[1])
        figures = {"log-density": float(after[2].log_density.mean()), "virial": float(after[2].virial.mean())}
        watch(Progress(STAGE, state.steps, plan.sampling.warmup, figures))
    return state, target


def _tuned(target: Still | Following, position: Positions) -> Still | Following:
    """With as many squarings as the chains' velocities need."""
    if isinstance(target, Following):
        return replace(target, still=cast(Still, _tuned(target.still, position)))
    return replace(target, posterior=target.posterior.tuned(target.parameters(position)))


def _positions(plan: Plan, sought: Sought, near: Approximated) -> Positions:
    """One a chain: draws of the law round the optima in turn, or what experiments start from instead."""
    chains, mean = plan.sampling.chains, near.law.mean
    randomness = Randomness.seeded(plan.seed, chains, mean.device)
    if plan.sampling.start == "identity":
        return torch.zeros((chains, len(mean)), dtype=mean.dtype, device=mean.device)
    if plan.sampling.start == "noise":
        return randomness.normals(len(mean), mean)[0]
    positions, _ = near.law.draw(randomness)
    target = near.target
    if len(sought.optima) > 1 and isinstance(target, VelocityTarget):
        optima = target.position(sought.optima)
        which = torch.arange(chains) % len(optima)
        positions = positions + (optima - optima[:1])[which]
    return positions


def _curvature(target: Still, position: Positions) -> VoxelBlocks | None:
    return target.curvature(position) if isinstance(target, VelocityTarget) else None


def _metric(target: Still, plan: Plan, near: Approximated, curvature: VoxelBlocks | None) -> Preconditioner:
    """The plan's where the target's shape is known; the paper's A = diag σ², or none, where it is not."""
    if curvature is not None and isinstance(target, VelocityTarget):
        return plan.metric.build(target, curvature)
    if plan.sampling.start == "approximation":
        return near.law.preconditioner
    return Identity(target.dimension)
