"""Draws of velocity parameters, wherever they are kept."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor

from credwarp.shapes import Parameters


@runtime_checkable
class Drawn(Protocol):
    """Draws of velocity parameters, wherever they are kept."""

    @property
    def chains(self) -> int:
        """How many chains."""

    @property
    def draws(self) -> int:
        """How many draws of each chain."""

    def parameters(self, chain: int, draw: int) -> Parameters:
        """One of them: 1 × 3 × i × j × k, float32."""


@dataclass(frozen=True, eq=False)
class Held:
    """Draws in memory."""

    values: Float[Tensor, "chains draws 3 i j k"]

    @property
    def chains(self) -> int:
        """How many chains."""
        return self.values.shape[0]

    @property
    def draws(self) -> int:
        """How many draws of each chain."""
        return self.values.shape[1]

    def parameters(self, chain: int, draw: int) -> Parameters:
        """One of them."""
        return self.values[chain, draw][None].to(torch.float32)
