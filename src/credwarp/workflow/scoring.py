"""A finished run against a truth that is known: how far off, how often inside its own intervals."""

from dataclasses import dataclass

import numpy as np
import torch

from credwarp.fields import to_millimetres
from credwarp.register import Run
from credwarp.shapes import Mask
from credwarp.space import Mapping

NOMINAL = (0.5, 0.9, 0.95)
MOST_DRAWS = 400


@dataclass(frozen=True)
class Score:
    """Mean distances from the truth in mm, before and after; how often intervals of each content hold it.

    `ratio` is the root mean square of the mean's errors in posterior standard deviations: 1 where these are
    right, nothing (NaN) of a single draw.
    """

    before: float
    after: float
    ratio: float
    nominal: tuple[float, ...]
    coverage: tuple[float, ...]


def score(run: Run, truth: Mapping, where: Mask) -> Score:
    """The map of points of fixed to points of moving that is `truth`, at the voxels of `where`.

    Intervals lie between quantiles of the draws, a component of the displacement at a time.
    """
    pair = run.pair
    points = pair.grid.points()[np.asarray(where)]
    known = pair.initial.inverse()(truth(points)) - points
    draws = [
        to_millimetres(field[0], pair.grid)[:, where].to(torch.float32)
        for field in run.displacements(min(run.total, MOST_DRAWS))
    ]
    values = torch.stack(draws)
    true = torch.from_numpy(known.T.copy()).to(torch.float32)
    error = values.mean(dim=0) - true
    away = torch.linalg.vector_norm(error, dim=0)
    held = [_inside(values, true, content) for content in NOMINAL] if len(draws) > 1 else []
    return Score(
        before=float(np.linalg.norm(known, axis=1).mean()),
        after=float(away.mean()),
        ratio=float((error / values.std(dim=0)).square().mean().sqrt()) if len(draws) > 1 else float("nan"),
        nominal=NOMINAL[: len(held)],
        coverage=tuple(held),
    )


def _inside(values: torch.Tensor, true: torch.Tensor, content: float) -> float:
    tails = torch.tensor([(1 - content) / 2, (1 + content) / 2])
    count, low, high = 0, *tails.tolist()
    for part, aim in zip(values.split(50_000, dim=2), true.split(50_000, dim=1), strict=True):
        bounds = torch.quantile(part, torch.tensor([low, high]), dim=0)
        count += int(((aim >= bounds[0]) & (aim <= bounds[1])).sum())
    return count / true.numel()
