"""Points taken through every draw: their mean, covariance and 95 % radius on the other side."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import torch
from jaxtyping import Float
from scipy.ndimage import map_coordinates

from credwarp.shapes import Fields, Points
from credwarp.space import Affine, Grid
from credwarp.summaries.moments import PLACES
from credwarp.summaries.radius import radius95

Side: TypeAlias = Literal["fixed", "moving"]
Matrices: TypeAlias = Float[np.ndarray, "points 3 3"]

MOST_STEPS = 40
NEAR_VOXELS = 1e-4


@dataclass(frozen=True, eq=False)
class PointClouds:
    """Where points lie on the other side: means (RAS+ mm) and covariances (mm²) of `count` draws.

    `missed` is the largest distance, in mm, that the map back of any draw was off.
    """

    count: int
    mean: Float[np.ndarray, "points 3"]
    covariance: Matrices
    missed: float

    @property
    def radius95(self) -> Float[np.ndarray, " points"]:
        """The radius, in mm, of the ball round the mean that holds 95 % of N(mean, covariance)."""
        numbers = np.stack([self.covariance[:, a, b] for a, b in PLACES])
        return np.asarray(radius95(torch.from_numpy(numbers)))


@dataclass(frozen=True, eq=False)
class Cloud:
    """Welford's sums."""

    count: int
    mean: np.ndarray
    spread: np.ndarray
    missed: float


@dataclass(frozen=True, eq=False)
class PointMoments:
    """The fold that takes points of `side` to the other side through each draw exactly.

    Points of fixed go through the map that pulls the moving image back, after(x + u(x)); points of moving
    through its inverse, found by Newton steps on the same field. `initial` is the pair's.
    """

    points: Points
    side: Side
    grid: Grid
    initial: Affine

    def begin(self, like: Fields) -> Cloud:
        """Nothing yet."""
        count = len(self.points)
        return Cloud(0, np.zeros((count, 3)), np.zeros((count, 3, 3)), 0.0)

    def add(self, state: Cloud, displacement: Fields) -> Cloud:
        """One more draw."""
        field = np.asarray(displacement[0].to("cpu"))
        moved, missed = self._moved(field)
        count = state.count + 1
        apart = moved - state.mean
        products = apart[:, :, None] * apart[:, None, :]
        return Cloud(
            count,
            state.mean + apart / count,
            state.spread + products * (1 - 1 / count),
            max(state.missed, missed),
        )

    def end(self, state: Cloud) -> PointClouds:
        """Of the population: divided by one draw less than there are."""
        return PointClouds(state.count, state.mean, state.spread / max(state.count - 1, 1), state.missed)

    def _moved(self, field: np.ndarray) -> tuple[np.ndarray, float]:
        if self.side == "fixed":
            start = self.grid.to_voxels(self.points)
            return self.initial(self.grid.to_world(start + _vectors(field, start))), 0.0
        goal = self.grid.to_voxels(self.initial.inverse()(self.points))
        found, missed = origins(field, goal)
        return self.grid.to_world(found), float(missed.max(initial=0.0)) * max(self.grid.spacing)


def origins(field: np.ndarray, goals: Points) -> tuple[Points, Float[np.ndarray, " points"]]:
    """Positions x with x + field(x) at the goals, in voxels, and how far each misses its goal.

    Newton with the exact derivative of the linear field; a step that does not bring a point nearer is halved.
    """
    found = goals - _vectors(field, goals)
    miss = found + _vectors(field, found) - goals
    damping = np.ones((len(goals), 1))
    for _ in range(MOST_STEPS):
        distance = np.linalg.norm(miss, axis=1, keepdims=True)
        if distance.max(initial=0.0) <= NEAR_VOXELS:
            break
        trial = found - damping * _newton(_slopes(field, found), miss)
        missed = trial + _vectors(field, trial) - goals
        nearer = np.linalg.norm(missed, axis=1, keepdims=True) < distance
        found, miss = np.where(nearer, trial, found), np.where(nearer, missed, miss)
        damping = np.where(nearer, np.minimum(2 * damping, 1.0), damping / 2)
    return found, np.linalg.norm(miss, axis=1)


def _vectors(field: np.ndarray, places: Points) -> Points:
    """The field at positions in voxels, linear; nothing beyond half a voxel outside, as in a `Warp`."""
    inside = np.all((places >= -0.5) & (places <= np.array(field.shape[1:]) - 0.5), axis=1)
    out = np.zeros(places.shape)
    for component in range(3):
        out[inside, component] = map_coordinates(
            field[component], places[inside].T, output=np.float64, order=1, mode="nearest"
        )
    return out


def _slopes(field: np.ndarray, places: Points) -> Matrices:
    """The derivative of `_vectors`: rise across the cell in which a position lies."""
    slopes = np.zeros((len(places), 3, 3))
    last = np.array(field.shape[1:]) - 1
    for axis in range(3):
        low, high = places.copy(), places.copy()
        low[:, axis] = np.clip(np.floor(places[:, axis]), 0, max(last[axis] - 1, 0))
        high[:, axis] = low[:, axis] + 1
        within = (places[:, axis] >= 0) & (places[:, axis] <= last[axis])
        slopes[within, :, axis] = (_vectors(field, high) - _vectors(field, low))[within]
    return slopes


def _newton(slopes: Matrices, miss: Points) -> Points:
    """(I + slopes)⁻¹ miss, or the miss where that is of no use."""
    matrices = slopes + np.eye(3)
    usable = np.linalg.det(matrices) > 0.02
    matrices[~usable] = np.eye(3)
    return np.asarray(np.linalg.solve(matrices, miss[:, :, None])[:, :, 0])
