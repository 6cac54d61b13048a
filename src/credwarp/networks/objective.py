"""What a network is trained to minimise: the negative evidence bound of its law, for each pair."""

from dataclasses import dataclass

import torch

from credwarp import kernels
from credwarp.networks.meanfield import MeanField
from credwarp.networks.similarity import LocalCorrelation, Similarity
from credwarp.networks.smoothness import Smoothness
from credwarp.shapes import Images, Parameters, PerChain
from credwarp.transforms import Svf


@dataclass(frozen=True, eq=False)
class Loss:
    """Its two parts for each pair, in float64: −E_q log p(F | M ∘ φ) at a draw, and KL(q ‖ p)."""

    data: PerChain
    divergence: PerChain

    @property
    def total(self) -> PerChain:
        """Both."""
        return self.data + self.divergence


@dataclass(frozen=True)
class Objective:
    """E_q[−log p(F | M ∘ φ(w))] + KL(q ‖ p), the expectation at one draw (Dalca et al. 2018)."""

    similarity: Similarity = LocalCorrelation()
    smoothness: Smoothness = Smoothness()

    def loss(self, images: Images, law: MeanField, noise: Parameters, transform: Svf) -> Loss:
        """For pairs of images, the fixed one first, and the law of the velocity of each."""
        displacement = transform.displacement(law.reparametrised(noise))
        # A kernel's image is the same for all its chains; here each pair has its own.
        warped = torch.cat(
            [kernels.warp(image[1:], field[None]) for image, field in zip(images, displacement, strict=True)]
        )
        data = self.similarity.energy(images[:, :1].contiguous(), warped)
        return Loss(data, self.smoothness.divergence(law))
