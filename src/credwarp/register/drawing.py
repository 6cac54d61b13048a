"""The last stage: draws kept chunk by chunk, with what is tracked of each, until there are enough."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from credwarp.plan import Plan
from credwarp.register.diagnose import glance
from credwarp.register.stages import Keeper, Kept, Progress, Watch
from credwarp.register.targets import Still
from credwarp.register.track import Tracker
from credwarp.register.warm import Warmed
from credwarp.samplers import Chunk, Law, Randomness, Schedule, State, draw
from credwarp.shapes import Parameters, PerChain
from credwarp.space import Pair

STAGE = "draws"


@dataclass(frozen=True, eq=False)
class Recorder:
    """Draws as they are kept: velocities in half precision, and functionals of just those."""

    target: Still
    tracker: Tracker

    @classmethod
    def of(cls, target: Still, pair: Pair, plan: Plan) -> "Recorder":
        """For the draws of a target."""
        return cls(target, Tracker.of(target.posterior, target.hyper.chain(0).prior, pair, plan.seed))

    def record(self, w: Parameters, log_density: PerChain) -> dict[str, Tensor]:
        """One draw of each chain."""
        stored = w.to(torch.float16)
        tracked = self.tracker.observe(stored.to(w.dtype), log_density)
        series = {name: value.to(torch.float32) for name, value in tracked.items()}
        return {"velocity": stored, "lp": log_density} | series


def draw_chains(pair: Pair, plan: Plan, warmed: Warmed, keeper: Keeper, watch: Watch) -> dict[str, Any]:
    """Draws of the warmed chains up to the plan's number, whatever part of them is there already."""
    recorder = Recorder.of(warmed.target, pair, plan)
    kept = keeper.load(STAGE)
    facts: dict[str, Any] = {"done": 0, "seconds": 0.0} if kept is None else dict(kept.facts)
    state = warmed.state if kept is None else State.from_tensors(dict(kept.tensors))
    sampling, chains = plan.sampling, len(state.position)
    schedule = Schedule(max(sampling.each - facts["done"], 1), sampling.thin, sampling.chunk)
    since, before = time.perf_counter(), facts["seconds"]
    if facts["done"] >= sampling.each:
        return facts
    for chunk in draw(plan.sampler, warmed.target, warmed.preconditioner, state, schedule):
        _keep(keeper, recorder, chunk, facts["done"], plan)
        facts = facts | {
            "done": facts["done"] + chunk.position.shape[1],
            "gradients": (chunk.state.gradients - warmed.state.gradients) * chains,
            "divergences": int((chunk.state.divergences - warmed.state.divergences).sum()),
            "step_size": chunk.state.step_size.tolist(),
            "seconds": before + time.perf_counter() - since,
        }
        keeper.save(STAGE, Kept(chunk.state.to_tensors(), facts))
        figures = {"virial": float(chunk.virial.mean()), **glance(keeper.series())}
        watch(Progress(STAGE, facts["done"] * chains, sampling.each * chains, figures))
    return facts


def draw_law(pair: Pair, plan: Plan, target: Still, law: Law, keeper: Keeper, watch: Watch) -> dict[str, Any]:
    """Independent draws of a law instead, arranged as if they were chains."""
    recorder, sampling = Recorder.of(target, pair, plan), plan.sampling
    kept = keeper.load(STAGE)
    done = 0 if kept is None else int(kept.facts["done"])
    randomness = Randomness.seeded(plan.seed + 1, sampling.chains, law.mean.device)
    randomness = randomness if kept is None else Randomness(kept.tensors["randomness"])
    since = time.perf_counter()
    facts: dict[str, Any] = (
        {"done": done, "gradients": 0, "seconds": 0.0} if kept is None else dict(kept.facts)
    )
    before = facts["seconds"]
    while done < sampling.each:
        some: list[dict[str, Tensor]] = []
        for _ in range(min(sampling.chunk, sampling.each - done)):
            position, randomness = law.draw(randomness)
            w = target.parameters(position)
            with torch.no_grad():
                terms = target.posterior.evaluate(w, target.hyper.shared(len(w)))
            some.append(recorder.record(w, terms.log_density))
        keeper.append(done, sampling.each, _stacked(some))
        done += len(some)
        facts = facts | {"done": done, "seconds": before + time.perf_counter() - since}
        keeper.save(STAGE, Kept({"randomness": randomness.states}, facts))
        watch(Progress(STAGE, done * sampling.chains, sampling.each * sampling.chains))
    return facts


def keep_optimum(pair: Pair, plan: Plan, target: Still, w: Parameters, keeper: Keeper) -> dict[str, Any]:
    """The optimum as the only draw."""
    recorder = Recorder.of(target, pair, plan)
    with torch.no_grad():
        terms = target.posterior.evaluate(w, target.hyper.shared(1))
    keeper.append(0, 1, _stacked([recorder.record(w, terms.log_density)]))
    facts: dict[str, Any] = {"done": 1, "gradients": 0, "seconds": 0.0}
    keeper.save(STAGE, Kept({}, facts))
    return facts


def _keep(keeper: Keeper, recorder: Recorder, chunk: Chunk, first: int, plan: Plan) -> None:
    thin = plan.sampling.thin
    rows = []
    for number, position in enumerate(chunk.position.unbind(dim=1)):
        w = recorder.target.parameters(position)
        rows.append(recorder.record(w, chunk.log_density[:, (number + 1) * thin - 1]))
    series = _stacked(rows)
    for name, steps in _per_draw(chunk, thin):
        series[name] = steps
    keeper.append(first, plan.sampling.each, series)


def _per_draw(chunk: Chunk, thin: int) -> Iterator[tuple[str, Tensor]]:
    """What the transitions between two draws were like."""
    for name, values in (("virial", chunk.virial), ("acceptance", chunk.acceptance)):
        yield name, values.unflatten(1, (-1, thin)).mean(dim=2)
    yield "diverging", chunk.diverged.unflatten(1, (-1, thin)).any(dim=2)


def _stacked(rows: list[dict[str, Tensor]]) -> dict[str, Tensor]:
    return {name: torch.stack([row[name] for row in rows], dim=1) for name in rows[0]}
