"""The law a network predicts: independent normals, one per component and voxel of the velocity."""

from dataclasses import dataclass

import torch
from torch import Tensor

from credwarp.shapes import Parameters


@dataclass(frozen=True, eq=False)
class MeanField:
    """q(w) = N(μ, diag σ²) for each pair of images, w a velocity in voxels of the data."""

    mean: Parameters
    log_variance: Parameters

    @property
    def sd(self) -> Parameters:
        """σ."""
        return torch.exp(self.log_variance / 2)

    def reparametrised(self, noise: Parameters) -> Parameters:
        """μ + σ ε: a draw where ε is standard normal, differentiable in μ and σ."""
        return self.mean + self.sd * noise

    def entropy_rate(self) -> Tensor:
        """The part of the entropy that depends on the law: Σ ½ log σ², in float64."""
        return 0.5 * self.log_variance.sum(dim=(1, 2, 3, 4), dtype=torch.float64)
