"""How probable a velocity is before any image is seen: one file per prior."""

from typing import Annotated, Protocol, TypeAlias, runtime_checkable

from pydantic import Field

from credwarp.priors.energy import Energy
from credwarp.priors.gamma import GammaStrength
from credwarp.priors.gaussian import GaussianEnergy
from credwarp.priors.lognormal import LogNormalEnergy
from credwarp.priors.sobolev import SobolevEnergy
from credwarp.shapes import Hyper, Parameters, PerChain
from credwarp.space import Grid

Prior: TypeAlias = Annotated[
    SobolevEnergy | GaussianEnergy | GammaStrength | LogNormalEnergy, Field(discriminator="kind")
]


@runtime_checkable
class BoundPrior(Protocol):
    """A prior on a grid of parameters."""

    @property
    def energy(self) -> Energy:
        """χ²."""

    def init(self, chains: int) -> Hyper:
        """What the prior does not know of itself, per chain, before any image."""

    def log_prob(self, w: Parameters, hyper: Hyper) -> PerChain:
        """The density of the velocity."""

    def hyper_log_prob(self, hyper: Hyper) -> PerChain:
        """The density of what is unknown of the prior."""

    def fit(self, energy: PerChain, hyper: Hyper) -> Hyper:
        """The most probable hyperparameters given χ²."""

    def expected_energy(self, hyper: Hyper) -> PerChain:
        """A typical χ² of the prior's draws."""

    def strength(self, energy: PerChain, hyper: Hyper) -> PerChain:
        """λ in ∇ log p(w) = −λ ∇χ²/2."""


@runtime_checkable
class Regularisation(Protocol):
    """What a member of the room offers: a prior, once it knows the parameters' grid and the data's."""

    def bind(self, parameters: Grid, data: Grid) -> BoundPrior:
        """The prior on a grid."""


__all__ = [
    "BoundPrior",
    "Energy",
    "GammaStrength",
    "GaussianEnergy",
    "LogNormalEnergy",
    "Prior",
    "Regularisation",
    "SobolevEnergy",
]
