"""Chains of one registration drawn apart and brought together: the same draws bit for bit."""

from collections.abc import Sequence
from dataclasses import replace

import torch

from credwarp.errors import InputError
from credwarp.plan import Plan
from credwarp.register.drawing import STAGE, draw_chains
from credwarp.register.registration import warmed
from credwarp.register.stages import VELOCITY, Keeper, Kept, Watch, unwatched
from credwarp.register.warm import STAGE as WARMUP
from credwarp.samplers import State
from credwarp.space import Pair


def draw_chain(
    pair: Pair, plan: Plan, chain: int, whole: Keeper, own: Keeper, watch: Watch = unwatched
) -> None:
    """The draws of one chain, kept in `own`; `whole` has the stages before and is not changed."""
    if whole.load(WARMUP) is None:
        raise InputError("the chains are not warmed up yet, so none can be drawn from alone; do that first.")
    ready = warmed(pair, plan, whole, watch)
    alone = replace(ready, state=ready.state.only(slice(chain, chain + 1)))
    draw_chains(pair, plan, alone, own, watch)


def bring_together(plan: Plan, parts: Sequence[Keeper], whole: Keeper) -> None:
    """The draws of all chains, each in a keeper of its own, as one run has them."""
    kept = [found for part in parts if (found := part.load(STAGE)) is not None]
    each = plan.sampling.each
    if len(kept) < len(parts) or any(int(one.facts["done"]) < each for one in kept):
        raise InputError("some of the chains do not have all their draws yet; draw them first.")
    series, drawn = [part.series() for part in parts], [part.draws() for part in parts]
    for first in range(0, each, plan.sampling.chunk):
        some = range(first, min(first + plan.sampling.chunk, each))
        rows = [torch.cat([one.parameters(0, draw) for draw in some]) for one in drawn]
        block = {
            name: torch.cat([one[name][:, some.start : some.stop] for one in series]) for name in series[0]
        }
        whole.append(first, each, {VELOCITY: torch.stack(rows).to(torch.float16)} | block)
    state = State.together([State.from_tensors(dict(one.tensors)) for one in kept])
    facts = dict(kept[0].facts) | {
        "gradients": sum(one.facts["gradients"] for one in kept),
        "divergences": sum(one.facts["divergences"] for one in kept),
        "step_size": state.step_size.tolist(),
        "seconds": max(one.facts["seconds"] for one in kept),
    }
    whole.save(STAGE, Kept(state.to_tensors(), facts))
