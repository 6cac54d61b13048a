"""The posterior over velocities: a transform, a likelihood and a prior on one pair."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from credwarp.likelihoods import Comparison, Likelihood
from credwarp.priors import BoundPrior, Prior
from credwarp.shapes import Hyper, Parameters, PerChain
from credwarp.space import Pair
from credwarp.transforms import Svf, Transform


@dataclass(frozen=True)
class Hypers:
    """What is not the velocity: the noise's parameters and the prior's, per chain."""

    likelihood: Hyper
    prior: Hyper

    def chain(self, index: int) -> "Hypers":
        """One chain's."""
        cut = slice(index, index + 1)
        return Hypers(
            {name: value[cut] for name, value in self.likelihood.items()},
            {name: value[cut] for name, value in self.prior.items()},
        )

    def repeated(self, chains: int) -> "Hypers":
        """The same for several chains."""
        return Hypers(
            {name: value.expand(chains, *value.shape[1:]).clone() for name, value in self.likelihood.items()},
            {name: value.expand(chains, *value.shape[1:]).clone() for name, value in self.prior.items()},
        )

    @property
    def chains(self) -> int:
        """How many chains they are for."""
        return next(iter(self.likelihood.values())).shape[0]

    def shared(self, chains: int) -> "Hypers":
        """These, or the first chain's for all where there are more or fewer chains."""
        return self if self.chains == chains else self.chain(0).repeated(chains)

    def to_tensors(self) -> dict[str, Tensor]:
        """Every value by name."""
        return {f"likelihood.{name}": value for name, value in self.likelihood.items()} | {
            f"prior.{name}": value for name, value in self.prior.items()
        }

    @classmethod
    def from_tensors(cls, tensors: dict[str, Tensor]) -> "Hypers":
        """The values that `to_tensors` was given, among others."""
        parts: dict[str, Hyper] = {"likelihood": {}, "prior": {}}
        for name, value in tensors.items():
            side, _, rest = name.partition(".")
            if side in parts:
                parts[side][rest] = value
        return cls(**parts)


@dataclass(frozen=True)
class Terms:
    """The log-density of each chain, in parts."""

    data: PerChain
    prior: PerChain
    hyper: PerChain

    @property
    def log_density(self) -> PerChain:
        """log p(fixed, w, hyperparameters), up to a constant."""
        return self.data + self.prior + self.hyper


@dataclass(frozen=True, eq=False)
class Posterior:
    """log p(w | fixed, moving) ∝ log p(fixed | moving ∘ φ(w)) + log p(w)."""

    transform: Svf
    likelihood: Comparison
    prior: BoundPrior

    @classmethod
    def of(cls, pair: Pair, transform: Transform, likelihood: Likelihood, prior: Prior) -> "Posterior":
        """The three choices, brought to a pair."""
        bound = transform.bind(pair.grid)
        return cls(bound, likelihood.bind(pair), prior.bind(bound.parameters, pair.grid))

    def zeros(self, chains: int) -> Parameters:
        """No velocity."""
        like = self.likelihood.fixed
        shape = (chains, 3, *self.transform.parameters.shape)
        return torch.zeros(shape, dtype=like.dtype, device=like.device)

    def init(self, w: Parameters) -> Hypers:
        """Hyperparameters to start from at these velocities."""
        with torch.no_grad():
            residual = self.likelihood.residual(self.transform.displacement(w))
            return Hypers(self.likelihood.init(residual), self.prior.init(w.shape[0]))

    def evaluate(self, w: Parameters, hyper: Hypers) -> Terms:
        """The terms of each chain's log-density, in float64; differentiable in w and the hyperparameters."""
        residual = self.likelihood.residual(self.transform.displacement(w))
        return Terms(
            self.likelihood.log_prob(residual, hyper.likelihood),
            self.prior.log_prob(w, hyper.prior),
            self.likelihood.hyper_log_prob(hyper.likelihood) + self.prior.hyper_log_prob(hyper.prior),
        )

    def gradient(self, w: Parameters, hyper: Hypers) -> tuple[Terms, Parameters]:
        """The terms, and the gradient of their sum in w."""
        leaf = w.detach().requires_grad_(True)
        terms = self.evaluate(leaf, hyper)
        (slope,) = torch.autograd.grad(terms.log_density.sum(), leaf)
        return Terms(terms.data.detach(), terms.prior.detach(), terms.hyper.detach()), slope

    def fit(self, w: Parameters, hyper: Hypers, iterations: int) -> Hypers:
        """Hyperparameters most probable given the velocities: mixture by EM, α measured, strength."""
        with torch.no_grad():
            residual = self.likelihood.residual(self.transform.displacement(w))
            return Hypers(
                self.likelihood.fit(residual, hyper.likelihood, iterations),
                self.prior.fit(self.prior.energy(w), hyper.prior),
            )

    def to(self, device: str | torch.device) -> "Posterior":
        """The same on another device; kernels follow the tensors."""
        return replace(self, likelihood=self.likelihood.to(device))

    def tuned(self, w: Parameters) -> "Posterior":
        """With as few squarings as these velocities allow."""
        return replace(self, transform=self.transform.tuned(w))
