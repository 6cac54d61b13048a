"""The posterior as the paper's inference sees it: voxel values behind a Sobolev kernel."""

import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from credwarp import kernels
from credwarp.posterior import Hypers, Posterior
from credwarp.samplers.target import Evaluation
from credwarp.shapes import Parameters, Positions


@dataclass(frozen=True, eq=False)
class SmoothedTarget:
    """log p(S x | images) + log |det S|, S the separable kernel: value, gradient and noise are of one law.

    Sobolev gradients (Neuberger 1997; Slavcheva et al. 2018) with the exact adjoint, which for a symmetric
    kernel mirrored at the border is the kernel itself.
    """

    posterior: Posterior
    hyper: Hypers
    taps: tuple[float, ...]

    @property
    def dimension(self) -> int:
        """How many voxel values."""
        return 3 * math.prod(self.posterior.transform.parameters.shape)

    def parameters(self, position: Positions) -> Parameters:
        """The velocity parameters of each chain."""
        return self._smooth(position.reshape(-1, 3, *self.posterior.transform.parameters.shape))

    def evaluate(self, position: Positions) -> Evaluation:
        """The log-density, up to the constant log |det S|, and its gradient."""
        hyper = self.hyper.shared(len(position))
        terms, slope = self.posterior.gradient(self.parameters(position), hyper)
        return Evaluation(terms.log_density, self._smooth(slope).flatten(1))

    def fitted(self, position: Positions, iterations: int) -> "SmoothedTarget":
        """With the hyperparameters most probable at these positions."""
        hyper = self.hyper.shared(len(position))
        return replace(self, hyper=self.posterior.fit(self.parameters(position), hyper, iterations))

    def _smooth(self, field: Tensor) -> Tensor:
        return kernels.smooth(field, self.taps)


def sobolev_taps(width: int, smoothing: float) -> tuple[float, ...]:
    """One side of the kernel, the middle first: (1 − λΔ)⁻¹ of a unit impulse on `width` points, sum 1."""
    matrix = torch.eye(width, dtype=torch.float64) * (1 + 2 * smoothing)
    for place in range(width - 1):
        matrix[place, place + 1] = matrix[place + 1, place] = -smoothing
    middle = width // 2
    column = torch.linalg.inv(matrix)[middle]
    return tuple((column / column.sum())[middle:].tolist())
