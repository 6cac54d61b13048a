"""A pair brought to a network's voxels, and what the network says of it brought back."""

import logging
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import torch
from jaxtyping import Float
from scipy.ndimage import map_coordinates
from torch import Tensor

from credwarp.affine.content import content_of
from credwarp.errors import InputError
from credwarp.fields import to_millimetres, to_voxels
from credwarp.networks.augment import toned
from credwarp.networks.meanfield import MeanField
from credwarp.networks.network import Network, Spot
from credwarp.shapes import Field, Image
from credwarp.space import Grid, Pair, Volume, resample
from credwarp.transforms import Svf

log = logging.getLogger("credwarp")
ALIKE = 0.9
FADING = 20.0
Velocity: TypeAlias = Float[Tensor, "3 i j k"]


@dataclass(frozen=True, eq=False)
class Placed:
    """A network whose grid lies over a pair; `exact` where its voxels are the pair's."""

    network: Network
    pair: Pair
    exact: bool

    @classmethod
    def over(cls, pair: Pair, network: Network) -> "Placed":
        """Voxel by voxel where the grids agree but for a shift, else with the content in its place."""
        mine, theirs = network.grid, pair.grid
        turned = np.allclose(mine.affine[:3, :3], theirs.affine[:3, :3], atol=1e-3 * min(mine.spacing))
        exact = mine.shape == theirs.shape and turned
        affine = mine.affine.copy()
        if exact:
            affine[:3, 3] = theirs.affine[:3, 3]
        else:
            affine[:3, 3] += content_spot(Volume(theirs, pair.fixed, "fixed image")) - np.array(network.focus)
            if turned:
                affine[:3, 3] = _snapped(affine[:3, 3], theirs, network.architecture.coarsening)
        log.info("%s", _sentence(mine, theirs, exact))
        placed = cls(replace(network, grid=Grid(mine.shape, affine)), pair, exact)
        placed._refuse_another_atlas()
        return placed

    def law(self) -> MeanField:
        """What the network predicts of the pair."""
        device = next(iter(self.network.weights.values())).device
        fixed, moving = self._image(self.pair.fixed), self._image(self.pair.moving)
        return self.network.predict(fixed.to(device), moving.to(device))

    def carried(self, velocity: Velocity, transform: Svf) -> Field:
        """A velocity of the network's as parameters of a transform of the pair's."""
        ours = self.network.transform
        if self.exact and ours.parameters.matches(transform.parameters):
            return velocity
        millimetres = to_millimetres(velocity, ours.grid)
        places = ours.parameters.to_voxels(transform.parameters.points())
        sides = np.array(ours.parameters.shape) - 1.0
        beyond = (np.clip(places, 0, sides) - places) * np.array(ours.parameters.spacing)
        # Beyond the network's field of view its velocity goes on and fades: a step would fold.
        fading = np.exp(-((beyond / FADING) ** 2).sum(axis=-1))
        parts = [
            map_coordinates(np.asarray(part), places.transpose(3, 0, 1, 2), order=3, mode="nearest") * fading
            for part in millimetres
        ]
        moved = torch.from_numpy(np.stack(parts)).to(velocity)
        return to_voxels(moved, transform.grid)

    def _image(self, image: Image) -> Tensor:
        if self.exact:
            return toned(image)
        volume = Volume(self.pair.grid, image)
        return toned(resample(volume, self.network.grid, outside=float(image.min())).data)

    def _refuse_another_atlas(self) -> None:
        atlas = self.network.atlas
        if atlas is None:
            return
        both = torch.stack([self._image(self.pair.fixed).flatten(), atlas.flatten()])
        alike = float(torch.corrcoef(both)[0, 1])
        if alike < ALIKE:
            raise InputError(
                f"the network was trained for one fixed image, its atlas, and this one is another (their "
                f"correlation is {alike:.2f}); register onto the atlas, or train without --atlas."
            )


def content_spot(volume: Volume) -> np.ndarray:
    """The centre of mass of what an image shows, in RAS+ mm."""
    return content_of(volume, None, "fixed").centroid


def spot(volume: Volume) -> Spot:
    """The same as three numbers."""
    x, y, z = content_spot(volume).tolist()
    return x, y, z


def _snapped(origin: np.ndarray, grid: Grid, step: int) -> np.ndarray:
    """The place nearest by from which voxels coincide with those of a grid of the same directions."""
    return grid.to_world(step * np.round(grid.to_voxels(origin) / step))


def _sentence(mine: Grid, theirs: Grid, exact: bool) -> str:
    if exact:
        return "the network sees the pair on the pair's own voxels."

    def told(grid: Grid) -> str:
        return f"{'×'.join(map(str, grid.shape))} at {', '.join(f'{h:.2f}' for h in grid.spacing)} mm"

    return (
        f"the pair ({told(theirs)}) is resampled to the network's voxels ({told(mine)}), "
        "and what it predicts back."
    )
