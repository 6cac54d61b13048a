"""How well a network's warp explains the fixed image: squared differences, or local correlation."""

from dataclasses import dataclass
from typing import Annotated, Literal, TypeAlias

import torch
from annotated_types import Gt
from pydantic import Field

from credwarp import kernels
from credwarp.shapes import Images, PerChain


@dataclass(frozen=True)
class SquaredDifferences:
    """−log p(F | M ∘ φ) = β/2 Σ (F − M ∘ φ)²: for images of one contrast, whose tones run from 0 to 1."""

    kind: Literal["ssd"] = "ssd"
    precision: Annotated[float, Gt(0)] = 200.0

    def energy(self, fixed: Images, warped: Images) -> PerChain:
        """−log p up to a constant, in float64."""
        square = (fixed - warped).square().sum(dim=(1, 2, 3, 4), dtype=torch.float64)
        return 0.5 * self.precision * square


@dataclass(frozen=True)
class LocalCorrelation:
    """−log p(F | M ∘ φ) = β/2 Σ (F̄ − M̄)², both standardised in the window round each voxel.

    Half the mean squared difference of two standardised images is 1 − their correlation. `floor` is the
    standard deviation, in tones from 0 to 1, below which nothing counts.
    """

    kind: Literal["lcc"] = "lcc"
    precision: Annotated[float, Gt(0)] = 4.0
    window: Literal[3, 5, 7, 9] = 5
    floor: Annotated[float, Gt(0)] = 0.02

    def energy(self, fixed: Images, warped: Images) -> PerChain:
        """−log p up to a constant, in float64."""
        residual = self._standardised(fixed) - self._standardised(warped)
        square = residual.square().sum(dim=(1, 2, 3, 4), dtype=torch.float64)
        return 0.5 * self.precision * square

    def _standardised(self, image: Images) -> Images:
        standard: Images = kernels.standardise(image, self.window // 2, self.floor)
        return standard


Similarity: TypeAlias = Annotated[SquaredDifferences | LocalCorrelation, Field(discriminator="kind")]
