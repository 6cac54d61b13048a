"""The posterior as samplers see it: a density on flat vectors of cosine coefficients."""

import math
from dataclasses import dataclass, replace

import torch

from credwarp.posterior import Hypers, Posterior
from credwarp.register.curvature import Spectrum, VoxelBlocks, block_metric, diagonal_metric
from credwarp.samplers.precondition import Block, Diagonal
from credwarp.samplers.target import Evaluation
from credwarp.shapes import Parameters, Positions
from credwarp.spectral import dct, idct


@dataclass(frozen=True, eq=False)
class VelocityTarget:
    """log p(w | images) at w = Cᵀ x, C the orthonormal cosine transform; hyperparameters stay as they are."""

    posterior: Posterior
    hyper: Hypers

    @property
    def dimension(self) -> int:
        """How many coefficients."""
        return 3 * math.prod(self.posterior.transform.parameters.shape)

    def parameters(self, position: Positions) -> Parameters:
        """The velocity parameters of each chain."""
        return idct(position.reshape(-1, 3, *self.posterior.transform.parameters.shape))

    def position(self, w: Parameters) -> Positions:
        """Their coefficients."""
        return dct(w).flatten(1)

    def evaluate(self, position: Positions) -> Evaluation:
        """The log-density and its gradient."""
        terms, slope = self.posterior.gradient(self.parameters(position), self.hyper.shared(len(position)))
        return Evaluation(terms.log_density, dct(slope).flatten(1))

    @property
    def prior(self) -> Spectrum:
        """Q at the strength of the first chain where χ² is what the prior expects."""
        energy = self.posterior.prior.energy
        bound = self.posterior.prior
        strength = bound.strength(bound.expected_energy(self.hyper.prior), self.hyper.prior)[0]
        return Spectrum((strength * energy.eigenvalues()).flatten())

    def curvature(self, position: Positions) -> VoxelBlocks:
        """H: the voxels' Gauss–Newton blocks gathered at the parameters, averaged over the positions."""
        with torch.no_grad():
            likelihood, svf = self.posterior.likelihood, self.posterior.transform
            hyper = self.hyper.shared(1).likelihood
            total = [
                svf.gathered(likelihood.information(svf.displacement(self.parameters(one[None])), hyper))[0]
                for one in position
            ]
            return VoxelBlocks(torch.stack(total).mean(dim=0))

    def rough(self, curvature: VoxelBlocks) -> Diagonal:
        """(Q + c)⁻¹."""
        return diagonal_metric(self.prior, curvature)

    def block(self, curvature: VoxelBlocks, size: int) -> Block:
        """(Q + H)⁻¹ on about `size` of the lowest frequencies, the same share of each axis's."""
        shape = self.posterior.transform.parameters.shape
        share = min(1.0, (size / self.dimension)) ** (1 / 3)
        x, y, z = (max(1, round(share * n)) for n in shape)
        return block_metric(self.prior, curvature, (x, y, z))

    def fitted(self, position: Positions, iterations: int) -> "VelocityTarget":
        """With the hyperparameters most probable at these positions."""
        w = self.parameters(position)
        return replace(self, hyper=self.posterior.fit(w, self.hyper.shared(len(position)), iterations))

    def averaged(self, position: Positions, iterations: int) -> "VelocityTarget":
        """With the mixture most probable on average over draws; at one optimum residuals seem too small.

        α and the strength stay: a draw's own misalignment would make residuals seem smoother than the noise.
        """
        likelihood, svf = self.posterior.likelihood, self.posterior.transform
        first = self.hyper.chain(0)
        with torch.no_grad():
            residuals = [
                likelihood.residual(svf.displacement(self.parameters(one[None]))) for one in position
            ]
            noise = first.likelihood
            for _ in range(iterations):
                seen = [likelihood.statistics(residual, noise) for residual in residuals]
                counts, squares = (torch.stack(part).mean(dim=0) for part in zip(*seen, strict=True))
                noise = likelihood.maximise(counts, squares, noise)
        return replace(self, hyper=Hypers(noise, first.prior))

    @torch.no_grad()
    def explained(self, position: Positions) -> float:
        """How alike the features of fixed and warped image are where voxels count: 1 the same, 0 unrelated.

        Twice their covariance by the sum of their variances (Lin's concordance), of one position.
        """
        likelihood, svf = self.posterior.likelihood, self.posterior.transform
        weight = likelihood.weight / likelihood.weight.sum()
        fixed = likelihood.fixed
        warped = fixed - likelihood.residual(svf.displacement(self.parameters(position)))[0]
        fixed, warped = (f - (weight * f).sum(dim=(1, 2, 3), keepdim=True) for f in (fixed, warped))
        spread = (weight * (fixed.square() + warped.square())).sum()
        return float(2 * (weight * fixed * warped).sum() / spread.clamp(min=1e-12))
