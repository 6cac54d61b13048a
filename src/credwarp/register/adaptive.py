"""A target whose hyperparameters follow the draws by stochastic approximation: the paper's SAEM."""

from dataclasses import dataclass, replace
from typing import TypeAlias

import torch
from torch import Tensor

from credwarp.posterior import Hypers
from credwarp.register.curvature import Spectrum, VoxelBlocks
from credwarp.register.smoothed import SmoothedTarget
from credwarp.register.target import VelocityTarget
from credwarp.samplers import Saem, StochasticAverage
from credwarp.samplers.precondition import Block, Diagonal
from credwarp.samplers.target import Evaluation
from credwarp.shapes import Parameters, Positions

Still: TypeAlias = VelocityTarget | SmoothedTarget


@dataclass(frozen=True, eq=False)
class Following:
    """Statistics of the residuals, α and χ², averaged over draws with decaying steps, then maximised.

    The average runs over all chains too, so that they go on sharing one law.
    """

    still: VelocityTarget | SmoothedTarget
    average: StochasticAverage

    @classmethod
    def of(cls, still: Still, saem: Saem) -> "Following":
        """Before any draw."""
        return cls(still, StochasticAverage(torch.zeros(0), saem.decay))

    @property
    def dimension(self) -> int:
        """How many coordinates."""
        return self.still.dimension

    def parameters(self, position: Positions) -> Parameters:
        """The velocity parameters of each chain."""
        return self.still.parameters(position)

    def evaluate(self, position: Positions) -> Evaluation:
        """The log-density and its gradient."""
        return self.still.evaluate(position)

    def adapted(self, position: Positions, step: int) -> "Following":
        """After one update from these draws."""
        seen = self._observe(position)
        empty = self.average.value.numel() == 0
        average = replace(self.average, value=seen) if empty else self.average
        average = average.updated(seen)
        hyper = self._maximised(average.value)
        return Following(replace(self.still, hyper=hyper), average)

    @property
    def prior(self) -> Spectrum:
        """The still target's."""
        return self._curved.prior

    def curvature(self, position: Positions) -> VoxelBlocks:
        """The still target's."""
        return self._curved.curvature(position)

    def rough(self, curvature: VoxelBlocks) -> Diagonal:
        """The still target's."""
        return self._curved.rough(curvature)

    def block(self, curvature: VoxelBlocks, size: int) -> Block:
        """The still target's."""
        return self._curved.block(curvature, size)

    @property
    def _curved(self) -> VelocityTarget:
        assert isinstance(self.still, VelocityTarget)
        return self.still

    @torch.no_grad()
    def _observe(self, position: Positions) -> Tensor:
        """Counts and squares of each component, α and χ², averaged over the chains."""
        posterior, w = self.still.posterior, self.parameters(position)
        hyper = self.still.hyper.shared(len(position)).likelihood
        residual = posterior.likelihood.residual(posterior.transform.displacement(w))
        counts, squares = posterior.likelihood.statistics(residual, hyper)
        alpha = posterior.likelihood.noise.decimate(residual, posterior.likelihood.weight)
        energy = posterior.prior.energy(w)
        return torch.cat([counts, squares, alpha[:, None], energy[:, None]], dim=1).mean(dim=0)

    def _maximised(self, average: Tensor) -> Hypers:
        posterior, hyper = self.still.posterior, self.still.hyper.chain(0)
        components = hyper.likelihood["log_precision"].shape[1]
        counts, squares, alpha, energy = average.split([components, components, 1, 1])
        before = {**hyper.likelihood, "alpha": alpha}
        return Hypers(
            posterior.likelihood.maximise(counts[None], squares[None], before),
            posterior.prior.fit(energy, hyper.prior),
        )
