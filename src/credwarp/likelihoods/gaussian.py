"""The sum of squared differences with a noise level that is found from the images."""

from dataclasses import dataclass
from typing import Annotated, Literal

import torch
from annotated_types import Gt, Le

from credwarp.likelihoods.comparison import Comparison, compare
from credwarp.likelihoods.noise import Noise
from credwarp.shapes import Images
from credwarp.space import Pair


@dataclass(frozen=True)
class Gaussian:
    """E_data = α Σ_i (β r_i² − log β)/2, r the difference of the images, β unknown.

    For images of the same contrast; both are divided by the fixed image's standard deviation in its mask.
    """

    kind: Literal["gaussian"] = "gaussian"
    precision_location: float = 0.0
    precision_scale: Annotated[float, Gt(0)] = 2.3
    precision_bound: Annotated[float, Gt(0)] = 1e6
    alpha: Literal["decimation"] | Annotated[float, Gt(0), Le(1)] = "decimation"

    def bind(self, pair: Pair) -> Comparison:
        """The likelihood of a pair."""
        sd = float(torch.std(pair.fixed[pair.fixed_mask])) or 1.0
        scaled = Pair(
            pair.grid, pair.fixed / sd, pair.moving / sd, pair.fixed_mask, pair.moving_mask, pair.initial
        )
        alpha = None if self.alpha == "decimation" else self.alpha
        noise = Noise(1, self.precision_location, self.precision_scale, 1.0, self.precision_bound, alpha)
        return compare(scaled, intensities, noise)


def intensities(image: Images) -> Images:
    """The image as it is."""
    return image
