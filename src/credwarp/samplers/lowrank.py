"""A normal law whose covariance is a diagonal plus a few outer products."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from credwarp.samplers.precondition import Diagonal
from credwarp.samplers.randomness import Randomness
from credwarp.shapes import Positions, Vector


@dataclass(frozen=True, eq=False)
class LowRankNormal:
    """N(μ, Σ), Σ = diag σ² + U Uᵀ (U has a row per rank here), solved through C = 1 + Uᵀ diag(σ⁻²) U."""

    mean: Vector
    log_variance: Vector
    factor: Float[Tensor, "rank dimension"]

    @property
    def preconditioner(self) -> Diagonal:
        """The paper's A = diag σ²."""
        return Diagonal(torch.exp(self.log_variance))

    @property
    def variances(self) -> Vector:
        """The diagonal of Σ."""
        return torch.exp(self.log_variance) + self.factor.square().sum(dim=0)

    @property
    def entropy(self) -> float:
        """½ log det 2πeΣ; the determinant by the matrix determinant lemma (appendix B)."""
        log_det = self.log_variance.sum(dtype=torch.float64) + torch.logdet(self._capacitance())
        return float(0.5 * (log_det + len(self.mean) * math.log(2 * math.pi * math.e)))

    def deviation(self, white: Float[Tensor, "rows whites"]) -> Positions:
        """Diag(σ) ε + U x, where a row of `white` is ε followed by x."""
        diagonal, shared = white[:, : len(self.mean)], white[:, len(self.mean) :]
        return diagonal * torch.exp(self.log_variance / 2) + shared @ self.factor

    def draw(self, randomness: Randomness) -> tuple[Positions, Randomness]:
        """A draw for each stream."""
        white, randomness = randomness.normals(len(self.mean) + len(self.factor), self.mean)
        return self.mean + self.deviation(white), randomness

    def entropy_gradient(self) -> tuple[Vector, Float[Tensor, "rank dimension"]]:
        """Of the entropy: ½ σ² (Σ⁻¹)ᵢᵢ in log σ², and Σ⁻¹ U in U, by Woodbury's identity."""
        scaled = self.factor * torch.exp(-self.log_variance)
        solved = torch.linalg.solve(self._capacitance().to(scaled.dtype), scaled)
        # Σ⁻¹ = D⁻¹ − D⁻¹U C⁻¹ UᵀD⁻¹, hence Σ⁻¹U = D⁻¹U C⁻¹.
        return 0.5 * (1 - (self.factor * solved).sum(dim=0)), solved

    def log_prob(self, position: Positions) -> Float[Tensor, " chains"]:
        """The log-density, normalised, in float64."""
        away = (position - self.mean).to(torch.float64)
        precision = torch.exp(-self.log_variance).to(torch.float64)
        shared = (away * precision) @ self.factor.to(torch.float64).T
        solved: Tensor = torch.linalg.solve(self._capacitance(), shared.T)
        quadratic = (away.square() * precision).sum(dim=1) - (shared * solved.T).sum(dim=1)
        return 0.5 * (len(self.mean) - quadratic) - self.entropy

    def _capacitance(self) -> Float[Tensor, "rank rank"]:
        factor = self.factor.to(torch.float64)
        scaled = factor * torch.exp(-self.log_variance.to(torch.float64))
        return torch.eye(len(factor), dtype=torch.float64, device=factor.device) + scaled @ factor.T
