"""Reading a field or an image where displaced voxels land, and its slope there."""

from typing import TypeAlias

import numpy as np

from credwarp.kernels.compiled import inlined, kernel
from credwarp.kernels.cpu.lanes import WIDTH, choose, claim, load, splat, store_some
from credwarp.kernels.cpu.memory import At, Size, pad, put, row
from credwarp.kernels.cpu.places import (
    Place,
    Three,
    along_y,
    between,
    bit,
    cells,
    edges,
    hat,
    hold,
    inside,
    live,
    near,
    three_steps,
    together,
    vector,
)

# The lowest and the highest plane along x that was read.
Planes: TypeAlias = tuple[int, int]
# Where the first channel of the result goes, the step to the next; and the same of the displacement.
Target: TypeAlias = tuple[int, int, int, int]


@kernel
def pull(
    claims: np.ndarray, tasks: int, ats: tuple[At, At, At], size: Size, moves: int, reach: np.ndarray
) -> int:
    """Write source(x + d(x)), plus d if `moves`, with pads if 2. In `ats`: source with pads, d, result.

    `reach` gets for each row the bits of where voxels are not near, and the planes that those read.
    """
    source, displacement, out = ats
    channels, side, height, length = size
    done = 0
    task = claim(claims.ctypes.data)
    while task < tasks:
        chain, x = task // side, task % side
        for y in range(height):
            far, lowest, highest = 0, side, -1
            here, there = row(displacement, chain, 0, x, y), row(out, chain, 0, x, y)
            for z in range(0, length, WIDTH):
                d = vector(here + 4 * z, displacement[2])
                place, target = (chain, x, y, z), (there + 4 * z, out[2], here + 4 * z, displacement[2])
                lanes = live(z, length)
                if near(d) & lanes == lanes:
                    _from_neighbours(source, place, d, target, size, moves)
                else:
                    far |= bit(z, length)
                    low, high = _from_cells(source, place, d, target, size, moves)
                    lowest, highest = min(lowest, low), max(highest, high)
            reach[chain, x, y, 0], reach[chain, x, y, 1], reach[chain, x, y, 2] = far, lowest, highest
            if moves == 2:
                for channel in range(channels):
                    pad(there + channel * out[2], length)
        done += 1
        task = claim(claims.ctypes.data)
    return done


@inlined
def _from_neighbours(source: At, place: Place, d: Three, target: Target, size: Size, moves: int) -> None:
    x, y, z = hat(d[0]), hat(d[1]), hat(d[2])
    along_x = three_steps(place[1], size[1], source[3])
    steps = three_steps(place[2], size[2], source[4])
    for channel in range(size[0]):
        a = source[0] + place[0] * source[1] + channel * source[2] + 4 * place[3]
        value = along_y(a + along_x[0], steps, y, z) * x[0]
        value = value + along_y(a + along_x[1], steps, y, z) * x[1]
        value = value + along_y(a + along_x[2], steps, y, z) * x[2]
        if moves:
            value = value + load(target[2] + channel * target[3])
        put(target[0] + channel * target[1], value, size[3] - place[3])


@inlined
def _from_cells(source: At, place: Place, d: Three, target: Target, size: Size, moves: int) -> Planes:
    low, weight = cells(d, place, size)
    lowest, highest = size[1], -1
    todo = live(place[3], size[3])
    while todo != 0:
        away = together(todo, low)
        todo ^= away[0]
        corners = edges(source, place, away, size)
        for channel in range(size[0]):
            value = inside(corners, channel * source[2], weight)
            if moves:
                value = value + load(target[2] + channel * target[3])
            store_some(target[0] + channel * target[1], value, away[0])
        lowest = min(lowest, hold(place[1] + away[1], size[1]))
        highest = max(highest, hold(place[1] + away[1] + 1, size[1]))
    return lowest, highest


@kernel
def incline(claims: np.ndarray, tasks: int, ats: tuple[At, At, At, At], size: Size, moves: int) -> int:
    """Write Σ_channels g ∇source(x + d(x)), plus g if `moves`. In `ats`: source with pads, d, g, result."""
    source, displacement, gradient, out = ats
    _, side, height, length = size
    done = 0
    task = claim(claims.ctypes.data)
    while task < tasks:
        chain, x = task // side, task % side
        for y in range(height):
            here, there = row(displacement, chain, 0, x, y), row(out, chain, 0, x, y)
            given = row(gradient, chain, 0, x, y)
            for z in range(0, length, WIDTH):
                d = vector(here + 4 * z, displacement[2])
                a, b, c = slopes(source, (chain, x, y, z), d, (given + 4 * z, gradient[2]), size)
                if moves:
                    g = vector(given + 4 * z, gradient[2])
                    a, b, c = a + g[0], b + g[1], c + g[2]
                put(there + 4 * z, a, length - z)
                put(there + out[2] + 4 * z, b, length - z)
                put(there + 2 * out[2] + 4 * z, c, length - z)
        done += 1
        task = claim(claims.ctypes.data)
    return done


@inlined
def slopes(source: At, place: Place, d: Three, given: tuple[int, int], size: Size) -> Three:
    """Σ_channels g ∇source, g at an address and a step from channel to channel."""
    low, (x, y, z) = cells(d, place, size)
    along_x, along_y, along_z = splat(0.0), splat(0.0), splat(0.0)
    todo = live(place[3], size[3])
    while todo != 0:
        away = together(todo, low)
        todo ^= away[0]
        a, b, c, e = edges(source, place, away, size)
        sum_x, sum_y, sum_z = splat(0.0), splat(0.0), splat(0.0)
        for channel in range(size[0]):
            g, step = load(given[0] + channel * given[1]), channel * source[2]
            i, j, k, m = load(a + step), load(b + step), load(c + step), load(e + step)
            rise_i, rise_j = load(a + step + 4) - i, load(b + step + 4) - j
            rise_k, rise_m = load(c + step + 4) - k, load(e + step + 4) - m
            sum_z = sum_z + g * between(between(rise_i, rise_j, y), between(rise_k, rise_m, y), x)
            i, j, k, m = i + rise_i * z, j + rise_j * z, k + rise_k * z, m + rise_m * z
            sum_y = sum_y + g * between(j - i, m - k, x)
            sum_x = sum_x + g * (between(k, m, y) - between(i, j, y))
        along_x = choose(away[0], sum_x, along_x)
        along_y = choose(away[0], sum_y, along_y)
        along_z = choose(away[0], sum_z, along_z)
    return along_x, along_y, along_z
