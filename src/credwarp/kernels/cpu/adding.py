"""Sums over draws, voxel by voxel: moments of a field and of the determinant of its Jacobian."""

from typing import TypeAlias

import numpy as np

from credwarp.kernels.compiled import inlined, kernel
from credwarp.kernels.cpu.lanes import (
    BYTES,
    WIDTH,
    Lanes,
    choose,
    claim,
    equal,
    less,
    load,
    splat,
    store,
)
from credwarp.kernels.cpu.memory import At, Shape, row
from credwarp.kernels.cpu.places import Three, hold, live

# 1 / n and (n − 1) / n of the n-th draw.
Parts: TypeAlias = tuple[float, float]
# Where the first component is, the step to the next; above, and below; and what the difference is worth.
Rise: TypeAlias = tuple[int, int, float]


@kernel
def moments(claims: np.ndarray, tasks: int, ats: tuple[At, At], size: Shape, parts: Parts) -> int:
    """Add a field, in `ats`, to its three means and six sums of products (Welford)."""
    field, sums = ats
    first, rest = parts
    done = 0
    x = claim(claims.ctypes.data)
    while x < tasks:
        for y in range(size[1]):
            here, there = row(field, 0, 0, x, y), row(sums, 0, 0, x, y)
            for z in range(0, 4 * size[2], BYTES):
                a = _moved(here + z, there + z, first)
                b = _moved(here + field[2] + z, there + sums[2] + z, first)
                c = _moved(here + 2 * field[2] + z, there + 2 * sums[2] + z, first)
                at = there + 3 * sums[2] + z
                _add(at, a * a, rest)
                _add(at + sums[2], b * b, rest)
                _add(at + 2 * sums[2], c * c, rest)
                _add(at + 3 * sums[2], a * b, rest)
                _add(at + 4 * sums[2], a * c, rest)
                _add(at + 5 * sums[2], b * c, rest)
        done += 1
        x = claim(claims.ctypes.data)
    return done


@kernel
def determinants(
    claims: np.ndarray, tasks: int, ats: tuple[At, At], size: Shape, parts: Parts, folds: np.ndarray
) -> int:
    """Add det(I + ∇field) to its mean, its sum of squares and its count of ≤ 0; `folds` is per plane.

    In `ats`: the field with pads, the sums.
    """
    field, sums = ats
    first, rest = parts
    one, nothing = splat(1.0), splat(0.0)
    done = 0
    x = claim(claims.ctypes.data)
    while x < tasks:
        along_x, folds[x] = _rise(x, size[0], field[3]), 0
        for y in range(size[1]):
            along_y = _rise(y, size[1], field[4])
            here, there = row(field, 0, 0, x, y), row(sums, 0, 0, x, y)
            for z in range(0, size[2], WIDTH):
                at, to = here + 4 * z, there + 4 * z
                a = _difference(at, field[2], along_x)
                b = _difference(at, field[2], along_y)
                c = _along_row(at, field[2], z, size[2])
                found = _triple((a[0] + 1.0, a[1], a[2]), (b[0], b[1] + 1.0, b[2]), (c[0], c[1], c[2] + 1.0))
                apart = found - load(to)
                store(to, load(to) + apart * first)
                _add(to + sums[2], apart * apart, rest)
                folded = (less(found, nothing) | equal(found, nothing)) & live(z, size[2])
                if folded != 0:
                    _add(to + 2 * sums[2], choose(folded, one, nothing), 1.0)
                while folded != 0:
                    folds[x] += 1
                    folded &= folded - 1
        done += 1
        x = claim(claims.ctypes.data)
    return done


@inlined
def _moved(here: int, there: int, share: float) -> Lanes:
    """How far the draw is from the mean, which is brought nearer."""
    apart = load(here) - load(there)
    store(there, load(there) + apart * share)
    return apart


@inlined
def _add(at: int, value: Lanes, share: float) -> None:
    store(at, load(at) + value * share)


@inlined
def _rise(index: int, size: int, step: int) -> Rise:
    above, below = hold(index + 1, size), hold(index - 1, size)
    return (above - index) * step, (below - index) * step, 1.0 / max(above - below, 1)


@inlined
def _difference(at: int, channel: int, rise: Rise) -> Three:
    above, below, share = at + rise[0], at + rise[1], rise[2]
    return (
        (load(above) - load(below)) * share,
        (load(above + channel) - load(below + channel)) * share,
        (load(above + 2 * channel) - load(below + 2 * channel)) * share,
    )


@inlined
def _along_row(at: int, channel: int, z: int, length: int) -> Three:
    """Rows have their ends once more before and after them, so a border's difference is halved too much."""
    ends = (1 if z == 0 else 0) | ((1 << (length - 1 - z)) if length - 1 - z < WIDTH else 0)
    share = choose(ends, splat(1.0), splat(0.5))
    return (
        (load(at + 4) - load(at - 4)) * share,
        (load(at + channel + 4) - load(at + channel - 4)) * share,
        (load(at + 2 * channel + 4) - load(at + 2 * channel - 4)) * share,
    )


@inlined
def _triple(a: Three, b: Three, c: Three) -> Lanes:
    return (
        a[0] * (b[1] * c[2] - b[2] * c[1])
        + a[1] * (b[2] * c[0] - b[0] * c[2])
        + a[2] * (b[0] * c[1] - b[1] * c[0])
    )
