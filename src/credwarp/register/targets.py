"""Targets of a pair under a plan, and how they are kept between stages."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeAlias

import torch
from torch import Tensor

from credwarp.plan import Cosine, Plan
from credwarp.posterior import Hypers, Posterior
from credwarp.register.adaptive import Following
from credwarp.register.smoothed import SmoothedTarget, sobolev_taps
from credwarp.register.target import VelocityTarget
from credwarp.samplers import Saem
from credwarp.space import Pair

Still: TypeAlias = VelocityTarget | SmoothedTarget


def bound(pair: Pair, plan: Plan) -> Posterior:
    """The plan's posterior on a pair."""
    return Posterior.of(pair, plan.transform, plan.likelihood, plan.prior)


def seen(posterior: Posterior, hyper: Hypers, plan: Plan) -> Still:
    """The posterior in the plan's coordinates."""
    if isinstance(plan.coordinates, Cosine):
        return VelocityTarget(posterior, hyper)
    taps = sobolev_taps(plan.coordinates.width, plan.coordinates.smoothing)
    return SmoothedTarget(posterior, hyper, taps)


def following(still: Still, plan: Plan) -> Still | Following:
    """With hyperparameters that follow the draws, if the plan says so."""
    return Following.of(still, plan.hyper) if isinstance(plan.hyper, Saem) else still


def frozen(target: Still | Following) -> Still:
    """With hyperparameters as they are."""
    return target.still if isinstance(target, Following) else target


def to_tensors(target: Still) -> dict[str, Tensor]:
    """What a target has that pair and plan do not tell."""
    squarings = torch.tensor(target.posterior.transform.squarings)
    return target.hyper.to_tensors() | {"squarings": squarings}


def from_tensors(pair: Pair, plan: Plan, tensors: Mapping[str, Tensor]) -> Still:
    """The target that `to_tensors` was given."""
    posterior = bound(pair, plan)
    transform = replace(posterior.transform, squarings=int(tensors["squarings"]))
    return seen(replace(posterior, transform=transform), Hypers.from_tensors(dict(tensors)), plan)
