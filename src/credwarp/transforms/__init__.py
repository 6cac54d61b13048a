"""From parameters to a velocity to a displacement: one file per parametrisation."""

from typing import Annotated, Protocol, TypeAlias, runtime_checkable

from pydantic import Field

from credwarp.space import Grid
from credwarp.transforms.bspline import BsplineSvf
from credwarp.transforms.dense import DenseSvf
from credwarp.transforms.svf import Svf

Transform: TypeAlias = Annotated[DenseSvf | BsplineSvf, Field(discriminator="kind")]


@runtime_checkable
class Parametrisation(Protocol):
    """What a member of the room offers: a transform, once it knows the grid of the data."""

    def bind(self, grid: Grid) -> Svf:
        """The transform on a grid."""


__all__ = ["BsplineSvf", "DenseSvf", "Parametrisation", "Svf", "Transform"]
