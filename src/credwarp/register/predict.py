"""The stage of a trained network: its law of the pair's velocity, to draw from or to start from."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch

from credwarp.errors import InputError
from credwarp.networks import MeanField, Network, Placed
from credwarp.plan import Plan
from credwarp.register.stages import Keeper, Kept, Progress, Watch
from credwarp.register.target import VelocityTarget
from credwarp.register.targets import bound, from_tensors, to_tensors
from credwarp.samplers import Randomness
from credwarp.shapes import Parameters, Positions, Vector
from credwarp.space import Pair

MODEL, STAGE = "model", "prediction"
NOISE_ITERATIONS = 15


@dataclass(frozen=True, eq=False)
class PredictedNormal:
    """A network's mean field, brought to the parameters of a target and seen in its coordinates."""

    placed: Placed
    field: MeanField
    target: VelocityTarget

    @property
    def mean(self) -> Vector:
        """μ."""
        return self.target.position(self._carried(self.field.mean))[0]

    def draw(self, randomness: Randomness) -> tuple[Positions, Randomness]:
        """A draw for each stream."""
        mean = self.field.mean
        noise, randomness = randomness.normals(mean[0].numel(), mean)
        return self.target.position(
            self._carried(self.field.reparametrised(noise.view(-1, *mean.shape[1:])))
        ), randomness

    def _carried(self, velocities: Parameters) -> torch.Tensor:
        transform = self.target.posterior.transform
        return torch.stack([self.placed.carried(velocity, transform) for velocity in velocities])


@dataclass(frozen=True, eq=False)
class Predicted:
    """The target, its hyperparameters fitted where the network says the warp is, and the network's law."""

    target: VelocityTarget
    law: PredictedNormal
    facts: dict[str, Any]

    @property
    def w(self) -> Parameters:
        """The mean's velocity parameters."""
        return self.target.parameters(self.law.mean[None])


def predict(pair: Pair, plan: Plan, keeper: Keeper, watch: Watch) -> Predicted:
    """Done before, or now."""
    kept = keeper.load(STAGE)
    placed = Placed.over(pair, network_of(keeper))
    if kept is not None:
        target = from_tensors(pair, plan, kept.tensors)
        assert isinstance(target, VelocityTarget)
        field = MeanField(kept.tensors["mean"], kept.tensors["log_variance"])
        return Predicted(target, PredictedNormal(placed, field, target), dict(kept.facts))
    watch(Progress(STAGE, 0, 1))
    predicted = _predict(pair, plan, placed)
    field = predicted.law.field
    tensors = {"mean": field.mean, "log_variance": field.log_variance}
    keeper.save(STAGE, Kept(to_tensors(predicted.target) | tensors, predicted.facts))
    watch(Progress(STAGE, 1, 1, {"seconds": predicted.facts["seconds"]}))
    return predicted


def keep_network(keeper: Keeper, network: Network) -> None:
    """Give a run the network that its plan needs."""
    keeper.save(MODEL, Kept(*network.to_tensors()))


def network_of(keeper: Keeper) -> Network:
    """The network that was given to a run."""
    kept = keeper.load(MODEL)
    if kept is None:
        raise InputError(
            "the plan needs a trained network and none was given; name its file with --model or --start."
        )
    return Network.from_tensors(kept.tensors, kept.facts)


def _predict(pair: Pair, plan: Plan, placed: Placed) -> Predicted:
    started = time.perf_counter()
    field = placed.law()
    posterior = bound(pair, plan)
    target = VelocityTarget(posterior, posterior.init(posterior.zeros(1)))
    law = PredictedNormal(placed, field, target)
    position = law.mean[None]
    tuned = posterior.tuned(target.parameters(position))
    target = replace(target, posterior=tuned).fitted(position, NOISE_ITERATIONS)
    with torch.no_grad():
        terms = tuned.evaluate(target.parameters(position), target.hyper)
    facts = {
        "gradients": 0,
        "seconds": time.perf_counter() - started,
        "log_density": float(terms.log_density),
        "explained": target.explained(position),
        "exact": placed.exact,
        **_told(placed.network.facts),
    }
    return Predicted(target, replace(law, target=target), facts)


def _told(facts: Mapping[str, Any]) -> dict[str, Any]:
    """What the network's file says of its training, for the record."""
    return {"network": {name: facts.get(name) for name in ("mode", "images", "epoch", "held_out_loss")}}
