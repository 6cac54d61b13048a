"""The adjoint of reading where voxels land that are not near: they bring back what they got.

A task owns planes of the result and adds what falls on them, in one order whatever the tasks.
"""

import numpy as np

from credwarp.kernels.compiled import inlined, kernel
from credwarp.kernels.cpu.lanes import WIDTH, Lanes, claim, load, peek, poke, store_some
from credwarp.kernels.cpu.memory import At, Size, row
from credwarp.kernels.cpu.places import Place, Three, bit, cells, edges, hold, live, together, vector


@kernel
def scatter(
    claims: np.ndarray, tasks: int, ats: tuple[At, At, At], size: Size, stride: int, reach: np.ndarray
) -> int:
    """Add what voxels that are not near hand back. In `ats`: d, what arrives at each voxel, result with pads.

    A task owns `stride` planes of a chain.
    """
    displacement, gradient, out = ats
    channels, side, height, length = size
    slabs = -(-side // stride)
    done = 0
    task = claim(claims.ctypes.data)
    while task < tasks:
        chain, begin = task // slabs, task % slabs * stride
        end = min(begin + stride, side)
        for x in range(side):
            for y in range(height):
                far = reach[chain, x, y, 0]
                if far == 0 or reach[chain, x, y, 1] >= end or reach[chain, x, y, 2] < begin:
                    continue
                for z in range(0, length, WIDTH):
                    if far & bit(z, length):
                        _hand_back(displacement, gradient, out, (chain, x, y, z), size, (begin, end))
        for x in range(begin, end):
            for y in range(height):
                for channel in range(channels):
                    _take_in(row(out, chain, channel, x, y), length)
        done += 1
        task = claim(claims.ctypes.data)
    return done


@inlined
def _hand_back(
    displacement: At, gradient: At, out: At, place: Place, size: Size, owned: tuple[int, int]
) -> None:
    chain, x, y, z = place
    d = vector(row(displacement, chain, 0, x, y) + 4 * z, displacement[2])
    given = row(gradient, chain, 0, x, y) + 4 * z
    low, upper = cells(d, place, size)
    todo = live(z, size[3])
    while todo != 0:
        away = together(todo, low)
        todo ^= away[0]
        a, b, c, e = edges(out, place, away, size)
        left, right = hold(x + away[1], size[1]), hold(x + away[1] + 1, size[1])
        for channel in range(size[0]):
            g, step = load(given + channel * gradient[2]), channel * out[2]
            if owned[0] <= left < owned[1]:
                _deposit(a + step, b + step, g * (1.0 - upper[0]), upper, away[0])
            if owned[0] <= right < owned[1]:
                _deposit(c + step, e + step, g * upper[0], upper, away[0])


@inlined
def _deposit(low: int, high: int, value: Lanes, upper: Three, lanes: int) -> None:
    above = value * upper[1]
    below = value - above
    store_some(low, load(low) + below * (1.0 - upper[2]), lanes)
    store_some(high, load(high) + above * (1.0 - upper[2]), lanes)
    store_some(low + 4, load(low + 4) + below * upper[2], lanes)
    store_some(high + 4, load(high + 4) + above * upper[2], lanes)


@inlined
def _take_in(address: int, length: int) -> None:
    """Move what was left beside a row to its ends."""
    end = address + 4 * length
    poke(address, peek(address) + peek(address - 4))
    poke(end - 4, peek(end - 4) + peek(end))
    poke(address - 4, 0.0)
    poke(end, 0.0)
