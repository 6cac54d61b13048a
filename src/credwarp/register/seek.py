"""The first stage: the most probable warps from several starts, and the best one's hyperparameters."""

import logging
import time
from dataclasses import dataclass, replace
from typing import Any

import torch

from credwarp.plan import Cosine, Plan
from credwarp.posterior import Hypers
from credwarp.priors import GaussianEnergy, LogNormalEnergy
from credwarp.register.optimise import Optimised, climb, levels_of, optimise
from credwarp.register.predict import Predicted
from credwarp.register.stages import Keeper, Kept, Progress, Watch
from credwarp.register.strength import by_evidence
from credwarp.register.target import VelocityTarget
from credwarp.register.targets import Still, bound, from_tensors, seen, to_tensors
from credwarp.samplers import Evidence, distinct
from credwarp.shapes import Fields, Parameters
from credwarp.space import Pair

log = logging.getLogger("credwarp")
STAGE = "optimum"
# Gradients that a search takes, by its iterations.
SEARCH_OVERHEAD = 1.15
# Optima whose warps differ by less on average, in millimetres where voxels count, are one.
SAME_WARP = 0.5


@dataclass(frozen=True, eq=False)
class Sought:
    """The target, its hyperparameters fixed at the best optimum, and the optima's parameters, best first."""

    target: Still
    optima: Parameters
    facts: dict[str, Any]


def seek(pair: Pair, plan: Plan, predicted: Predicted | None, keeper: Keeper, watch: Watch) -> Sought:
    """Found before, or now; from what a network predicted, if one did."""
    kept = keeper.load(STAGE)
    if kept is None:
        sought = _seek(pair, plan, predicted, watch)
        tensors = to_tensors(sought.target) | {"optima": sought.optima}
        keeper.save(STAGE, Kept(tensors, sought.facts))
        return sought
    return Sought(from_tensors(pair, plan, kept.tensors), kept.tensors["optima"], dict(kept.facts))


def _seek(pair: Pair, plan: Plan, predicted: Predicted | None, watch: Watch) -> Sought:
    started = time.perf_counter()
    if not isinstance(plan.coordinates, Cosine):
        posterior = bound(pair, plan)
        w = posterior.zeros(1)
        return Sought(seen(posterior, posterior.init(w), plan), w, {"seconds": 0.0, "gradients": 0})
    found = _found(pair, plan, predicted, watch)
    best, basins = found[0], distinct(found, SAME_WARP, _apart)
    facts: dict[str, Any] = {
        "gradients": sum(o.gradients for o in found),
        "log_densities": [o.log_density for o in found],
        "basins": [[o.log_density for o in basin] for basin in basins],
        "apart_mm": [_apart(best, basin[0]) for basin in basins[1:]],
    }
    facts["explained"] = best.target.explained(best.target.position(best.w))
    if predicted is not None:
        facts |= _saved(plan, pair, facts["gradients"])
    optima = torch.cat([basin[0].w for basin in basins])
    target: Still = best.target
    if plan.prior != searched(plan).prior:
        posterior = replace(bound(pair, plan), transform=best.target.posterior.transform)
        prior = posterior.prior.init(1)
        target = seen(posterior, Hypers(best.target.hyper.likelihood, prior), plan)
    if isinstance(plan.hyper, Evidence):
        target, optima, facts["evidence"] = by_evidence(best, plan, watch)
    return Sought(target, optima, facts | {"seconds": time.perf_counter() - started})


def _found(pair: Pair, plan: Plan, predicted: Predicted | None, watch: Watch) -> list[Optimised]:
    """Optima from every start, the best first; from the network's output there is one."""
    if predicted is not None:
        watch(Progress(STAGE, 0, 1))
        target = seen(bound(pair, searched(plan)), predicted.target.hyper, plan)
        assert isinstance(target, VelocityTarget)
        return [climb(target, predicted.w, plan.optimiser, plan.optimisation.rounds)]
    found = []
    for start in range(plan.optimisation.starts):
        watch(Progress(STAGE, start, plan.optimisation.starts))
        found.append(optimise(pair, searched(plan), start))
    return sorted(found, key=lambda o: -o.log_density)


def _saved(plan: Plan, pair: Pair, taken: int) -> dict[str, Any]:
    """How many gradients the network's output made unnecessary, by what such a search takes otherwise."""
    levels = len(levels_of(pair, plan))
    chosen = plan.optimisation
    usual = round(chosen.starts * levels * chosen.rounds * plan.optimiser.iterations * SEARCH_OVERHEAD)
    log.info(
        "the search took %d gradients from the network's output, about %d fewer than the %d of one from no "
        "deformation (%d starts, %d levels).", taken, usual - taken, usual, chosen.starts, levels,
    )  # fmt: skip
    return {"gradients_usual": usual, "gradients_saved": usual - taken}


def searched(plan: Plan) -> Plan:
    """The plan of the search: the log-normal energy's most probable warp is none at all, whatever is seen."""
    if not isinstance(plan.prior, LogNormalEnergy):
        return plan
    prior = GaussianEnergy(strength=plan.prior.strength, unit=plan.prior.unit)
    return plan.model_copy(update={"prior": prior})


def _apart(one: Optimised, other: Optimised) -> float:
    """The root mean square distance of two warps, in millimetres, where voxels count."""
    weight = one.target.posterior.likelihood.weight[:, None]
    field = _displacement(one) - _displacement(other)
    spacing = torch.tensor(one.target.posterior.transform.grid.spacing).to(field)
    square = (field * spacing.view(3, 1, 1, 1)).square().sum(dim=1, keepdim=True)
    return float(((square * weight).sum() / weight.sum()).sqrt())


@torch.no_grad()
def _displacement(found: Optimised) -> Fields:
    return found.target.posterior.transform.displacement(found.w)
