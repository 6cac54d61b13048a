"""The paper's fixed regularisation: a Gaussian on the velocity's gradient with a strength that is given."""

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Gt

from credwarp.priors.energy import PAPER_VOXEL, Energy
from credwarp.priors.strength import FixedStrength
from credwarp.space import Grid


@dataclass(frozen=True)
class GaussianEnergy:
    """log p(w) = ν/2 log λ − λ/2 ‖∇w‖² (eq. L2_reg). Improper: translations cost nothing."""

    kind: Literal["gaussian"] = "gaussian"
    strength: Annotated[float, Gt(0)] = 1.2
    unit: Annotated[float, Gt(0)] = PAPER_VOXEL

    def bind(self, parameters: Grid, data: Grid) -> FixedStrength:
        """The prior on a grid of parameters that are in voxels of the data's."""
        energy = Energy.on(parameters, data, self.unit, order=1, kappa=0.0)
        return FixedStrength(energy, self.strength)
