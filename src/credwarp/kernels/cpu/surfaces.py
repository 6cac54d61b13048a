"""Surfaces of labels, and how far each of their voxels is from another surface of the same label."""

from typing import TypeAlias

import numpy as np

from credwarp.kernels.compiled import inlined, kernel
from credwarp.kernels.cpu.lanes import claim

# Steps to other voxels, the shortest first, and their lengths; per code the first and last voxel where the
# other surface may be; millimetres from voxel to voxel.
Search: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


@kernel
def count_edges(
    claims: np.ndarray, tasks: int, codes: np.ndarray, around: np.ndarray, out: np.ndarray, counts: np.ndarray
) -> int:
    """The code of a voxel that has a neighbour of another code, or none, in the box `around`; 0 elsewhere.

    `counts` gets how many there are per plane and code.
    """
    done = 0
    task = claim(claims.ctypes.data)
    while task < tasks:
        x = around[0, 0] + task
        counts[x] = 0
        for y in range(around[0, 1], around[1, 1] + 1):
            for z in range(around[0, 2], around[1, 2] + 1):
                code = codes[x, y, z]
                if code > 0 and _is_edge(codes, x, y, z, code):
                    out[x, y, z] = code
                    counts[x, code] += 1
                else:
                    out[x, y, z] = 0
        done += 1
        task = claim(claims.ctypes.data)
    return done


@kernel
def measure(
    claims: np.ndarray,
    tasks: int,
    surfaces: tuple[np.ndarray, np.ndarray],
    around: np.ndarray,
    search: Search,
    results: tuple[np.ndarray, np.ndarray],
) -> int:
    """From each voxel of the first surface to the nearest of the second; a task is a code.

    `around` is the first surface's box per code. In `results`: where each code's distances begin, and they.
    """
    starts, out = results
    done = 0
    task = claim(claims.ctypes.data)
    while task < tasks:
        low, high = around[task, 0], around[task, 1]
        place = starts[task]
        for x in range(low[0], high[0] + 1):
            for y in range(low[1], high[1] + 1):
                for z in range(low[2], high[2] + 1):
                    if surfaces[0][x, y, z] == task + 1:
                        out[place] = _nearest(surfaces[1], (x, y, z), task + 1, search)
                        place += 1
        done += 1
        task = claim(claims.ctypes.data)
    return done


@inlined
def _is_edge(codes: np.ndarray, x: int, y: int, z: int, code: int) -> bool:
    sides = codes.shape
    if x == 0 or y == 0 or z == 0 or x == sides[0] - 1 or y == sides[1] - 1 or z == sides[2] - 1:
        return True
    return bool(
        codes[x - 1, y, z] != code
        or codes[x + 1, y, z] != code
        or codes[x, y - 1, z] != code
        or codes[x, y + 1, z] != code
        or codes[x, y, z - 1] != code
        or codes[x, y, z + 1] != code
    )


@inlined
def _nearest(surface: np.ndarray, voxel: tuple[int, int, int], code: int, search: Search) -> float:
    steps, lengths, around, spacing = search
    low, high = around[code - 1, 0], around[code - 1, 1]
    for index in range(len(lengths)):
        x, y, z = voxel[0] + steps[index, 0], voxel[1] + steps[index, 1], voxel[2] + steps[index, 2]
        if x < low[0] or y < low[1] or z < low[2] or x > high[0] or y > high[1] or z > high[2]:
            continue
        if surface[x, y, z] == code:
            return float(lengths[index])
    return _farther(surface, voxel, code, (low, high, spacing))


@inlined
def _farther(
    surface: np.ndarray,
    voxel: tuple[int, int, int],
    code: int,
    box: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> float:
    """Beyond the steps every voxel is tried; without any the distance is no number."""
    low, high, spacing = box
    best = np.inf
    for x in range(low[0], high[0] + 1):
        for y in range(low[1], high[1] + 1):
            for z in range(low[2], high[2] + 1):
                if surface[x, y, z] == code:
                    a = (x - voxel[0]) * spacing[0]
                    b = (y - voxel[1]) * spacing[1]
                    c = (z - voxel[2]) * spacing[2]
                    best = min(best, a * a + b * b + c * c)
    return float(np.sqrt(best)) if best < np.inf else float(np.nan)
