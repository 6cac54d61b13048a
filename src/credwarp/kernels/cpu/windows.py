"""Sums over the window round each voxel: running along x and y, doubling along z, in float64.

Float64 keeps the digits of a small variance beside a large mean, and running sums as good as fresh ones.
"""

from typing import TypeAlias

import numpy as np

from credwarp.kernels.compiled import inlined, kernel
from credwarp.kernels.cpu.lanes import (
    WIDTH,
    Wide,
    choose,
    claim,
    load,
    load_wide,
    narrow,
    positive,
    root,
    splat,
    splat_wide,
    store_wide,
    widen,
)
from credwarp.kernels.cpu.memory import At, Shape, put, row
from credwarp.kernels.cpu.places import Place, live

# Planes of a task. Running sums start afresh with it, so the result does not depend on the threads.
SLAB = 16
MEAN, VARIANCE, STANDARDISED, ADJOINT = range(4)

# Image, result, 1/sd, and for the adjoint what was standardised and what arrives.
Ats: TypeAlias = tuple[At, At, At, At, At]
# Scratch: the sums of columns, the bytes of one of the two sums and of its rows; the lines, the bytes of one.
Scratch: TypeAlias = tuple[int, int, int, int, int]
# The radius, what is asked for, and the floor of the standard deviation, squared.
Window: TypeAlias = tuple[int, int, float]


def shares(length: int, radius: int) -> np.ndarray:
    """One over how many voxels of the window exist along an axis, and room for a vector at the end."""
    index = np.arange(length)
    counts = np.minimum(index + radius, length - 1) - np.maximum(index - radius, 0) + 1
    return np.concatenate([1.0 / counts, np.zeros(WIDTH)])


@kernel
def windowed(
    claims: np.ndarray, tasks: int, ats: Ats, shape: Shape, window: Window,
    parts: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> int:  # fmt: skip
    """Write the mean, the variance, the standardised image with 1/sd, or the adjoint of standardising."""
    side, height, length = shape
    radius = window[0]
    whole = -(-length // WIDTH) * WIDTH
    line = whole + 4 * radius + 4 * WIDTH
    memory = np.empty(2 * height * whole + 6 * line + 8)
    columns = -(memory.ctypes.data // 8) % 8
    lines = columns + 2 * height * whole
    start = memory.ctypes.data + 8 * columns
    scratch = (start, 8 * height * whole, 8 * whole, start + 8 * (lines - columns), 8 * line)
    slabs = -(-side // SLAB)
    done = 0
    task = claim(claims.ctypes.data)
    while task < tasks:
        lead, begin = task // slabs, task % slabs * SLAB
        memory[:] = 0.0
        first = max(begin - radius, 0)
        for x in range(first, min(begin + radius, side)):
            _add_plane(ats, (lead, x, 0, 0), shape, window, parts, scratch, 1.0)
        for x in range(begin, min(begin + SLAB, side)):
            if x + radius < side:
                _add_plane(ats, (lead, x + radius, 0, 0), shape, window, parts, scratch, 1.0)
            if x - radius - 1 >= first:
                _add_plane(ats, (lead, x - radius - 1, 0, 0), shape, window, parts, scratch, -1.0)
            memory[lines : lines + 2 * line] = 0.0
            for y in range(min(radius, height)):
                _add_row(scratch, y, length, radius, 1.0)
            for y in range(height):
                if y + radius < height:
                    _add_row(scratch, y + radius, length, radius, 1.0)
                if y > radius:
                    _add_row(scratch, y - radius - 1, length, radius, -1.0)
                for which in range(1 if window[1] == MEAN else 2):
                    _add_along(scratch, which, length, 2 * radius + 1)
                _finish(ats, (lead, x, y, 0), length, window, parts, scratch)
        done += 1
        task = claim(claims.ctypes.data)
    return done


@inlined
def _add_plane(
    ats: Ats, place: Place, shape: Shape, window: Window, parts: tuple[np.ndarray, ...], scratch: Scratch,
    sign: float,
) -> None:  # fmt: skip
    for y in range(shape[1]):
        for z in range(0, shape[2], WIDTH):
            here = (place[0], place[1], y, z)
            first, second = _summands(ats, here, shape[2], window, parts)
            at = scratch[0] + y * scratch[2] + 8 * z
            store_wide(at, load_wide(at) + first * sign)
            if window[1] != MEAN:
                store_wide(at + scratch[1], load_wide(at + scratch[1]) + second * sign)


@inlined
def _summands(
    ats: Ats, place: Place, length: int, window: Window, parts: tuple[np.ndarray, ...]
) -> tuple[Wide, Wide]:
    """What a voxel adds to the two sums of each window that holds it."""
    lead, x, y, z = place
    lanes, zero = live(z, length), splat(0.0)
    value = widen(choose(lanes, load(row(ats[0], lead, 0, x, y) + 4 * z), zero))
    if window[1] != ADJOINT:
        return value, value * value
    # y = (I − m)/s: dI = g/s − Σ [g/s · (1 + y²) + 2qI]/n + 2I Σ q/n with q = −g y / 2s², sums over windows.
    inverse = load(row(ats[2], lead, 0, x, y) + 4 * z)
    outcome = load(row(ats[3], lead, 0, x, y) + 4 * z)
    scaled = load(row(ats[4], lead, 0, x, y) + 4 * z) * inverse
    share = load_wide(parts[2].ctypes.data + 8 * z) * (parts[0][x] * parts[1][y])
    slant = widen(choose(lanes, scaled * inverse * outcome * -0.5, zero)) * share
    level = widen(choose(lanes, scaled + scaled * outcome * outcome, zero)) * share
    return level + slant * value * 2.0, slant


@inlined
def _add_row(scratch: Scratch, y: int, length: int, radius: int, sign: float) -> None:
    for which in range(2):
        column = scratch[0] + which * scratch[1] + y * scratch[2]
        line = scratch[3] + which * scratch[4] + 8 * radius
        for z in range(0, 8 * length, 8 * WIDTH):
            store_wide(line + z, load_wide(line + z) + load_wide(column + z) * sign)


@inlined
def _add_along(scratch: Scratch, which: int, length: int, width: int) -> None:
    """Sums of `width` neighbours in a line, from sums of 1, 2, 4 … of them."""
    line = scratch[3] + which * scratch[4]
    doubled, result = line + 2 * scratch[4], line + 4 * scratch[4]
    for z in range(0, 8 * (length + width), 8 * WIDTH):
        store_wide(doubled + z, load_wide(line + z))
    for z in range(0, 8 * length, 8 * WIDTH):
        store_wide(result + z, splat_wide(0.0))
    shift, size, reach = 0, 8, 8 * (length + width)
    while width > 0:
        if width & 1:
            for z in range(0, 8 * length, 8 * WIDTH):
                store_wide(result + z, load_wide(result + z) + load_wide(doubled + z + shift))
            shift += size
        width >>= 1
        if width > 0:
            for z in range(0, reach, 8 * WIDTH):
                store_wide(doubled + z, load_wide(doubled + z) + load_wide(doubled + z + size))
            size *= 2


@inlined
def _finish(
    ats: Ats, place: Place, length: int, window: Window, parts: tuple[np.ndarray, ...], scratch: Scratch
) -> None:
    lead, x, y, _ = place
    image, out = row(ats[0], lead, 0, x, y), row(ats[1], lead, 0, x, y)
    inverse, arriving = row(ats[2], lead, 0, x, y), row(ats[4], lead, 0, x, y)
    sums = scratch[3] + 4 * scratch[4]
    share = parts[0][x] * parts[1][y]
    for z in range(0, length, WIDTH):
        first, second = load_wide(sums + 8 * z), load_wide(sums + scratch[4] + 8 * z)
        value = load(image + 4 * z)
        if window[1] == ADJOINT:
            own = widen(load(arriving + 4 * z) * load(inverse + 4 * z))
            put(out + 4 * z, narrow(own - first + second * widen(value) * 2.0), length - z)
            continue
        part = load_wide(parts[2].ctypes.data + 8 * z) * share
        mean = first * part
        variance = positive(narrow(second * part - mean * mean))
        if window[1] == MEAN:
            put(out + 4 * z, narrow(mean), length - z)
        elif window[1] == VARIANCE:
            put(out + 4 * z, variance, length - z)
        else:
            scale = 1.0 / root(variance + window[2])
            put(out + 4 * z, narrow(widen(value) - mean) * scale, length - z)
            put(inverse + 4 * z, scale, length - z)
