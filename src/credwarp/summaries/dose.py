"""A dose of the moving image on the fixed grid: mean, sd, and what structures receive, draw by draw."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from credwarp.errors import InputError
from credwarp.kernels import streams
from credwarp.shapes import Fields, Image, Labels
from credwarp.space import Affine, Grid, Volume

BINS = 200
HOTTEST = (95, 50, 2)
BANDS = (0.05, 0.5, 0.95)


@dataclass(frozen=True, eq=False)
class DoseBands:
    """Mean and sd of the dose; per draw and structure the share of volume that gets each level or more."""

    grid: Grid
    mean: Image
    sd: Image
    structures: tuple[int, ...]
    levels: Float[np.ndarray, " levels"]
    received: Float[np.ndarray, "draws structures levels"]
    averages: Float[np.ndarray, "draws structures"]

    @property
    def bands(self) -> Float[np.ndarray, "3 structures levels"]:
        """The dose-volume histogram: its 5, 50 and 95 % quantiles over draws."""
        return self.over_draws(self.received)

    @staticmethod
    def over_draws(values: np.ndarray) -> np.ndarray:
        """The 5, 50 and 95 % quantiles."""
        return np.asarray(np.quantile(values, BANDS, axis=0))

    def quantities(self) -> dict[str, Float[np.ndarray, "draws structures"]]:
        """Per draw and structure: the mean dose, and what the hottest 95, 50 and 2 % get at least."""
        return {"mean": self.averages} | {f"D{share}": self._least(share / 100) for share in HOTTEST}

    def _least(self, share: float) -> Float[np.ndarray, "draws structures"]:
        """The highest level that at least this share of the volume gets, linear between levels."""
        found = np.empty(self.received.shape[:2])
        for place in np.ndindex(found.shape):
            # np.interp wants shares that rise.
            found[place] = np.interp(share, self.received[place][::-1], self.levels[::-1])
        return found


@dataclass(frozen=True, eq=False)
class DoseSums:
    """Welford's sums, and the histograms of the draws so far."""

    mean: Tensor
    spread: Tensor
    received: tuple[np.ndarray, ...]
    averages: tuple[np.ndarray, ...]


@dataclass(frozen=True, eq=False)
class DoseVolumes:
    """The fold that gives `DoseBands`: the dose is looked up, linear, where each draw takes the voxels."""

    dose: Volume
    grid: Grid
    matrix: Float[Tensor, "3 4"]
    structures: tuple[int, ...]
    members: tuple[Tensor, ...]
    levels: np.ndarray

    @classmethod
    def of(
        cls, dose: Volume, grid: Grid, through: Affine, labels: Labels, structures: tuple[int, ...]
    ) -> "DoseVolumes":
        """`through` takes points of the grid's space to the dose's; `labels` has structures on the grid."""
        matrix = np.linalg.inv(dose.grid.affine) @ through.matrix @ grid.affine
        members = []
        for structure in structures:
            inside = (labels == structure).flatten().nonzero()[:, 0]
            if len(inside) == 0:
                known = ", ".join(str(int(label)) for label in labels.unique() if label != 0) or "none"
                raise InputError(
                    f"structure {structure} has no voxels; the structures are {known}: choose from these."
                )
            members.append(inside)
        levels = np.linspace(0.0, max(float(dose.data.max()), 1e-6), BINS + 1)
        return cls(dose, grid, torch.from_numpy(matrix[:3].copy()), structures, tuple(members), levels)

    def begin(self, like: Fields) -> DoseSums:
        """Nothing yet."""
        nothing = torch.zeros(self.grid.shape)
        return DoseSums(nothing, nothing, (), ())

    def add(self, state: DoseSums, displacement: Fields) -> DoseSums:
        """One more draw."""
        found = streams.look_up(self.dose.data.to(torch.float32), displacement[0], self.matrix, 0.0)
        count = len(state.received) + 1
        apart = found - state.mean
        mean = state.mean + apart / count
        each = [found.flatten()[inside] for inside in self.members]
        received = np.array([self._received(values) for values in each])
        averages = np.array([float(values.mean(dtype=torch.float64)) for values in each])
        return DoseSums(
            mean,
            state.spread + apart * (found - mean),
            (*state.received, received),
            (*state.averages, averages),
        )

    def end(self, state: DoseSums) -> DoseBands:
        """Mean, sd and histograms."""
        sd = (state.spread / max(len(state.received) - 1, 1)).clamp(min=0).sqrt()
        return DoseBands(
            self.grid,
            state.mean,
            sd,
            self.structures,
            self.levels,
            np.array(state.received),
            np.array(state.averages),
        )

    def _received(self, values: Tensor) -> np.ndarray:
        """The share of voxels with at least each level."""
        ordered = np.sort(np.asarray(values, dtype=np.float64))
        return 1 - np.searchsorted(ordered, self.levels, side="left") / len(ordered)
