"""Runs in memory: a small pair and smooth random draws round nothing."""

import torch

from credwarp.plan import Plan
from credwarp.register import Held, Run
from credwarp.space import Pair
from pairs import smooth_noise


def smooth_run(pair: Pair, chains=2, draws=6, size=1.0, seed=5) -> Run:
    """Draws whose velocity has components of about `size` voxels, about four voxels smooth."""
    plan = Plan()
    transform = plan.transform.bind(pair.grid)
    shape = (chains, draws, 3, *transform.parameters.shape)
    values = torch.stack(
        [smooth_noise(shape[1:], 2.0, seed + chain, torch.float32) for chain in range(chains)]
    )
    return Run(pair, plan, transform.tuned(size * values[0, :1]), Held(size * values))
