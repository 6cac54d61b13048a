"""A stationary velocity on a grid of its own, integrated there and brought to the data's grid."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from credwarp import fields, kernels
from credwarp.shapes import Fields, Parameters
from credwarp.space import Grid

TOLERANCE = 0.02
FINEST = 12
# What `auto` takes until velocities are known.
BEFORE_TUNING = 7


@dataclass(frozen=True, eq=False)
class Svf:
    """φ = exp(v): parameters → velocity on the integration grid → displacement on the data's grid.

    Parameters and displacements are in voxels of `grid`. `expansion` takes parameters to the integration grid
    (nothing: they are its velocity), `upsampling` takes the integration grid to the data's (nothing: they are
    the same); each is a matrix per axis. An integration voxel is `factors` data voxels long.
    Only where it is `tunable` do velocities decide how many squarings there are.
    `shares` divide each data voxel among the parameters near it, without a negative share.
    """

    grid: Grid
    parameters: Grid
    factors: tuple[int, int, int]
    expansion: tuple[Tensor, ...]
    upsampling: tuple[Tensor, ...]
    squarings: int
    tunable: bool
    shares: tuple[Tensor, ...]

    def velocity(self, w: Parameters) -> Fields:
        """The velocity on the integration grid, in that grid's voxels."""
        field = kernels.expand(w, self.expansion) if self.expansion else w
        return field / self._lengths(w) if self.upsampling else field

    def displacement(self, w: Parameters) -> Fields:
        """φ − id on the data's grid, in its voxels: where the moving image is looked up."""
        field = fields.exponential(self.velocity(w), self.squarings)
        if not self.upsampling:
            return field
        finer: Fields = kernels.expand(field, self.upsampling) * self._lengths(w)
        return finer

    def inverse_displacement(self, w: Parameters) -> Fields:
        """φ⁻¹ − id: the flow backwards."""
        return self.displacement(-w)

    def tuned(self, w: Parameters) -> "Svf":
        """With the fewest squarings that leave ≤ 0.02 voxel of error on these parameters."""
        if not self.tunable:
            return self
        tolerance = TOLERANCE / max(self.factors)
        return replace(self, squarings=fields.squarings_needed(self.velocity(w), tolerance))

    def integration_error(self, w: Parameters) -> float:
        """The largest distance, in voxels of the data, from the same flow with 2¹² steps."""
        fine = replace(self, squarings=FINEST).displacement(w)
        return float((fine - self.displacement(w)).square().sum(1).max().sqrt())

    def gathered(self, density: Tensor) -> Tensor:
        """A density on the data's voxels, as totals per parameter; any leading axes."""
        return kernels.expand(density, [matrix.T for matrix in self.shares])

    def _lengths(self, like: Tensor) -> Tensor:
        return torch.tensor(self.factors, dtype=like.dtype, device=like.device).view(3, 1, 1, 1)


def axis_factors(grid: Grid, coarsening: int) -> tuple[int, int, int]:
    """Data voxels per integration voxel: `coarsening` on the finest axis, fewer where voxels are long."""
    finest = min(grid.spacing)
    x, y, z = (
        min(max(1, round(coarsening * finest / h)), n) for h, n in zip(grid.spacing, grid.shape, strict=True)
    )
    return x, y, z


def regular(matrices: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """The matrices, or none where they change nothing."""
    changes = [m for m in matrices if m.shape[0] != m.shape[1] or not torch.equal(m, torch.eye(len(m)).to(m))]
    return tuple(matrices) if changes else ()
