"""How probable the fixed image is, given the moving one through a warp: one file per similarity."""

from typing import Annotated, Protocol, TypeAlias, runtime_checkable

from pydantic import Field

from credwarp.likelihoods.comparison import Comparison
from credwarp.likelihoods.gaussian import Gaussian
from credwarp.likelihoods.mind import Mind
from credwarp.likelihoods.mixture import Mixture
from credwarp.space import Pair

Likelihood: TypeAlias = Annotated[Mixture | Gaussian | Mind, Field(discriminator="kind")]


@runtime_checkable
class Similarity(Protocol):
    """What a member of the room offers: a comparison, once it knows the pair."""

    def bind(self, pair: Pair) -> Comparison:
        """The likelihood of a pair."""


__all__ = ["Comparison", "Gaussian", "Likelihood", "Mind", "Mixture", "Similarity"]
