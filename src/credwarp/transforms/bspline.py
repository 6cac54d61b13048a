"""A velocity spanned by cubic B-splines on a grid of control points (Modat et al. 2012)."""

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge, Le

from credwarp.space import Grid
from credwarp.transforms import interpolation
from credwarp.transforms.svf import BEFORE_TUNING, FINEST, Svf, axis_factors, regular

Spacing = Annotated[float, Ge(1)]


@dataclass(frozen=True)
class BsplineSvf:
    """v(x) = Σ_k w_k B(x/δ − k), cubic; control points every δ = `spacing` voxels, the same or one an axis.

    The flow is integrated on every `coarsening`-th voxel; 1 is the paper's.
    """

    kind: Literal["bspline"] = "bspline"
    spacing: Spacing | tuple[Spacing, Spacing, Spacing] = 2.0
    coarsening: Annotated[int, Ge(1), Le(8)] = 2
    squarings: Literal["auto"] | Annotated[int, Ge(0), Le(FINEST)] = "auto"

    def bind(self, grid: Grid) -> Svf:
        """The transform on a grid."""
        spacing = self.spacing if isinstance(self.spacing, tuple) else (self.spacing,) * 3
        factors = axis_factors(grid, self.coarsening)
        axes = list(zip(grid.shape, spacing, factors, strict=True))
        return Svf(
            grid=grid,
            parameters=_control_grid(grid, spacing),
            factors=factors,
            expansion=tuple(interpolation.cubic_bspline(n, d, f) for n, d, f in axes),
            upsampling=regular([interpolation.cubic(n, f) for n, _, f in axes]),
            shares=tuple(interpolation.cubic_bspline(n, d, 1) for n, d, _ in axes),
            squarings=BEFORE_TUNING if self.squarings == "auto" else self.squarings,
            tunable=self.squarings == "auto",
        )


def _control_grid(grid: Grid, spacing: tuple[float, float, float]) -> Grid:
    affine = np.eye(4)
    affine[:3, :3] = grid.affine[:3, :3] * np.array(spacing)
    affine[:3, 3] = grid.to_world(-np.array(spacing))
    x, y, z = (interpolation.controls(n, d) for n, d in zip(grid.shape, spacing, strict=True))
    return Grid((x, y, z), affine)
