"""The strength of the prior by evidence: from both ends, the mixture and α fixed at a reference optimum."""

import logging
import math
from dataclasses import dataclass, replace
from typing import Any

import torch

from credwarp.plan import Plan
from credwarp.posterior import Hypers
from credwarp.register.optimise import Optimised
from credwarp.register.stages import Progress, Watch
from credwarp.register.target import VelocityTarget
from credwarp.samplers import (
    Evidence,
    Full,
    Observed,
    Optimiser,
    Schedule,
    Strength,
    Underdamped,
    draw,
    effective_dimension,
)
from credwarp.shapes import Parameters

log = logging.getLogger("credwarp")
PROBES = 4
SHAKEN = 60


@dataclass(eq=False)
class _Climber:
    """Optima at one strength after the other, each sought from where the last one was."""

    target: VelocityTarget
    position: torch.Tensor
    optimiser: Optimiser
    seed: int
    gradients: int = 0

    def observe(self, strength: float) -> Observed:
        """ν_eff and χ² at this strength."""
        target = at_strength(self.target, strength)
        rough = target.rough(target.curvature(self.position[None]))
        optimum = self.optimiser.maximise(target, self.position, rough)
        self.position = optimum.position
        self.gradients += optimum.gradients
        curvature = target.curvature(self.position[None])
        metric = Full().build(target, curvature)
        effective = effective_dimension(metric, curvature, self.position, PROBES, self.seed)
        energy = float(target.posterior.prior.energy(target.parameters(self.position[None]))[0])
        log.info("strength %.3g: %.0f effective parameters, χ² %.1f", strength, effective, energy)
        return Observed(effective, energy)


def by_evidence(
    best: Optimised, plan: Plan, watch: Watch
) -> tuple[VelocityTarget, Parameters, dict[str, Any]]:
    """The target at the strength found, its optimum, and what both ends say."""
    assert isinstance(plan.hyper, Evidence)
    reference = float(torch.exp(best.target.hyper.prior["log_strength"][0]))
    start = _shaken(best, plan)
    ends: list[Strength] = []
    gradients = SHAKEN
    climber = _Climber(best.target, start, plan.optimiser, plan.seed)
    for number, factor in enumerate((0.25, 4.0)):
        watch(Progress("evidence", number, 2))
        climber = _Climber(best.target, start, plan.optimiser, plan.seed)
        ends.append(plan.hyper.find(climber.observe, reference * factor))
        gradients += climber.gradients
    low, high = ends
    value = math.sqrt(low.value * high.value)
    climber.observe(value)
    target = at_strength(best.target, value)
    facts = {
        "strength": value,
        "ends": [low.value, high.value],
        "agree": abs(math.log(high.value / low.value)) < math.log(1.3),
        "converged": [low.converged, high.converged],
        "traces": [list(end.trace) for end in ends],
        "gradients": gradients,
    }
    return target, target.parameters(climber.position[None]), facts


def at_strength(target: VelocityTarget, strength: float) -> VelocityTarget:
    """The same target, the prior's strength another."""
    prior = target.hyper.prior
    given = {"log_strength": torch.full_like(prior["log_strength"], math.log(strength))}
    return replace(target, hyper=Hypers(target.hyper.likelihood, given))


def _shaken(best: Optimised, plan: Plan) -> torch.Tensor:
    """The optimum found again after a short chain: a search that was stopped early ends in a local one."""
    target = best.target
    position = target.position(best.w)
    metric = target.rough(target.curvature(position))
    chain = Underdamped()
    state = chain.init(position, target, metric, plan.seed)
    (chunk,) = draw(chain, target, metric, state, Schedule(1, SHAKEN, 1))
    again = plan.optimiser.maximise(target, chunk.state.position[0], metric)
    found = again.position if again.log_density > best.log_density else position[0]
    log.info("after a short chain: log-density %.1f, before it %.1f", again.log_density, best.log_density)
    return found
