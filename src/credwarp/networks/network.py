"""A trained network: what it is made of, for which voxels, and what it says of a pair."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from pydantic import TypeAdapter, ValidationError
from torch import Tensor

from credwarp.errors import InputError
from credwarp.networks.meanfield import MeanField
from credwarp.networks.unet import Unet, Weights
from credwarp.shapes import Image
from credwarp.space import Grid
from credwarp.transforms import DenseSvf, Svf

FORMAT = "credwarp network 1"
SQUARINGS = 6
Spot = tuple[float, float, float]


@dataclass(frozen=True, eq=False)
class Network:
    """`grid` is where images have to be, `focus` where in it their content is (RAS+ mm).

    With an `atlas` the fixed image is always that one. `facts` say how it was trained.
    """

    architecture: Unet
    grid: Grid
    focus: Spot
    weights: Weights
    atlas: Image | None
    facts: Mapping[str, Any]

    @property
    def transform(self) -> Svf:
        """From what it predicts to displacements."""
        return DenseSvf(coarsening=self.architecture.coarsening, squarings=SQUARINGS).bind(self.grid)

    @torch.no_grad()
    def predict(self, fixed: Image, moving: Image) -> MeanField:
        """The law of the velocity between two images on the grid, tones from 0 to 1."""
        # Twice: torch convolves two volumes by code that is severalfold faster than that for one.
        images = torch.stack([fixed, moving])[None].repeat(2, 1, 1, 1, 1)
        mean, log_variance = self.architecture.apply(self.weights, images)
        return MeanField(mean[:1], log_variance[:1])

    def to(self, device: str | torch.device) -> "Network":
        """The same on another device."""
        weights = {name: tensor.to(device) for name, tensor in self.weights.items()}
        atlas = None if self.atlas is None else self.atlas.to(device)
        return Network(self.architecture, self.grid, self.focus, weights, atlas, self.facts)

    def to_tensors(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """All of it, as tensors by name and as what JSON can say."""
        tensors = {f"weights.{name}": tensor for name, tensor in self.weights.items()}
        if self.atlas is not None:
            tensors["atlas"] = self.atlas
        described = {
            "format": FORMAT,
            "architecture": TypeAdapter(Unet).dump_python(self.architecture, mode="json"),
            "shape": list(self.grid.shape),
            "affine": self.grid.affine.tolist(),
            "focus": list(self.focus),
            "digest": _digest(tensors),
            "training": dict(self.facts),
        }
        return tensors, described

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, Tensor], described: Mapping[str, Any]) -> "Network":
        """What `to_tensors` gave, or why it is not that."""
        if described.get("format") != FORMAT:
            raise InputError(f"it is of the format {described.get('format')!r}, not {FORMAT!r}")
        architecture = _architecture(described.get("architecture"))
        weights = {n.removeprefix("weights."): t for n, t in tensors.items() if n.startswith("weights.")}
        wanted = architecture.shapes()
        if {name: tuple(tensor.shape) for name, tensor in weights.items()} != wanted:
            raise InputError("its weights are not those of the architecture it names")
        if _digest(tensors) != described.get("digest"):
            raise InputError("its weights are not the ones that were written")
        try:
            x, y, z = described["shape"]
            a, b, c = described["focus"]
            grid = Grid((x, y, z), np.array(described["affine"], dtype=np.float64))
        except (KeyError, TypeError, ValueError):
            raise InputError("it does not say for which voxels it is") from None
        facts = dict(described.get("training", {}))
        return cls(architecture, grid, (a, b, c), weights, tensors.get("atlas"), facts)


def _architecture(described: Any) -> Unet:
    try:
        return TypeAdapter(Unet).validate_python(described)
    except ValidationError:
        kind = described.get("kind") if isinstance(described, dict) else described
        raise InputError(f"its architecture {kind!r} is not one this version knows (unet)") from None


def _digest(tensors: Mapping[str, Tensor]) -> str:
    """SHA-256 over names and values, in the order of names."""
    found = hashlib.sha256()
    for name in sorted(tensors):
        found.update(name.encode())
        found.update(np.ascontiguousarray(np.asarray(tensors[name].detach().to("cpu"))).tobytes())
    return found.hexdigest()
