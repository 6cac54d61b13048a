"""The quadratic energy all priors share: what a rough velocity costs, in units that no grid changes."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from credwarp import kernels
from credwarp.shapes import Parameters, PerChain
from credwarp.space import Grid
from credwarp.spectral import laplacian_eigenvalues

PAPER_VOXEL = 1.82


@dataclass(frozen=True)
class Energy:
    """χ²(w) = Σ wᵀ(κ² − Δ)^s w · (volume of a parameter), all lengths counted in `unit` millimetres.

    On the paper's grid, voxels of 1.82 mm, with order 1 and κ = 0 it is the paper's ‖∇w‖². The same velocity
    in millimetres has the same energy on any finer grid. `lengths` is what one unit of w's components is.
    """

    shape: tuple[int, int, int]
    spacing: tuple[float, float, float]
    lengths: tuple[float, float, float]
    order: int
    kappa: float

    @classmethod
    def on(cls, parameters: Grid, data: Grid, unit: float, order: int, kappa: float) -> "Energy":
        """For parameters on one grid that are in voxels of another."""
        x, y, z = (h / unit for h in parameters.spacing)
        a, b, c = (h / unit for h in data.spacing)
        return cls(parameters.shape, (x, y, z), (a, b, c), order, kappa)

    @property
    def freedom(self) -> int:
        """ν: how many parameters there are."""
        return 3 * math.prod(self.shape)

    def __call__(self, w: Parameters) -> PerChain:
        """χ² of each chain, in float64."""
        half = w
        for _ in range(self.order // 2):
            half = kernels.helmholtz(half, self.kappa, self.spacing)
        other = kernels.helmholtz(half, self.kappa, self.spacing) if self.order % 2 else half
        product = (half * other).sum(dim=(2, 3, 4), dtype=torch.float64)
        return (product * self._weights(w)).sum(dim=1)

    def eigenvalues(self) -> Tensor:
        """The energy's curvature per component and DCT frequency: 3 × i × j × k, in float64."""
        laplacian = laplacian_eigenvalues(self.shape, self.spacing)
        weights = math.prod(self.spacing) * torch.tensor(self.lengths, dtype=torch.float64) ** 2
        return weights.view(3, 1, 1, 1) * (self.kappa**2 + laplacian) ** self.order

    def _weights(self, like: Tensor) -> Tensor:
        lengths = torch.tensor(self.lengths, dtype=torch.float64, device=like.device)
        return math.prod(self.spacing) * lengths**2
