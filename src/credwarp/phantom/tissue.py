"""What a place is made of: shares of tissues, and how they mix where one is laid over another."""

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from jaxtyping import Bool, Float, Int

from credwarp.phantom.solids import Distance


class Tissue(IntEnum):
    """Kinds of tissue that a T1-weighted image tells apart."""

    AIR = 0
    FLUID = 1
    CORTEX = 2
    WHITE = 3
    THALAMUS = 4
    STRIATUM = 5
    PALLIDUM = 6
    STEM = 7
    CEREBELLAR = 8
    ARCHICORTEX = 9


@dataclass(frozen=True, eq=False)
class Composition:
    """Shares of the tissues at some places, their labels, which of them the skull-stripped image keeps."""

    shares: Float[np.ndarray, "n tissues"]
    labels: Int[np.ndarray, " n"]
    inside: Bool[np.ndarray, " n"]
    texture: Distance


def lay(shares: np.ndarray, tissue: Tissue, amount: Distance) -> None:
    """Cover `amount` of each place with a tissue, whatever was there before."""
    shares *= (1 - amount)[:, None]
    shares[:, tissue] += amount
