"""Who may vote where: labels on voxels of their own, and the boxes that their shares stay in."""

from dataclasses import dataclass

import numpy as np

from credwarp.shapes import Fields
from credwarp.space import Affine, Grid, Volume
from credwarp.space.grid import Shape

# Voxels added when a draw reaches beyond the boxes, so that few of those that follow do.
SLACK = 2


@dataclass(frozen=True, eq=False)
class Boxes:
    """Per label its first and last voxel; where its votes begin in a row of all; the box round all."""

    ends: np.ndarray
    starts: np.ndarray
    around: np.ndarray
    size: int

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """As kernels want them."""
        return self.ends, self.starts, self.around

    def sides(self, index: int) -> tuple[int, int, int]:
        """How long the box of a label is."""
        x, y, z = (self.ends[index, 1] - self.ends[index, 0] + 1).tolist()
        return x, y, z

    def slices(self, index: int) -> tuple[slice, slice, slice]:
        """Where the box of a label is."""
        x, y, z = (slice(int(a), int(b) + 1) for a, b in zip(*self.ends[index], strict=True))
        return x, y, z

    def votes(self, row: np.ndarray, index: int) -> np.ndarray:
        """The votes of a label, as a view of the row of all."""
        start, sides = int(self.starts[index]), self.sides(index)
        return row[start : start + int(np.prod(sides))].reshape(sides)


@dataclass(frozen=True, eq=False)
class Ballot:
    """Labels by code (1, 2, … in the order of `labels`) and the map of voxels that leads to them."""

    labels: tuple[int, ...]
    shape: Shape
    codes: np.ndarray
    cells: np.ndarray
    matrix: np.ndarray
    extents: np.ndarray

    @classmethod
    def of(cls, labels: Volume, grid: Grid, through: Affine) -> "Ballot":
        """`through` takes points of the grid's space to points of the labels'."""
        names = labels.labels
        codes = coded(np.asarray(labels.data), names)
        matrix = np.linalg.inv(labels.grid.affine) @ through.matrix @ grid.affine
        extents = np.array([_extent(codes == code, matrix) for code in range(1, len(names) + 1)])
        return cls(names, grid.shape, codes, _cells(codes), np.ascontiguousarray(matrix[:3]), extents)

    def boxes(self, reach: np.ndarray) -> Boxes:
        """Where each label may be, for displacements from reach[0] to reach[1] along each axis."""
        last = np.array(self.shape) - 1
        low = np.clip(np.floor(self.extents[:, 0] - reach[1]), 0, last + 1)
        high = np.clip(np.ceil(self.extents[:, 1] - reach[0]), -1, last)
        # A label that is nowhere has a box of no voxels.
        nowhere = (low > high).any(axis=1)
        low[nowhere], high[nowhere] = 0, -1
        ends = np.stack([low, high], axis=1).astype(np.int64)
        return boxes_of(ends)


def boxes_of(ends: np.ndarray) -> Boxes:
    """Boxes with these first and last voxels."""
    sizes = np.prod(ends[:, 1] - ends[:, 0] + 1, axis=1)
    there = ends[sizes > 0]
    around = np.stack([there[:, 0].min(axis=0), there[:, 1].max(axis=0)]) if len(there) else np.zeros((2, 3))
    return Boxes(ends, np.cumsum(sizes) - sizes, around.astype(np.int64), int(sizes.sum()))


def coded(data: np.ndarray, names: tuple[int, ...]) -> np.ndarray:
    """1 for the first name, 2 for the second …; 0 for 0 and −1 for whatever is not named."""
    known = np.array((0, *names), dtype=np.int64)
    order = np.argsort(known)
    place = np.clip(np.searchsorted(known[order], data), 0, len(known) - 1)
    return np.where(known[order][place] == data, order[place], -1).astype(np.int16)


def reach_of(field: Fields) -> np.ndarray:
    """The least and the largest displacement along each axis, in voxels."""
    ends = [component.aminmax() for component in field[0]]
    return np.array([[float(end.min) for end in ends], [float(end.max) for end in ends]])


def widened(reach: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """The reach itself where it holds what was seen, otherwise one with room."""
    low = np.where(seen[0] < reach[0], seen[0] - SLACK, reach[0])
    high = np.where(seen[1] > reach[1], seen[1] + SLACK, reach[1])
    return np.stack([low, high])


def box_round(there: np.ndarray) -> np.ndarray:
    """The first and the last voxel that are true."""
    lines = [np.flatnonzero(there.any(axis=tuple({0, 1, 2} - {axis}))) for axis in range(3)]
    if len(lines[0]) == 0:
        return np.array([[0, 0, 0], [-1, -1, -1]])
    return np.array([[line[0] for line in lines], [line[-1] for line in lines]])


def _extent(there: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """The box, in voxels that `matrix` takes to those of the label, beyond which it has no share."""
    low, high = box_round(there)
    # Half a voxel beyond the border of its image a label goes on.
    ends = [(a - 1.0, b + 1.0) for a, b in zip(low, high, strict=True)]
    corners = np.stack(np.meshgrid(*ends, indexing="ij"), axis=-1).reshape(-1, 3)
    back = np.linalg.inv(matrix)
    places = corners @ back[:3, :3].T + back[:3, 3]
    return np.stack([places.min(axis=0), places.max(axis=0)])


def _cells(codes: np.ndarray) -> np.ndarray:
    """The code that all corners of a cell have, or −1; the last cell of an axis is as wide as a voxel."""
    low, high = codes, codes
    for axis in range(3):
        after = np.concatenate([np.delete(low, 0, axis), np.take(low, [-1], axis)], axis)
        above = np.concatenate([np.delete(high, 0, axis), np.take(high, [-1], axis)], axis)
        low, high = np.minimum(low, after), np.maximum(high, above)
    return np.where(low == high, low, -1).astype(codes.dtype)
