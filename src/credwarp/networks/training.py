"""Training: step by step and epoch by epoch, so that a killed one goes on to the same weights bit for bit."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor

from credwarp.networks.examples import NOISE, Examples, Library, generator
from credwarp.networks.meanfield import MeanField
from credwarp.networks.network import Network
from credwarp.networks.objective import Loss
from credwarp.networks.recipe import Recipe
from credwarp.networks.unet import Weights
from credwarp.samplers import Moments
from credwarp.shapes import Vector

Record = dict[str, float]
Look = Callable[[int, int, Mapping[str, float]], None]


@runtime_checkable
class Store(Protocol):
    """Where a training keeps how far it is, and the best network so far."""

    def load(self) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
        """What was saved last."""

    def save(self, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
        """Keep this instead, all or nothing."""

    def publish(self, network: Network) -> None:
        """The network that has done best so far."""


@dataclass(frozen=True, eq=False)
class Progress:
    """Weights as one vector, their average, the average of the best epoch, and a record of each epoch."""

    weights: Vector
    moments: Moments
    average: Vector
    best: Vector
    history: tuple[Record, ...]

    @classmethod
    def fresh(cls, weights: Vector) -> "Progress":
        """Before the first step."""
        return cls(weights, Moments.zeros(weights), weights, weights, ())

    @property
    def best_epoch(self) -> int:
        """The number of the epoch with the lowest held-out loss; 0 before any."""
        if not self.history:
            return 0
        return 1 + min(range(len(self.history)), key=lambda n: self.history[n]["held_out"])

    def to_tensors(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """For a checkpoint."""
        tensors = {
            "weights": self.weights, "first": self.moments.first, "second": self.moments.second,
            "average": self.average, "best": self.best,
        }  # fmt: skip
        return tensors, {"steps": self.moments.steps, "history": list(self.history)}

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> "Progress":
        """From a checkpoint."""
        moments = Moments(tensors["first"], tensors["second"], facts["steps"])
        return cls(tensors["weights"], moments, tensors["average"], tensors["best"], tuple(facts["history"]))


def train(recipe: Recipe, network: Network, library: Library, store: Store, look: Look) -> Network:
    """The network of the epoch that did best on held-out pairs; what `store` has is not done again."""
    examples = Examples.of(library, network.atlas, recipe.seed, recipe.held_out)
    kept = store.load()
    flat = torch.cat([network.weights[name].flatten() for name in network.architecture.shapes()])
    device = flat.device
    progress = Progress.fresh(flat) if kept is None else Progress.from_tensors(*kept)
    while len(progress.history) < recipe.epochs and not _idle(progress, recipe):
        progress = _epoch(recipe, network, examples, progress, device, look)
        store.save(*progress.to_tensors())
        if progress.best_epoch == len(progress.history):
            store.publish(_published(network, progress, examples))
    # Whoever was killed between the two calls above publishes now.
    best = _published(network, progress, examples)
    store.publish(best)
    return best


def _idle(progress: Progress, recipe: Recipe) -> bool:
    return len(progress.history) - progress.best_epoch >= recipe.patience


def _published(network: Network, progress: Progress, examples: Examples) -> Network:
    """With the best weights, and what there is to say of them."""
    record = progress.history[progress.best_epoch - 1]
    facts = {**network.facts, "epoch": progress.best_epoch, "held_out_loss": record["held_out"]}
    facts |= {"trained_on": len(examples.training), "held_out": len(examples.held_out)}
    return replace(network, weights=_split(network, progress.best), facts=facts)


def _epoch(
    recipe: Recipe, network: Network, examples: Examples, before: Progress, device: torch.device, look: Look
) -> Progress:
    """One epoch, and the average's loss on what is held out."""
    number, pairs = len(before.history), recipe.pairs
    steps = math.ceil(recipe.images / pairs)
    first = number * steps * pairs
    stream = examples.stream(first, first + steps * pairs, recipe.augmentation, network.transform)
    after, sums = before, torch.zeros(2, dtype=torch.float64)
    for step in range(steps):
        images = torch.stack([next(stream) for _ in range(pairs)]).to(device)
        after, loss = _step(recipe, network, after, images, generator(recipe.seed, NOISE, number, step))
        sums += torch.stack([loss.data.mean(), loss.divergence.mean()]).to("cpu") / network.grid.voxels
        figures = {"loss": float(sums.sum()) / (step + 1)}
        if before.history:
            figures["held-out"] = before.history[-1]["held_out"]
        look(number * steps + step + 1, recipe.epochs * steps, figures)
    data, divergence = (sums / steps).tolist()
    held = _held_out(recipe, network, examples, after.average, device)
    record = {"loss": data + divergence, "data": data, "divergence": divergence, "held_out": held}
    better = all(held < old["held_out"] for old in before.history)
    return replace(after, best=after.average if better else before.best, history=(*before.history, record))


def _step(
    recipe: Recipe, network: Network, before: Progress, images: Tensor, chance: torch.Generator
) -> tuple[Progress, Loss]:
    """One step of the optimiser; a loss that is no number leaves the weights where they are."""
    leaf = before.weights.detach().requires_grad_(True)
    loss = _loss(recipe, network, _split(network, leaf), images, chance)
    (slope,) = torch.autograd.grad(loss.total.mean() / network.grid.voxels, leaf)
    slope = torch.nan_to_num(slope, nan=0.0, posinf=0.0, neginf=0.0)
    weights, moments = recipe.optimiser.update(before.weights, -slope, before.moments)
    share = max(1 - recipe.memory, 1 / moments.steps)
    average = torch.lerp(before.average, weights, share)
    after = replace(before, weights=weights, moments=moments, average=average)
    return after, Loss(loss.data.detach(), loss.divergence.detach())


def _loss(
    recipe: Recipe, network: Network, weights: Weights, images: Tensor, chance: torch.Generator
) -> Loss:
    law = MeanField(*recipe.architecture.apply(weights, images))
    noise = torch.randn(law.mean.shape, generator=chance).to(images)
    return recipe.objective.loss(images, law, noise, network.transform)


@torch.no_grad()
def _held_out(
    recipe: Recipe, network: Network, examples: Examples, flat: Vector, device: torch.device
) -> float:
    """The mean loss per voxel; the same noise every time, so that epochs can be compared."""
    weights = _split(network, flat)
    losses = [
        float(_loss(recipe, network, weights, pair[None].to(device), generator(recipe.seed, NOISE, k)).total)
        for k, pair in enumerate(examples.held_pairs())
    ]
    return sum(losses) / len(losses) / network.grid.voxels


def _split(network: Network, flat: Vector) -> Weights:
    """The vector as the tensors it is made of."""
    shapes = network.architecture.shapes()
    parts = flat.split([math.prod(shape) for shape in shapes.values()])
    return {name: part.view(shape) for (name, shape), part in zip(shapes.items(), parts, strict=True)}
