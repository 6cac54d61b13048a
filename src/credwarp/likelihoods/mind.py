"""For pairs of different modalities: self-similarities of each image, compared under the same mixture."""

import itertools
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal

import torch
from annotated_types import Ge, Gt, Le
from torch import Tensor

from credwarp import kernels
from credwarp.likelihoods.comparison import Comparison, compare
from credwarp.likelihoods.noise import Noise
from credwarp.shapes import Features, Images
from credwarp.space import Pair

# Neighbours at right angles to each other: the twelve edges of an octahedron (Heinrich et al. 2013).
_NEIGHBOURS = [tuple(s * int(a == b) for b in range(3)) for a in range(3) for s in (1, -1)]
EDGES = [
    (p, q)
    for p, q in itertools.combinations(_NEIGHBOURS, 2)
    if sum(a * b for a, b in zip(p, q, strict=True)) == 0
]


@dataclass(frozen=True)
class Mind:
    """MIND-SSC: exp(−D/V) for twelve pairs of neighbours, D the distance of their patches, V its mean."""

    kind: Literal["mind"] = "mind"
    reach: Annotated[int, Ge(1), Le(4)] = 2
    window: Literal[3, 5, 7] = 3
    components: Annotated[int, Ge(1), Le(16)] = 4
    precision_location: float = 0.0
    precision_scale: Annotated[float, Gt(0)] = 2.3
    concentration: Annotated[float, Gt(0)] = 0.5
    precision_bound: Annotated[float, Gt(0)] = 1e3
    alpha: Literal["decimation"] | Annotated[float, Gt(0), Le(1)] = "decimation"

    def bind(self, pair: Pair) -> Comparison:
        """The likelihood of a pair."""
        noise = Noise(
            self.components, self.precision_location, self.precision_scale, self.concentration,
            self.precision_bound, None if self.alpha == "decimation" else self.alpha,
        )  # fmt: skip
        return compare(pair, partial(self_similarity, reach=self.reach, radius=self.window // 2), noise)


def self_similarity(image: Images, reach: int, radius: int) -> Features:
    """The twelve channels of MIND-SSC of a one-channel image, in [0, 1]."""
    channels = [
        kernels.local_mean((_shifted(image, p, reach) - _shifted(image, q, reach)) ** 2, radius)
        for p, q in EDGES
    ]
    distance = torch.cat(channels, dim=1)
    distance = distance - distance.amin(dim=1, keepdim=True)
    variance = distance.mean(dim=1, keepdim=True)
    typical = variance.mean(dim=(2, 3, 4), keepdim=True).detach()
    return torch.exp(-distance / variance.clamp(min=1e-3 * typical + 1e-12))


def _shifted(image: Tensor, direction: tuple[int, ...], reach: int) -> Tensor:
    """The neighbour's value at each voxel; the edge voxel repeats beyond the border."""
    for axis, sign in zip((-3, -2, -1), direction, strict=True):
        if sign:
            sides = image.shape[axis]
            index = (torch.arange(sides, device=image.device) + sign * reach).clamp(0, sides - 1)
            image = image.index_select(axis, index)
    return image
