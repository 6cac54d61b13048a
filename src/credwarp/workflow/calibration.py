"""Pairs whose true warp is known because it was drawn from the plan's own prior: how often it is covered."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float

from credwarp import kernels
from credwarp.fields import to_millimetres
from credwarp.plan import Plan
from credwarp.posterior import Posterior
from credwarp.register import register
from credwarp.register.optimise import beginning
from credwarp.register.target import VelocityTarget
from credwarp.space import Affine, Pair, Volume, Warp
from credwarp.workflow.scoring import NOMINAL, Score, score

# Registrations take seeds of their own, apart from those of the truths.
TRUTHS, NOISES = 500_009, 700_001


@dataclass(frozen=True)
class Calibration:
    """Each pair's score; how often its own intervals hold the truth of a pair, on average, and the error."""

    scores: tuple[Score, ...]

    @property
    def nominal(self) -> tuple[float, ...]:
        """What the intervals are said to hold."""
        return NOMINAL

    @property
    def coverage(self) -> Float[np.ndarray, " levels"]:
        """The average over pairs."""
        return np.asarray(self._each.mean(axis=0))

    @property
    def error(self) -> Float[np.ndarray, " levels"]:
        """The Monte-Carlo error of that average: pairs are independent, voxels of one are not."""
        if len(self.scores) < 2:
            return np.full(len(NOMINAL), np.nan)
        return np.asarray(self._each.std(axis=0, ddof=1) / len(self.scores) ** 0.5)

    @property
    def ratio(self) -> float:
        """The root mean square of the errors in posterior SDs: 1 where these are right."""
        return float(np.sqrt(np.mean([one.ratio**2 for one in self.scores])))

    @property
    def _each(self) -> Float[np.ndarray, "pairs levels"]:
        return np.array([one.coverage for one in self.scores])


def known_pair(image: Volume, plan: Plan, noise: float, seed: int) -> tuple[Pair, Warp]:
    """The image as moving, and as fixed what a draw of the prior makes of it, seen with noise.

    The noise's standard deviation is `noise` times the image's.
    """
    everywhere = torch.ones(image.grid.shape, dtype=torch.bool)
    moving = image.data.to(torch.float32)
    still = Pair(image.grid, moving, moving, everywhere, everywhere, Affine.identity())
    posterior = Posterior.of(still, plan.transform, plan.likelihood, plan.prior)
    target = VelocityTarget(posterior, posterior.init(posterior.zeros(1)))
    with torch.no_grad():
        w = beginning(target, TRUTHS + seed, start=1)
        displacement = posterior.transform.tuned(w).displacement(w)
        seen = kernels.warp(moving[None], displacement)[0, 0]
    generator = torch.Generator().manual_seed(NOISES + seed)
    white = torch.randn(seen.shape, generator=generator, dtype=seen.dtype)
    fixed = seen + noise * float(moving.std()) * white
    truth = Warp(
        image.grid, to_millimetres(displacement[0], image.grid), Affine.identity(), Affine.identity()
    )
    return Pair(image.grid, fixed, moving, everywhere, everywhere, Affine.identity()), truth


def calibrate(
    images: Iterable[Volume], plan: Plan, noise: float, watch: Callable[[int, Score], None]
) -> Calibration:
    """One pair of each image, registered by the plan; scored where voxels count."""
    scores = []
    for number, image in enumerate(images):
        pair, truth = known_pair(image, plan, noise, number)
        run = register(pair, plan.model_copy(update={"seed": plan.seed + number}))
        posterior = Posterior.of(pair, plan.transform, plan.likelihood, plan.prior)
        found = score(run, truth, posterior.likelihood.weight[0] > 0)
        watch(number, found)
        scores.append(found)
    return Calibration(tuple(scores))
