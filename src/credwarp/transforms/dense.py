"""A velocity at every voxel, or at every second one: the paper's non-parametric transform."""

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge, Le

from credwarp.space import Grid
from credwarp.transforms import interpolation
from credwarp.transforms.svf import BEFORE_TUNING, FINEST, Svf, axis_factors, regular


@dataclass(frozen=True)
class DenseSvf:
    """One velocity vector per integration voxel, which is `coarsening` data voxels wide.

    Twelve squarings and a coarsening of 1 are the paper's; `auto` is the fewest with ≤ 0.02 voxel of error.
    """

    kind: Literal["dense"] = "dense"
    coarsening: Annotated[int, Ge(1), Le(8)] = 2
    squarings: Literal["auto"] | Annotated[int, Ge(0), Le(FINEST)] = "auto"

    def bind(self, grid: Grid) -> Svf:
        """The transform on a grid."""
        factors = axis_factors(grid, self.coarsening)
        upsampling = [interpolation.cubic(n, f) for n, f in zip(grid.shape, factors, strict=True)]
        return Svf(
            grid=grid,
            parameters=grid.with_spacing([h * f for h, f in zip(grid.spacing, factors, strict=True)]),
            factors=factors,
            expansion=(),
            upsampling=regular(upsampling),
            shares=tuple(interpolation.nearest(n, f) for n, f in zip(grid.shape, factors, strict=True)),
            squarings=BEFORE_TUNING if self.squarings == "auto" else self.squarings,
            tunable=self.squarings == "auto",
        )
