"""Calculus on vector fields: exponential, composition, inverse, Jacobian; voxels of their own grid."""

import itertools
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from credwarp.kernels import compose, exponential, slope, warp
from credwarp.shapes import Field, Fields, Scalars
from credwarp.space import Grid, Warp

__all__ = [
    "Inverse",
    "compose",
    "exponential",
    "folds",
    "invert",
    "invert_warp",
    "jacobian",
    "jacobian_determinant",
    "one_sided",
    "smallest_determinant",
    "squarings_needed",
    "to_millimetres",
    "to_voxels",
]

MOST_SQUARINGS = 12
FEW_NEWTON_STEPS, MOST_NEWTON_STEPS = 3, 40
LEAST_SLOPE = 0.02
INVERSE_ERROR_MM = 0.002


@dataclass(frozen=True, eq=False)
class Inverse:
    """A displacement v and how far it misses: |(id + u) ∘ (id + v) − id| in voxels, per voxel."""

    displacement: Fields
    residual: Scalars


@torch.no_grad()
def squarings_needed(velocity: Fields, tolerance: float = 0.02) -> int:
    """The fewest squarings that end within `tolerance` voxels of what the most squarings give."""
    finest = exponential(velocity, MOST_SQUARINGS)
    for squarings in range(MOST_SQUARINGS):
        error = torch.linalg.vector_norm(exponential(velocity, squarings) - finest, dim=1).max()
        if error <= tolerance:
            return squarings
    return MOST_SQUARINGS


@torch.no_grad()
def invert(displacement: Fields, tolerance: float = 1e-3) -> Inverse:
    """The displacement v with (id + u) ∘ (id + v) = id, sought by Newton steps until within `tolerance`."""
    places = _indices(displacement[:1])
    found = [_undo(field, places, tolerance) for field in displacement]
    return Inverse(torch.cat([offset for offset, _ in found]), torch.cat([miss for _, miss in found]))


@torch.no_grad()
def invert_warp(forward: Warp, grid: Grid) -> Warp:
    """The map back, its displacement at the voxels of `grid`, which lies where `forward.after` starts.

    Right to 0.01 mm at every voxel of `grid` whose origin is unique.
    """
    home = forward.grid
    field = to_voxels(forward.displacement, home)
    places = _packed(torch.from_numpy(home.to_voxels(grid.points()).reshape(-1, 3)), field)
    offset, _ = _undo(field, places, INVERSE_ERROR_MM / max(home.spacing))
    # Beyond its grid a warp is the identity, not the continued border that `_undo` assumes.
    offset = torch.where(_within(places + offset, home) | _within(places, home), offset, 0.0)
    back = to_millimetres(offset, home).transpose(0, 1).reshape(3, -1)[:, : grid.voxels]
    return Warp(grid, back.reshape(3, *grid.shape), forward.after.inverse(), forward.before.inverse())


def jacobian(displacement: Fields) -> Float[Tensor, "chains 3 3 x y z"]:
    """The derivative of id + displacement: component by axis; central differences, one-sided at borders."""
    sides = [one_sided(displacement, axis) for axis in (-3, -2, -1)]
    return torch.stack([(rise + fall) / 2 for rise, fall in sides], dim=2) + _identity(displacement)


def jacobian_determinant(displacement: Fields) -> Scalars:
    """The determinant of `jacobian`: how much bigger a voxel becomes."""
    return _determinant(jacobian(displacement))


def smallest_determinant(displacement: Fields) -> Scalars:
    """The least of the eight one-sided determinants at each voxel.

    They are the exact determinants of the trilinear map at the corners of the cells that meet there, so a
    fold that central differences look across shows.
    """
    sides = [one_sided(displacement, axis) for axis in (-3, -2, -1)]
    identity = _identity(displacement)
    corners = [_determinant(torch.stack(columns, dim=2) + identity) for columns in itertools.product(*sides)]
    return torch.stack(corners).amin(dim=0)


def folds(determinant: Scalars) -> Int[Tensor, " chains"]:
    """How many voxels of each chain have a determinant that is not positive."""
    return (determinant <= 0).sum(dim=(1, 2, 3))


def to_millimetres(displacement: Tensor, grid: Grid) -> Tensor:
    """Vectors in voxels of `grid` as RAS+ millimetres; any leading axes before components and voxels."""
    return _turned(displacement, grid.affine[:3, :3])


def to_voxels(displacement: Tensor, grid: Grid) -> Tensor:
    """RAS+ millimetres as vectors in voxels of `grid`; any leading axes before components and voxels."""
    return _turned(displacement, np.linalg.inv(grid.affine[:3, :3]))


def _turned(field: Tensor, matrix: np.ndarray) -> Tensor:
    return torch.einsum("ab,...bxyz->...axyz", torch.from_numpy(matrix.copy()).to(field), field)


def _indices(like: Fields) -> Fields:
    axes = [torch.arange(n, dtype=like.dtype, device=like.device) for n in like.shape[2:]]
    return torch.stack(torch.meshgrid(*axes, indexing="ij")).expand_as(like)


def _packed(rows: Float[Tensor, "many 3"], field: Field) -> Fields:
    """Any number of positions as blocks of the field's own shape, the last one filled up with the first."""
    block = field[0].numel()
    short = -len(rows) % block
    rows = torch.cat([rows, rows[:1].expand(short, 3)])
    return rows.to(field).reshape(-1, *field.shape[1:], 3).movedim(-1, 1).contiguous()


def _within(places: Fields, grid: Grid) -> Tensor:
    """Which positions, in voxels of `grid`, its field of view holds; one component."""
    far = torch.tensor(grid.shape, dtype=places.dtype, device=places.device).view(3, 1, 1, 1) - 0.5
    return ((places >= -0.5) & (places <= far)).all(dim=1, keepdim=True)


def _undo(field: Field, places: Fields, tolerance: float) -> tuple[Fields, Scalars]:
    """Offsets d with d + field(places + d) = 0, and what is left of that sum.

    Nearly all are found in a few steps; only those that are not go on.
    """
    start = places - _indices(places)
    offset, distance = _descended(field, places, -warp(field, start), (tolerance, FEW_NEWTON_STEPS))
    left = distance > tolerance
    if bool(left.any()):
        rest, begun = (_packed(all_of.movedim(1, -1)[left], field) for all_of in (places, offset))
        found, missed = _descended(field, rest, begun, (tolerance, MOST_NEWTON_STEPS))
        count = int(left.sum())
        offset.movedim(1, -1)[left] = found.movedim(1, -1).reshape(-1, 3)[:count]
        distance[left] = missed.flatten()[:count]
    return offset, distance


def _descended(
    field: Field, places: Fields, offset: Fields, until: tuple[float, int]
) -> tuple[Fields, Scalars]:
    """Offsets improved until they miss by less than a tolerance, or for so many steps.

    Newton with the exact derivative of the trilinear field; a voxel whose step does not bring it nearer
    tries half of it, and one without a usable derivative moves by the miss itself.
    """
    start, (tolerance, steps) = places - _indices(places), until
    miss = offset + warp(field, start + offset)
    distance = torch.linalg.vector_norm(miss, dim=1, keepdim=True)
    damping = torch.ones_like(distance)
    for _ in range(steps):
        if distance.max() <= tolerance:
            break
        trial = offset - damping * _newton_step(slope(field, start + offset), miss)
        missed = trial + warp(field, start + trial)
        length = torch.linalg.vector_norm(missed, dim=1, keepdim=True)
        nearer = length < distance
        offset = torch.where(nearer, trial, offset)
        miss = torch.where(nearer, missed, miss)
        distance = torch.where(nearer, length, distance)
        damping = torch.where(nearer, (2 * damping).clamp(max=1.0), damping / 2)
    return offset, distance[:, 0]


def _newton_step(gradient: Tensor, miss: Fields) -> Fields:
    """(I + gradient)⁻¹ miss by Cramer's rule, or the miss where that is of no use."""
    a, b, c = (gradient + _identity(miss)).unbind(dim=2)
    normals = [_cross(b, c), _cross(c, a), _cross(a, b)]
    determinant = _dot(a, normals[0])[:, None]
    usable = determinant > LEAST_SLOPE
    solved = torch.stack([_dot(miss, normal) for normal in normals], dim=1)
    return torch.where(usable, solved / torch.where(usable, determinant, 1.0), miss)


def _dot(a: Fields, b: Fields) -> Scalars:
    product: Tensor = a * b
    return product.sum(dim=1)


def _cross(a: Fields, b: Fields) -> Fields:
    (i, j, k), (x, y, z) = a.unbind(dim=1), b.unbind(dim=1)
    return torch.stack([j * z - k * y, k * x - i * z, i * y - j * x], dim=1)


def _determinant(matrices: Tensor) -> Scalars:
    a, b, c = matrices.unbind(dim=2)
    return _dot(a, _cross(b, c))


def _identity(like: Tensor) -> Tensor:
    return torch.eye(3, dtype=like.dtype, device=like.device)[:, :, None, None, None]


def one_sided(field: Tensor, axis: int) -> tuple[Tensor, Tensor]:
    """The difference to the next voxel and from the one before; the only one there is, at a border."""
    if field.shape[axis] == 1:
        return torch.zeros_like(field), torch.zeros_like(field)
    rise = field.diff(dim=axis)
    first, last = rise.narrow(axis, 0, 1), rise.narrow(axis, -1, 1)
    return torch.cat([rise, last], dim=axis), torch.cat([first, rise], dim=axis)
