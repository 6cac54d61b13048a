"""Maps taken apart into what transform files know, affines and fields, and put together again."""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
import torch

from credwarp.errors import InputError
from credwarp.space import Affine, Chain, Grid, Mapping, Warp

log = logging.getLogger("credwarp")

Link: TypeAlias = Affine | Warp
Transform: TypeAlias = Affine | Warp | Chain
NOTHING = Affine.identity()


def taken_apart(mapping: Transform) -> list[Link]:
    """Affines and bare fields, the one that acts first in front; identities left out, but one if all are."""
    links = mapping.links if isinstance(mapping, Chain) else (mapping,)
    parts: list[Link] = []
    for link in links:
        if isinstance(link, Affine):
            parts.append(link)
        else:
            parts += [link.before, Warp(link.grid, link.displacement, NOTHING, NOTHING), link.after]
    kept = [part for part in parts if isinstance(part, Warp) or not _is_identity(part)]
    return kept or [NOTHING]


def joined(links: Sequence[Link]) -> Transform:
    """The plainest map that does all links one after the other, the first one first."""
    parts: list[Link] = []
    for link in links:
        for part in taken_apart(link):
            last = parts[-1] if parts else None
            if isinstance(part, Affine) and isinstance(last, Affine):
                parts[-1] = part.after(last)
            else:
                parts.append(part)
    fields = [i for i, part in enumerate(parts) if isinstance(part, Warp)]
    if not fields:
        return parts[0] if parts else NOTHING
    if len(fields) > 1:
        return Chain(tuple(parts))
    field = parts[fields[0]]
    assert isinstance(field, Warp)
    before, after = (next(iter(side), NOTHING) for side in (parts[: fields[0]], parts[fields[0] + 1 :]))
    assert isinstance(before, Affine)
    assert isinstance(after, Affine)
    return Warp(field.grid, field.displacement, before, after)


def bare_field(path: Path, grid: Grid, vectors: np.ndarray) -> Warp:
    """A file's displacements in RAS+ millimetres, component last, as a map."""
    broken = int(np.count_nonzero(~np.isfinite(vectors).all(axis=-1)))
    if broken:
        raise InputError(f"{path} has {broken} vectors that are NaN or infinite; mend or remake it.")
    displacement = np.ascontiguousarray(np.moveaxis(vectors, -1, 0), dtype=np.float32)
    return Warp(grid, torch.from_numpy(displacement), NOTHING, NOTHING)


def as_field(mapping: Transform, grid: Grid | None = None) -> Warp:
    """The whole map as one bare field on `grid`, or on the voxels of its own field, where it is exact."""
    if grid is None:
        if not isinstance(mapping, Warp):
            raise InputError("a map without one field of its own needs the grid to write it on; give one.")
        return _folded(mapping)
    return Warp(grid, torch.from_numpy(displacement_on(mapping, grid).astype(np.float32)), NOTHING, NOTHING)


def displacement_on(mapping: Mapping, grid: Grid) -> np.ndarray:
    """map(x) − x in millimetres along R, A, S at the voxels of a grid, component first."""
    out = np.empty((3, *grid.shape))
    for plane in range(grid.shape[0]):
        points = grid.points(plane, plane + 1)
        out[:, plane] = np.moveaxis(mapping(points) - points, -1, 0)[:, 0]
    return out


def at_right_angles(field: Warp) -> Warp:
    """The field on a grid that ITK's formats can hold: itself, or interpolated where its own is sheared."""
    if field.grid.is_orthogonal:
        return field
    square = field.grid.squared()
    corners = square.to_voxels(field.grid.corners())
    low, high = np.floor(corners.min(axis=0)), np.ceil(corners.max(axis=0))
    affine = square.affine.copy()
    affine[:3, 3] = square.to_world(low)
    x, y, z = (int(n) for n in high - low + 1)
    log.warning("the field's axes are sheared, which ITK cannot hold; it is interpolated at right angles.")
    return as_field(field, Grid((x, y, z), affine))


def _folded(warp: Warp) -> Warp:
    """Affines moved into the field, whose voxels go back to where `before` took them from."""
    back = warp.before.inverse()
    vectors = np.asarray(warp.displacement)
    out = np.empty(vectors.shape, dtype=np.float32)
    for plane in range(warp.grid.shape[0]):
        points = warp.grid.points(plane, plane + 1)
        moved = warp.after(points + np.moveaxis(vectors[:, plane : plane + 1], 0, -1))
        out[:, plane] = np.moveaxis(moved - back(points), -1, 0)[:, 0]
    grid = Grid(warp.grid.shape, back.matrix @ warp.grid.affine)
    return Warp(grid, torch.from_numpy(out), NOTHING, NOTHING)


def _is_identity(affine: Affine) -> bool:
    return bool(np.allclose(affine.matrix, np.eye(4), rtol=0, atol=1e-12))
