"""The default: a proper Gaussian on derivatives of any order, smooth enough for draws to be diffeomorphic."""

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge, Gt, Le

from credwarp.priors.energy import PAPER_VOXEL, Energy
from credwarp.priors.strength import FixedStrength
from credwarp.space import Grid


@dataclass(frozen=True)
class SobolevEnergy:
    """log p(w) = ν/2 log λ − λ/2 wᵀ(κ² − Δ)^s w.

    In three dimensions draws are continuous only for s ≥ 2; κ > 0 makes translations cost something, so that
    the prior is proper. λ and κ are in lengths of `unit` millimetres and mean the same on any grid.
    """

    kind: Literal["sobolev"] = "sobolev"
    order: Annotated[int, Ge(1), Le(4)] = 2
    kappa: Annotated[float, Gt(0)] = 0.1
    strength: Annotated[float, Gt(0)] = 1.0
    unit: Annotated[float, Gt(0)] = PAPER_VOXEL

    def bind(self, parameters: Grid, data: Grid) -> FixedStrength:
        """The prior on a grid of parameters that are in voxels of the data's."""
        energy = Energy.on(parameters, data, self.unit, self.order, self.kappa)
        return FixedStrength(energy, self.strength)
