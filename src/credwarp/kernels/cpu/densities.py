"""The mixture's log-density of residuals, its derivative and its responsibilities, in one pass."""

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
    exponent,
    floor,
    less,
    load,
    load_wide,
    significand,
    splat,
    store,
    store_wide,
    total,
    two_to,
    widen,
)
from credwarp.kernels.cpu.memory import At, Size, put, row
from credwarp.kernels.cpu.places import live

_LOG_2 = 0.6931471805599453
# Split so that n · log 2 is subtracted without rounding.
_LOG_2_HIGH = 0.693359375
_LOG_2_LOW = _LOG_2 - _LOG_2_HIGH
_SQUARE_ROOT_OF_2 = 1.4142135623730951

# Per chain and component: log ϱ + ½ log(β / 2π), and β.
Law: TypeAlias = tuple[np.ndarray, np.ndarray]


@kernel
def mixture(
    claims: np.ndarray, tasks: int, ats: tuple[At, At, At], size: Size, law: Law, sums: np.ndarray
) -> int:
    """Write w · d log p / dr, unless its address is 0. In `ats`: residual, weight w, result.

    `sums` gets, for each chain and plane along x: Σ w log p, then Σ w γ and Σ w γ r² for each component.
    """
    residual, weight, out = ats
    channels, side, height, length = size
    components = law[0].shape[1]
    # Sums of a row in float32, sums of the plane in float64, then each component's density.
    count = 1 + 2 * components
    memory = np.empty((3 * count + components) * WIDTH + 16, np.float32)
    scratch = memory.ctypes.data + -memory.ctypes.data % 64
    done = 0
    task = claim(claims.ctypes.data)
    while task < tasks:
        chain, x = task // side, task % side
        memory[:] = 0.0
        for channel in range(channels):
            for y in range(height):
                here, there = row(residual, chain, channel, x, y), row(out, chain, channel, x, y)
                for z in range(0, length, WIDTH):
                    lanes = live(z, length)
                    r = choose(lanes, load(here + 4 * z), splat(0.0))
                    w = choose(lanes, load(row(weight, chain, 0, x, y) + 4 * z), splat(0.0))
                    # Most voxels of a masked image count for nothing, and a NaN counts even there.
                    idle = equal(w, splat(0.0)) & equal(r - r, splat(0.0)) & lanes
                    slope = splat(0.0)
                    if idle != lanes:
                        slope = _weigh(r, w, chain, law, scratch)
                    if out[0] != 0:
                        put(there + 4 * z, slope, length - z)
                _carry(scratch, count)
        for which in range(count):
            sums[chain, x, which] = total(load_wide(scratch + count * BYTES + 2 * which * BYTES))
        done += 1
        task = claim(claims.ctypes.data)
    return done


@inlined
def _weigh(r: Lanes, w: Lanes, chain: int, law: Law, scratch: int) -> Lanes:
    """Add to the sums of the row; the derivative."""
    components = law[0].shape[1]
    densities = scratch + 3 * (1 + 2 * components) * BYTES
    square = r * r
    highest = splat(law[0][chain, 0]) - square * (0.5 * law[1][chain, 0])
    for which in range(components):
        density = splat(law[0][chain, which]) - square * (0.5 * law[1][chain, which])
        store(densities + which * BYTES, density)
        highest = choose(less(highest, density), density, highest)
    whole = splat(0.0)
    for which in range(components):
        part = _exponential(load(densities + which * BYTES) - highest)
        store(densities + which * BYTES, part)
        whole = whole + part
    _add(scratch, w * (highest + _logarithm(whole)))
    share = w / whole
    mean = splat(0.0)
    for which in range(components):
        part = load(densities + which * BYTES) * share
        mean = mean + part * law[1][chain, which]
        _add(scratch + (1 + which) * BYTES, part)
        _add(scratch + (1 + components + which) * BYTES, part * square)
    return splat(0.0) - mean * r


@inlined
def _add(address: int, value: Lanes) -> None:
    store(address, load(address) + value)


@inlined
def _carry(scratch: int, count: int) -> None:
    """Add the sums of a row to those of the plane."""
    for which in range(count):
        row_sum, plane_sum = scratch + which * BYTES, scratch + (count + 2 * which) * BYTES
        store_wide(plane_sum, load_wide(plane_sum) + widen(load(row_sum)))
        store(row_sum, splat(0.0))


@inlined
def _exponential(x: Lanes) -> Lanes:
    """For x ≤ 0, to within rounding; Taylor's series between −½ log 2 and ½ log 2."""
    x = choose(less(x, splat(-87.0)), splat(-87.0), x)
    power = floor(x * (1.0 / _LOG_2) + 0.5)
    power = choose(equal(power, power), power, splat(0.0))
    x = (x - power * _LOG_2_HIGH) - power * _LOG_2_LOW
    series = x * (1.0 / 5040.0) + 1.0 / 720.0
    series = series * x + 1.0 / 120.0
    series = series * x + 1.0 / 24.0
    series = series * x + 1.0 / 6.0
    series = series * x + 0.5
    return ((series * x + 1.0) * x + 1.0) * two_to(power)


@inlined
def _logarithm(x: Lanes) -> Lanes:
    """For x ≥ 1, to within rounding: 2 artanh((m − 1) / (m + 1)), m within a factor √2 of 1."""
    power, part = exponent(x), significand(x)
    large = less(splat(_SQUARE_ROOT_OF_2), part)
    power = choose(large, power + 1.0, power)
    part = choose(large, part * 0.5, part)
    ratio = (part - 1.0) / (part + 1.0)
    square = ratio * ratio
    series = square * (1.0 / 9.0) + 1.0 / 7.0
    series = series * square + 1.0 / 5.0
    series = series * square + 1.0 / 3.0
    series = (series * square + 1.0) * ratio * 2.0
    # The significand of a NaN is a number.
    return choose(equal(x, x), power * _LOG_2 + series, x)
