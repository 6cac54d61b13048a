"""A volume: one number per voxel of a grid."""

from dataclasses import dataclass

import torch
from torch import Tensor

from credwarp.errors import InputError
from credwarp.space.grid import Grid


@dataclass(frozen=True, eq=False)
class Volume:
    """An image (float32), labels (an integer type) or a mask (bool) on a grid; `name` is for messages."""

    grid: Grid
    data: Tensor
    name: str = "volume"

    def __post_init__(self) -> None:
        if tuple(self.data.shape) != self.grid.shape:
            raise InputError(
                f"{self.name} has {tuple(self.data.shape)} voxels but its grid has {self.grid.shape}; "
                "give both the same three sides."
            )

    @property
    def labels(self) -> tuple[int, ...]:
        """The labels present, background 0 left out."""
        return tuple(int(label) for label in torch.unique(self.data) if label != 0)

    def with_data(self, data: Tensor) -> "Volume":
        """Other numbers on the same grid."""
        return Volume(self.grid, data, self.name)
