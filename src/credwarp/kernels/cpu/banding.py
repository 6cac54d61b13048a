"""Linear maps along one axis that look at a few neighbours each, and the Laplacian along all three."""

from typing import TypeAlias

import numpy as np

from credwarp.kernels.compiled import inlined, kernel
from credwarp.kernels.cpu.lanes import (
    WIDTH,
    Lanes,
    choose,
    claim,
    gather,
    load,
    splat,
    splat_wide,
    store,
    total,
    widen,
)
from credwarp.kernels.cpu.memory import At, Shape, Size, pad, put, row
from credwarp.kernels.cpu.places import hold, live

# Where each result starts to look, in rows or for z in bytes; tap × result: the weights.
Taps: TypeAlias = tuple[np.ndarray, np.ndarray]


@kernel
def across(claims: np.ndarray, tasks: int, ats: tuple[At, At], shape: Shape, axis: int, taps: Taps) -> int:
    """Write Σ_k weight_k · row_(first + k) along x (0) or y (1); `shape` is the result's."""
    source, out = ats
    side, height, length = shape
    first, weights = taps
    step = source[3 + axis]
    done = 0
    task = claim(claims.ctypes.data)
    while task < tasks:
        lead, x = task // side, task % side
        for y in range(height):
            index = y if axis else x
            here = row(source, lead, 0, 0, y) if axis == 0 else row(source, lead, 0, x, 0)
            here += first[index] * step
            there = row(out, lead, 0, x, y)
            for z in range(0, length, WIDTH):
                value = splat(0.0)
                for tap in range(weights.shape[0]):
                    value = value + load(here + tap * step + 4 * z) * weights[tap, index]
                put(there + 4 * z, value, length - z)
        done += 1
        task = claim(claims.ctypes.data)
    return done


@kernel
def within(
    claims: np.ndarray, tasks: int, ats: tuple[At, At], shape: Shape, straight: np.ndarray, taps: Taps
) -> int:
    """`across` along z; `straight` says of each vector of results whether they start side by side."""
    source, out = ats
    side, height, length = shape
    first, weights = taps
    done = 0
    task = claim(claims.ctypes.data)
    while task < tasks:
        lead, x = task // side, task % side
        for y in range(height):
            here, there = row(source, lead, 0, x, y), row(out, lead, 0, x, y)
            for z in range(0, length, WIDTH):
                value = splat(0.0)
                for tap in range(weights.shape[0]):
                    weight = load(weights.ctypes.data + 4 * (tap * weights.shape[1] + z))
                    if straight[z // WIDTH]:
                        value = value + load(here + first[z] + 4 * tap) * weight
                    else:
                        value = value + gather(here + 4 * tap, first.ctypes.data + 8 * z) * weight
                put(there + 4 * z, value, length - z)
        done += 1
        task = claim(claims.ctypes.data)
    return done


@kernel
def laplacian(
    claims: np.ndarray, tasks: int, ats: tuple[At, At], size: Size, constant: float,
    rates: tuple[float, float, float],
) -> int:  # fmt: skip
    """Write constant · w + Σ_axes rate · (2w − its two neighbours), what would leave the grid staying."""
    source, out = ats
    channels, side, height, length = size
    line = np.empty(length + 4 * WIDTH, np.float32)
    done = 0
    task = claim(claims.ctypes.data)
    while task < tasks:
        chain, x = task // side, task % side
        # Within the loop: numba frees an array after its last use, and an address is none.
        middle = line.ctypes.data + 4 * WIDTH
        for channel in range(channels):
            for y in range(height):
                here, there = row(source, chain, channel, x, y), row(out, chain, channel, x, y)
                left, right = (hold(x - 1, side) - x) * source[3], (hold(x + 1, side) - x) * source[3]
                down, up = (hold(y - 1, height) - y) * source[4], (hold(y + 1, height) - y) * source[4]
                for z in range(0, 4 * length, 4 * WIDTH):
                    store(middle + z, load(here + z))
                pad(middle, length)
                for z in range(0, length, WIDTH):
                    place = here + 4 * z
                    value = load(place)
                    along_x = _bend(value, load(place + left), load(place + right)) * rates[0]
                    along_y = _bend(value, load(place + down), load(place + up)) * rates[1]
                    below, above = load(middle + 4 * z - 4), load(middle + 4 * z + 4)
                    along_z = _bend(value, below, above) * rates[2]
                    put(there + 4 * z, value * constant + along_x + along_y + along_z, length - z)
        done += 1
        task = claim(claims.ctypes.data)
    return done


@inlined
def _bend(value: Lanes, before: Lanes, after: Lanes) -> Lanes:
    return (value - before) + (value - after)


@kernel
def product(claims: np.ndarray, tasks: int, ats: tuple[At, At], size: Size, sums: np.ndarray) -> int:
    """`sums` gets, for each chain, channel and plane along x, the sum of products."""
    left, right = ats
    channels, side, height, length = size
    zero = splat(0.0)
    done = 0
    task = claim(claims.ctypes.data)
    while task < tasks:
        chain, x = task // side, task % side
        for channel in range(channels):
            found = splat_wide(0.0)
            for y in range(height):
                one, other = row(left, chain, channel, x, y), row(right, chain, channel, x, y)
                for z in range(0, length, WIDTH):
                    lanes = live(z, length)
                    a = choose(lanes, load(one + 4 * z), zero)
                    b = choose(lanes, load(other + 4 * z), zero)
                    found = found + widen(a) * widen(b)
            sums[chain, channel, x] = total(found)
        done += 1
        task = claim(claims.ctypes.data)
    return done
