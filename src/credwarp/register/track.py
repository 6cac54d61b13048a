"""Functionals of a draw by which chains are judged: displacements, structures, energies, modes."""

from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor

from credwarp.posterior import Posterior
from credwarp.samplers import Randomness
from credwarp.shapes import Fields, Hyper, Parameters, PerChain
from credwarp.space import Pair
from credwarp.spectral import dct

PLACES = 300
MODES = 50


@dataclass(frozen=True, eq=False)
class Tracker:
    """Where to look: `places` are flat indices into a displacement, `structures` the voxels of each label."""

    posterior: Posterior
    hyper: Hyper
    spacing: tuple[float, float, float]
    places: Int[Tensor, " places"]
    structures: dict[int, Int[Tensor, " voxels"]]
    modes: Int[Tensor, " modes"]

    @classmethod
    def of(cls, posterior: Posterior, hyper: Hyper, pair: Pair, seed: int) -> "Tracker":
        """Random components where voxels count, the labels that the fixed side has, the smoothest modes."""
        counting = torch.nonzero(posterior.likelihood.weight[0].flatten())[:, 0]
        voxels = pair.grid.voxels
        uniform, _ = Randomness.seeded(seed, 2, counting.device).uniforms(PLACES, pair.fixed)
        chosen = counting[(uniform[0] * len(counting)).long()]
        places = chosen + voxels * (uniform[1] * 3).long()
        labels = pair.fixed_labels
        found = [] if labels is None else [int(label) for label in labels.unique() if label != 0]
        structures = {
            label: torch.nonzero((labels == label).flatten())[:, 0] for label in found if labels is not None
        }
        modes = torch.argsort(posterior.prior.energy.eigenvalues().flatten(), stable=True)[:MODES]
        return cls(posterior, hyper, pair.grid.spacing, places, structures, modes)

    @property
    def names(self) -> dict[str, list[str]]:
        """What each number of each series is."""
        along = [f"{label}.{axis}" for label in self.structures for axis in "xyz"]
        return {
            "displacement": [f"displacement[{n}]" for n in range(len(self.places))],
            "structure": [f"structure[{name}]" for name in along],
            "low": [f"mode[{n}]" for n in range(len(self.modes))],
            "energy": ["χ²"],
            "data": ["data energy"],
        }

    @torch.no_grad()
    def observe(self, w: Parameters, log_density: PerChain) -> dict[str, Tensor]:
        """Of each chain: millimetres along the axes, cosine coefficients, χ², −log p(data | w)."""
        millimetres = self._millimetres(self.posterior.transform.displacement(w))
        flat = millimetres.flatten(1)
        voxels = millimetres.flatten(2)
        means = [voxels[:, :, index].mean(dim=2) for index in self.structures.values()]
        prior = self.posterior.prior
        return {
            "displacement": flat[:, self.places],
            "structure": torch.cat(means, dim=1) if means else flat[:, :0],
            "low": dct(w).flatten(1)[:, self.modes],
            "energy": prior.energy(w)[:, None],
            "data": (prior.log_prob(w, self.hyper) - log_density)[:, None],
        }

    def _millimetres(self, displacement: Fields) -> Fields:
        lengths = torch.tensor(self.spacing, dtype=displacement.dtype, device=displacement.device)
        return displacement * lengths.view(3, 1, 1, 1)
