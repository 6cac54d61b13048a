"""The adjoint of reading a field where near voxels land: each place looks for what comes back to it.

What arrives at a voxel comes from its 27 neighbours, so nothing is written twice and no two tasks meet.
"""

from typing import TypeAlias

import numpy as np

from credwarp.kernels.compiled import inlined, kernel
from credwarp.kernels.cpu.lanes import (
    WIDTH,
    Lanes,
    claim,
    load,
    peek,
    poke,
    positive,
    splat,
    store,
)
from credwarp.kernels.cpu.memory import At, Size, put, row
from credwarp.kernels.cpu.places import (
    Place,
    Three,
    bit,
    hat,
    steepness,
    three_steps,
    tie,
    ties,
    vector,
)
from credwarp.kernels.cpu.pulling import slopes

# Addresses of displacement and gradient with the bits of what is not near, and what a line shares.
Lines: TypeAlias = tuple[np.ndarray, np.ndarray]


@kernel
def collect(
    claims: np.ndarray, tasks: int, ats: tuple[At, At, At, At], size: Size, squares: int, reach: np.ndarray
) -> int:
    """Write what near voxels hand back. In `ats`: source with pads, d, what arrives at each voxel, result.

    If source and d are the same field, which `squares` itself, its other half is added: g + (∇source)ᵀ g.
    """
    source, displacement, gradient, out = ats
    _, side, height, length = size
    # Nine rows: three components by where along z they go, each with room for a neighbour at either end.
    step = 4 * (-(-length // WIDTH) * WIDTH + 2 * WIDTH)
    scratch = np.zeros(9 * step // 4 + 2 * WIDTH, np.float32)
    lines = (np.empty((9, 3), np.int64), np.empty((9, 6), np.float32))
    done = 0
    task = claim(claims.ctypes.data)
    while task < tasks:
        chain, x = task // side, task % side
        # Within the loop: numba frees an array after its last use, and an address is none.
        sums = scratch.ctypes.data + 4 * WIDTH
        for y in range(height):
            count = _neighbours(displacement, gradient, (chain, x, y, 0), size, reach, lines)
            for z in range(0, length, WIDTH):
                _arrivals(lines, count, z, length, (displacement[2], gradient[2]), (sums, step))
            _fold(sums, step, length)
            here, there = row(displacement, chain, 0, x, y), row(out, chain, 0, x, y)
            given = row(gradient, chain, 0, x, y)
            far = reach[chain, x, y, 0]
            for z in range(0, length, WIDTH):
                a, b, c = _meet(sums + 4 * z, step)
                if squares:
                    g = vector(given + 4 * z, gradient[2])
                    d = vector(here + 4 * z, displacement[2])
                    place = (chain, x, y, z)
                    if far & bit(z, length):
                        s = slopes(source, place, d, (given + 4 * z, gradient[2]), size)
                    else:
                        s = _near_slopes(source, place, d, g, size)
                    a, b, c = a + (g[0] + s[0]), b + (g[1] + s[1]), c + (g[2] + s[2])
                put(there + 4 * z, a, length - z)
                put(there + out[2] + 4 * z, b, length - z)
                put(there + 2 * out[2] + 4 * z, c, length - z)
            for channel in range(3):
                poke(there + channel * out[2] - 4, 0.0)
                poke(there + channel * out[2] + 4 * length, 0.0)
        done += 1
        task = claim(claims.ctypes.data)
    return done


@inlined
def _neighbours(
    displacement: At, gradient: At, place: Place, size: Size, reach: np.ndarray, lines: Lines
) -> int:
    """Note the lines from which near voxels may come to this one, and count them."""
    chain, x, y, _ = place
    count = 0
    for i in range(max(x - 1, 0), min(x + 2, size[1])):
        a, b, c = _share(x - i, i, size[1])
        for j in range(max(y - 1, 0), min(y + 2, size[2])):
            lines[0][count, 0] = row(displacement, chain, 0, i, j)
            lines[0][count, 1] = row(gradient, chain, 0, i, j)
            lines[0][count, 2] = reach[chain, i, j, 0]
            lines[1][count, 0], lines[1][count, 1], lines[1][count, 2] = a, b, c
            d, e, f = _share(y - j, j, size[2])
            lines[1][count, 3], lines[1][count, 4], lines[1][count, 5] = d, e, f
            count += 1
    return count


@inlined
def _arrivals(
    lines: Lines, count: int, z: int, length: int, steps: tuple[int, int], sums: tuple[int, int]
) -> None:
    """Add up what arrives from near voxels, apart by where along z it goes."""
    at, share = lines
    mark, zero = bit(z, length), splat(0.0)
    a, b, c = (zero, zero, zero), (zero, zero, zero), (zero, zero, zero)
    for line in range(count):
        if at[line, 2] & mark:
            continue
        d, g = vector(at[line, 0] + 4 * z, steps[0]), vector(at[line, 1] + 4 * z, steps[1])
        weight = _weigh(d[0], (share[line, 0], share[line, 1], share[line, 2]))
        weight = weight * _weigh(d[1], (share[line, 3], share[line, 4], share[line, 5]))
        to = hat(d[2])
        a, b, c = _add(a, g[0] * weight, to), _add(b, g[1] * weight, to), _add(c, g[2] * weight, to)
    _keep(sums[0] + 4 * z, sums[1], a)
    _keep(sums[0] + 3 * sums[1] + 4 * z, sums[1], b)
    _keep(sums[0] + 6 * sums[1] + 4 * z, sums[1], c)


@inlined
def _add(sums: Three, value: Lanes, to: Three) -> Three:
    return sums[0] + value * to[0], sums[1] + value * to[1], sums[2] + value * to[2]


@inlined
def _keep(address: int, step: int, sums: Three) -> None:
    store(address, sums[0])
    store(address + step, sums[1])
    store(address + 2 * step, sums[2])


@inlined
def _share(offset: int, index: int, size: int) -> tuple[float, float, float]:
    """What a line hands to another, `offset` lines on: so much, and so much per displacement up and down."""
    if offset > 0:
        return 0.0, 1.0, 0.0
    if offset < 0:
        return 0.0, 0.0, 1.0
    # What would leave the grid stays on its border.
    return 1.0, (-1.0 if index < size - 1 else 0.0), (-1.0 if index > 0 else 0.0)


@inlined
def _weigh(d: Lanes, share: tuple[float, float, float]) -> Lanes:
    up = positive(d)
    return up * share[1] + ((up - d) * share[2] + share[0])


@inlined
def _fold(sums: int, step: int, length: int) -> None:
    """Leave on the border along z what would leave the grid."""
    end = 4 * (length - 1)
    for component in range(3):
        below = sums + 3 * component * step
        here, above = below + step, below + 2 * step
        poke(here, peek(here) + peek(below))
        poke(here + end, peek(here + end) + peek(above + end))
        poke(below + end + 4, 0.0)


@inlined
def _meet(address: int, step: int) -> Three:
    """What comes from the voxel above, from the voxel itself and from the one below, per component."""
    return _three(address, step), _three(address + 3 * step, step), _three(address + 6 * step, step)


@inlined
def _three(address: int, step: int) -> Lanes:
    return load(address + 4) + load(address + step) + load(address + 2 * step - 4)


@inlined
def _near_slopes(source: At, place: Place, d: Three, g: Three, size: Size) -> Three:
    x, y, z = hat(d[0]), hat(d[1]), hat(d[2])
    along_x = three_steps(place[1], size[1], source[3])
    along_y = three_steps(place[2], size[2], source[4])
    bounds = (tie(place[1], size[1]), tie(place[2], size[2]), ties(place[3], size[3]))
    start = source[0] + place[0] * source[1] + 4 * place[3]
    below = _plane(start + along_x[0], along_y, source[2], (d, bounds, g), (y, z))
    here = _plane(start + along_x[1], along_y, source[2], (d, bounds, g), (y, z))
    above = _plane(start + along_x[2], along_y, source[2], (d, bounds, g), (y, z))
    slope_x = steepness(d[0], bounds[0], below[0], here[0], above[0])
    slope_y = below[1] * x[0] + here[1] * x[1] + above[1] * x[2]
    slope_z = below[2] * x[0] + here[2] * x[1] + above[2] * x[2]
    return slope_x, slope_y, slope_z


@inlined
def _plane(
    start: int, steps: tuple[int, int, int], channel: int, given: tuple[Three, Three, Three],
    weights: tuple[Three, Three],
) -> Three:  # fmt: skip
    """Σ_c g_c source_c in a plane, its slope along y and its slope along z."""
    d, bounds, _ = given
    y, z = weights
    below, slope_below = _line(start + steps[0], channel, given, z)
    here, slope_here = _line(start + steps[1], channel, given, z)
    above, slope_above = _line(start + steps[2], channel, given, z)
    value = below * y[0] + here * y[1] + above * y[2]
    slope = slope_below * y[0] + slope_here * y[1] + slope_above * y[2]
    return value, steepness(d[1], bounds[1], below, here, above), slope


@inlined
def _line(start: int, channel: int, given: tuple[Three, Three, Three], z: Three) -> tuple[Lanes, Lanes]:
    d, bounds, g = given
    below = _mixed(start - 4, channel, g)
    here = _mixed(start, channel, g)
    above = _mixed(start + 4, channel, g)
    return below * z[0] + here * z[1] + above * z[2], steepness(d[2], bounds[2], below, here, above)


@inlined
def _mixed(address: int, channel: int, g: Three) -> Lanes:
    values = vector(address, channel)
    return values[0] * g[0] + values[1] * g[1] + values[2] * g[2]
