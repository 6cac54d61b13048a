"""The way back of a warp, as a field that other tools read: right where the voxels of its grid arrive."""

import itertools

import numpy as np
import torch
from scipy.sparse import csr_array

from credwarp.fields import invert_warp, to_voxels
from credwarp.shapes import Points
from credwarp.space import Grid, Warp

# A warp is linear within its cells and bends between them; its inverse bends where these cells arrive, which
# no other lattice can. Finer voxels bring it near, and the last part is fitted where the voxels arrive.
REFINEMENTS = (1.5, 2.0)
NEAR_MM, BETWEEN_MM, SHARE, MOST_ROUNDS = 0.035, 0.1, 0.99, 20
# Finer than this, digits cost half of the file and tell nothing.
STEP_MM = 2.0**-8


def inverse(there: Warp) -> tuple[Warp, float]:
    """The map back, and how far from themselves the grid's voxels come back: 99 % of them are nearer."""
    home = there.before.inverse()
    voxels, middles = (home(points) for points in (there.grid.points(), _middles(there.grid)))
    start = voxels.reshape(-1, 3)
    reached = there(start)
    for refinement in REFINEMENTS:
        back = _fitted(invert_warp(there, _around(there, refinement)), reached, start)
        if _length(back(there(middles)) - middles) <= BETWEEN_MM:
            break
    return back, _length(back(reached) - start)


def _length(vectors: Points) -> float:
    """That 99 % of them are below."""
    return float(np.quantile(np.linalg.norm(vectors, axis=-1), SHARE))


def _middles(grid: Grid) -> Points:
    """Of the cells between voxels."""
    axes = (np.arange(max(n - 1, 1), dtype=np.float64) + 0.5 * (n > 1) for n in grid.shape)
    return grid.to_world(np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1))


def _fitted(back: Warp, points: Points, goals: Points) -> Warp:
    """Its voxels moved by what points near them miss their goals by, until nearly all are near enough."""
    places = back.before(points)
    shares = _shares(back.grid, places)
    wanted = back.after.inverse()(goals) - places
    field = np.asarray(back.displacement, dtype=np.float64).reshape(3, -1).T.copy()
    taken = np.maximum(shares.sum(axis=0), 0.5)[:, None]
    for _ in range(MOST_ROUNDS):
        miss = wanted - shares @ field
        if _length(miss) <= NEAR_MM:
            break
        field += (shares.T @ miss) / taken
    rounded = np.rint(field.T / STEP_MM) * STEP_MM
    displacement = torch.from_numpy(rounded.reshape(3, *back.grid.shape).astype(np.float32))
    return Warp(back.grid, displacement, back.before, back.after)


def _shares(grid: Grid, points: Points) -> csr_array:
    """How much each voxel has of each point under linear interpolation: points × voxels."""
    last = np.array(grid.shape) - 1
    places = np.clip(grid.to_voxels(points), 0, last)
    low = np.minimum(np.floor(places), np.maximum(last - 1, 0)).astype(np.int64)
    far = places - low
    indices, weights = [], []
    for corner in itertools.product((0, 1), repeat=3):
        voxel = np.minimum(low + corner, last)
        indices.append(np.ravel_multi_index((voxel[:, 0], voxel[:, 1], voxel[:, 2]), grid.shape))
        weights.append(np.where(corner, far, 1 - far).prod(axis=1))
    rows = np.arange(0, 8 * len(points) + 1, 8)
    return csr_array(
        (np.stack(weights, axis=1).ravel(), np.stack(indices, axis=1).ravel(), rows),
        shape=(len(points), grid.voxels),
    )


def _around(warp: Warp, refinement: float) -> Grid:
    """The warp's grid, as far as its border is moved outwards within reason, on finer voxels."""
    field = to_voxels(warp.displacement, warp.grid).abs()
    pads = []
    for axis in range(3):
        faces = field[axis].movedim(axis, 0)[[0, -1]]
        pads.append(min(int(np.ceil(float(faces.max()))) + 1, warp.grid.shape[axis] // 3 + 1))
    affine = warp.grid.affine.copy()
    affine[:3, 3] = warp.grid.to_world(-np.array(pads, dtype=np.float64))
    x, y, z = (n + 2 * pad for n, pad in zip(warp.grid.shape, pads, strict=True))
    padded = Grid((x, y, z), affine)
    return padded.with_spacing([h / refinement for h in padded.spacing])
