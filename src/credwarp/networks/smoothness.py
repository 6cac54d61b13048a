"""The prior of a network's velocities: a graph Laplacian, as in the probabilistic VoxelMorph."""

from dataclasses import dataclass
from typing import Annotated

import torch
from annotated_types import Gt
from torch import Tensor

from credwarp import kernels
from credwarp.networks.meanfield import MeanField
from credwarp.shapes import Parameters, PerChain
from credwarp.spectral import laplacian_eigenvalues

UNIT = (1.0, 1.0, 1.0)


@dataclass(frozen=True)
class Smoothness:
    """p(w) = N(0, Λ⁻¹), Λ = λ (D − A + κ²), D the degrees and A the adjacency of the velocity's voxels.

    λ = `strength` (the paper's λ_VXM), the velocity in voxels of the data (Dalca et al. 2018). κ > 0 makes
    the law proper, so that the divergence from it is a number and not one up to an infinite constant.
    """

    strength: Annotated[float, Gt(0)] = 10.0
    kappa: Annotated[float, Gt(0)] = 0.02

    def energy(self, w: Parameters) -> PerChain:
        """wᵀ Λ w, in float64."""
        product = w * kernels.helmholtz(w, self.kappa, UNIT)
        return self.strength * product.sum(dim=(1, 2, 3, 4), dtype=torch.float64)

    def divergence(self, law: MeanField) -> PerChain:
        """KL(q ‖ p) = ½ (tr ΛΣ + μᵀΛμ − n − log |Λ| − log |Σ|)."""
        shape = (law.mean.shape[2], law.mean.shape[3], law.mean.shape[4])
        diagonal = self.strength * (_degrees(shape).to(law.mean) + self.kappa**2)
        spread = torch.exp(law.log_variance) * diagonal
        trace = spread.sum(dim=(1, 2, 3, 4), dtype=torch.float64)
        dimension = law.mean[0].numel()
        entropy = law.entropy_rate()
        return 0.5 * (trace + self.energy(law.mean) - dimension - self._log_det(shape)) - entropy

    def _log_det(self, shape: tuple[int, int, int]) -> float:
        values = self.strength * (laplacian_eigenvalues(shape, UNIT) + self.kappa**2)
        return 3 * float(values.log().sum())


def _degrees(shape: tuple[int, int, int]) -> Tensor:
    """How many neighbours each voxel has."""
    total = torch.zeros(shape, dtype=torch.float64)
    for axis, n in enumerate(shape):
        along = torch.full((n,), 2.0, dtype=torch.float64)
        along[0] -= 1
        along[-1] -= 1
        total += along.view([-1 if a == axis else 1 for a in range(3)])
    return total
