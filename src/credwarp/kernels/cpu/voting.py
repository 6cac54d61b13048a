"""Labels and images read at displaced positions that an affine map takes to other voxels."""

from typing import TypeAlias

import numpy as np

from credwarp.kernels.compiled import inlined, kernel
from credwarp.kernels.cpu.lanes import claim

# Codes of labels, 0 for the background; that of each cell whose corners agree, −1 of others; those of the
# other side; the displacement.
Sources: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
# The box of each label (first and last voxel), where its votes begin, the box round all.
Boxes: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray]
# Votes box after box; the winner of each voxel; shares, voxels and agreement per plane and code.
Results: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray]
Corner: TypeAlias = tuple[int, float]


@kernel
def read(
    claims: np.ndarray,
    tasks: int,
    values: np.ndarray,
    field: np.ndarray,
    matrix: np.ndarray,
    outside: float,
    out: np.ndarray,
) -> int:
    """values(M (x + field(x))), linear."""
    done = 0
    x = claim(claims.ctypes.data)
    while x < tasks:
        for y in range(field.shape[2]):
            for z in range(field.shape[3]):
                a, b, c = _position(field, matrix, x, y, z)
                if not _inside(a, b, c, values.shape):
                    out[x, y, z] = outside
                    continue
                i, f = _corner(a, values.shape[0])
                j, g = _corner(b, values.shape[1])
                k, h = _corner(c, values.shape[2])
                total = 0.0
                for corner in range(8):
                    e, m, n = corner >> 2, corner >> 1 & 1, corner & 1
                    weight = (f if e else 1 - f) * (g if m else 1 - g) * (h if n else 1 - h)
                    if weight > 0.0:
                        total += weight * values[i + e, j + m, k + n]
                out[x, y, z] = total
        done += 1
        x = claim(claims.ctypes.data)
    return done


@kernel
def count_votes(
    claims: np.ndarray, tasks: int, sources: Sources, matrix: np.ndarray, boxes: Boxes, results: Results
) -> int:
    """Give each voxel's shares of labels to its votes, and find the label with the largest share."""
    codes, cells, _, field = sources
    around, (_, winner, tallies) = boxes[2], results
    names, weights = np.zeros(8, np.int64), np.zeros(8, np.float64)
    done = 0
    task = claim(claims.ctypes.data)
    while task < tasks:
        x = around[0, 0] + task
        tallies[x] = 0.0
        for y in range(around[0, 1], around[1, 1] + 1):
            for z in range(around[0, 2], around[1, 2] + 1):
                a, b, c = _position(field, matrix, x, y, z)
                best = 0
                if _inside(a, b, c, codes.shape):
                    i, f = _corner(a, codes.shape[0])
                    j, g = _corner(b, codes.shape[1])
                    k, h = _corner(c, codes.shape[2])
                    best = cells[i, j, k]
                    if best > 0:
                        _give(best, 1.0, (x, y, z), boxes, results)
                    elif best < 0:
                        found = _shares(codes, (i, j, k), (f, g, h), names, weights)
                        best = _winner(names, weights, found)
                        for place in range(found):
                            if names[place] > 0:
                                _give(names[place], weights[place], (x, y, z), boxes, results)
                winner[x, y, z] = best
                if best > 0:
                    tallies[x, best, 1] += 1.0
                    if sources[2][x, y, z] == best:
                        tallies[x, best, 2] += 1.0
        done += 1
        task = claim(claims.ctypes.data)
    return done


@inlined
def _position(field: np.ndarray, matrix: np.ndarray, x: int, y: int, z: int) -> tuple[float, float, float]:
    a, b, c = x + field[0, x, y, z], y + field[1, x, y, z], z + field[2, x, y, z]
    return (
        matrix[0, 0] * a + matrix[0, 1] * b + matrix[0, 2] * c + matrix[0, 3],
        matrix[1, 0] * a + matrix[1, 1] * b + matrix[1, 2] * c + matrix[1, 3],
        matrix[2, 0] * a + matrix[2, 1] * b + matrix[2, 2] * c + matrix[2, 3],
    )


@inlined
def _inside(a: float, b: float, c: float, shape: tuple[int, int, int]) -> bool:
    """Whether a position is within half a voxel of a voxel; one that is no number is not."""
    return (
        a >= -0.5
        and b >= -0.5
        and c >= -0.5
        and a <= shape[0] - 0.5
        and b <= shape[1] - 0.5
        and c <= shape[2] - 0.5
    )


@inlined
def _corner(position: float, size: int) -> Corner:
    """The lower corner of a cell and the weight of the upper one, which may not exist if that is 0."""
    held = min(max(position, 0.0), size - 1.0)
    low = min(int(held), max(size - 2, 0))
    return low, held - low


@inlined
def _shares(
    codes: np.ndarray,
    low: tuple[int, int, int],
    upper: tuple[float, float, float],
    names: np.ndarray,
    weights: np.ndarray,
) -> int:
    """The distinct codes at the corners of a cell and their shares; returns how many they are."""
    found = 0
    for corner in range(8):
        e, m, n = corner >> 2, corner >> 1 & 1, corner & 1
        weight = (
            (upper[0] if e else 1 - upper[0])
            * (upper[1] if m else 1 - upper[1])
            * (upper[2] if n else 1 - upper[2])
        )
        if weight <= 0.0:
            continue
        code = codes[low[0] + e, low[1] + m, low[2] + n]
        place = 0
        while place < found and names[place] != code:
            place += 1
        if place == found:
            names[place], weights[place] = code, 0.0
            found += 1
        weights[place] += weight
    return found


@inlined
def _winner(names: np.ndarray, weights: np.ndarray, found: int) -> int:
    """The largest share; of equal ones the smallest code."""
    best = 0
    for place in range(1, found):
        more = weights[place] > weights[best]
        if more or (weights[place] == weights[best] and names[place] < names[best]):
            best = place
    return int(names[best])


@inlined
def _give(code: int, share: float, voxel: tuple[int, int, int], boxes: Boxes, results: Results) -> None:
    low, high = boxes[0][code - 1, 0], boxes[0][code - 1, 1]
    if (
        voxel[0] < low[0]
        or voxel[1] < low[1]
        or voxel[2] < low[2]
        or voxel[0] > high[0]
        or voxel[1] > high[1]
        or voxel[2] > high[2]
    ):
        return
    row = (voxel[0] - low[0]) * (high[1] - low[1] + 1) + voxel[1] - low[1]
    results[0][boxes[1][code - 1] + row * (high[2] - low[2] + 1) + voxel[2] - low[2]] += share
    results[2][voxel[0], code, 0] += share
