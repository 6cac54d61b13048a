"""The shapes of tensors, by name: chains first, then components, then voxels."""

from typing import TypeAlias

import numpy as np
from jaxtyping import Bool, Float, Int
from torch import Tensor

Image: TypeAlias = Float[Tensor, "x y z"]
Labels: TypeAlias = Int[Tensor, "x y z"]
Mask: TypeAlias = Bool[Tensor, "x y z"]
Channels: TypeAlias = Float[Tensor, "channels x y z"]
Field: TypeAlias = Float[Tensor, "3 x y z"]

Images: TypeAlias = Float[Tensor, "chains channels x y z"]
Fields: TypeAlias = Float[Tensor, "chains 3 x y z"]
Scalars: TypeAlias = Float[Tensor, "chains x y z"]
Weight: TypeAlias = Float[Tensor, "#chains x y z"]
Features: TypeAlias = Float[Tensor, "chains features x y z"]
Parameters: TypeAlias = Float[Tensor, "chains 3 i j k"]
PerChain: TypeAlias = Float[Tensor, " chains"]
PerComponent: TypeAlias = Float[Tensor, "chains components"]

Positions: TypeAlias = Float[Tensor, "chains dimension"]
Noises: TypeAlias = Float[Tensor, "chains noises"]
Vector: TypeAlias = Float[Tensor, " dimension"]
Draws: TypeAlias = Float[Tensor, "chains draws *components"]
PerDrawn: TypeAlias = Float[Tensor, "*components"]

Points: TypeAlias = Float[np.ndarray, "*many 3"]

Hyper: TypeAlias = dict[str, Tensor]
"""Named hyperparameters, the chain's axis first."""
