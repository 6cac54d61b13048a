"""Where a displaced voxel lands: its cell, its place in the cell, and the values round it.

A *near* voxel moves by less than one: its value is a sum over its 27 neighbours, read without looking where
it goes. Others are taken together as long as they land in cells that lie side by side.
"""

from typing import TypeAlias

import numpy as np

from credwarp.kernels.compiled import inlined
from credwarp.kernels.cpu.lanes import (
    WIDTH,
    Lanes,
    choose,
    clamp,
    equal,
    first,
    floor,
    lane,
    less,
    load,
    positive,
    ramp,
    side,
    splat,
)
from credwarp.kernels.cpu.memory import At, Size

# A thing for each axis; or for the neighbour below, the voxel itself and the neighbour above.
Three: TypeAlias = tuple[Lanes, Lanes, Lanes]
# Chain, x, y, and the z of the first lane.
Place: TypeAlias = tuple[int, int, int, int]


@inlined
def hold(index: int, size: int) -> int:
    """The nearest index that exists."""
    return min(max(index, 0), size - 1)


@inlined
def bit(z: int, length: int) -> int:
    """The bit that stands for the voxels from z on, in an integer for a row of this length."""
    stretch = WIDTH
    while length > 62 * stretch:
        stretch *= 2
    return 1 << (z // stretch)


@inlined
def live(z: int, length: int) -> int:
    """The lanes from z on that are in the row."""
    return (1 << min(length - z, WIDTH)) - 1


@inlined
def vector(address: int, step: int) -> Three:
    """Three components, `step` bytes apart."""
    return load(address), load(address + step), load(address + 2 * step)


@inlined
def near(d: Three) -> int:
    """The lanes that move by less than a voxel along every axis."""
    one, minus = splat(1.0), splat(-1.0)
    above = less(d[0], one) & less(d[1], one) & less(d[2], one)
    lanes: int = above & less(minus, d[0]) & less(minus, d[1]) & less(minus, d[2])
    return lanes


@inlined
def hat(d: Lanes) -> Three:
    """The weights of the neighbour below, of the voxel itself and of the neighbour above, for |d| < 1."""
    above = positive(d)
    below = above - d
    return below, 1.0 - (above + below), above


@inlined
def tie(index: int, size: int) -> Lanes:
    """Displacements below it look back, others ahead: at the last index 0 looks back, as in the reference."""
    return splat(np.float32(1e-37) if index == size - 1 else np.float32(0.0))


@inlined
def ties(z: int, length: int) -> Lanes:
    """`tie` for the lanes from z on."""
    return choose(equal(ramp() + float(z), splat(length - 1.0)), splat(np.float32(1e-37)), splat(0.0))


@inlined
def cell(displacement: Lanes, index: Lanes, size: int) -> tuple[Lanes, Lanes]:
    """How many voxels away the lower corner of the cell is, and the weight of the upper corner."""
    # In the cells just outside both corners have the value of the border; farther out nothing changes.
    shift = clamp(displacement, -1.0 - index, float(size) - index)
    low = clamp(floor(shift), -1.0 - index, size - 1.0 - index)
    upper = shift - low
    # The last voxel belongs to the last cell, from which its slope is taken.
    last = equal(low + index, splat(size - 1.0)) & equal(upper, splat(0.0))
    low = choose(last, low - 1.0, low)
    upper = choose(last, splat(1.0), upper)
    return choose(equal(low, low), low, splat(0.0)), upper


@inlined
def cells(d: Three, place: Place, size: Size) -> tuple[Three, Three]:
    """`cell` along each axis."""
    low_x, upper_x = cell(d[0], splat(float(place[1])), size[1])
    low_y, upper_y = cell(d[1], splat(float(place[2])), size[2])
    low_z, upper_z = cell(d[2], ramp() + float(place[3]), size[3])
    return (low_x, low_y, low_z), (upper_x, upper_y, upper_z)


@inlined
def together(todo: int, low: Three) -> tuple[int, int, int, int]:
    """Of the lanes still to do: those whose cell is as far away as the first one's, and how far."""
    chosen = first(todo)
    x, y, z = lane(low[0], chosen), lane(low[1], chosen), lane(low[2], chosen)
    same = equal(low[0], splat(x)) & equal(low[1], splat(y)) & equal(low[2], splat(z)) & todo
    return same, int(x), int(y), int(z)


@inlined
def edges(at: At, place: Place, away: tuple[int, int, int, int], size: Size) -> tuple[int, int, int, int]:
    """The addresses of the four edges along z of a cell that far away, in the first channel."""
    x, y = place[1] + away[1], place[2] + away[2]
    left, right = hold(x, size[1]) * at[3], hold(x + 1, size[1]) * at[3]
    low, high = hold(y, size[2]) * at[4], hold(y + 1, size[2]) * at[4]
    start = at[0] + place[0] * at[1] + 4 * (place[3] + away[3])
    return start + left + low, start + left + high, start + right + low, start + right + high


@inlined
def between(a: Lanes, b: Lanes, weight: Lanes) -> Lanes:
    """Linear interpolation."""
    return a + weight * (b - a)


@inlined
def inside(corners: tuple[int, int, int, int], step: int, weight: Three) -> Lanes:
    """Linear interpolation in a cell whose edges start `step` bytes after these."""
    a, b, c, d = corners[0] + step, corners[1] + step, corners[2] + step, corners[3] + step
    x, y, z = weight
    lower = between(between(load(a), load(a + 4), z), between(load(b), load(b + 4), z), y)
    upper = between(between(load(c), load(c + 4), z), between(load(d), load(d + 4), z), y)
    return between(lower, upper, x)


@inlined
def along_z(address: int, z: Three) -> Lanes:
    """Three neighbours in a row, weighted."""
    return load(address - 4) * z[0] + load(address) * z[1] + load(address + 4) * z[2]


@inlined
def along_y(address: int, steps: tuple[int, int, int], y: Three, z: Three) -> Lanes:
    """Nine neighbours in a plane, weighted."""
    below, here, above = address + steps[0], address + steps[1], address + steps[2]
    return along_z(below, z) * y[0] + along_z(here, z) * y[1] + along_z(above, z) * y[2]


@inlined
def three_steps(index: int, size: int, step: int) -> tuple[int, int, int]:
    """The offsets of the neighbour below, of a line itself and of the neighbour above."""
    return hold(index - 1, size) * step, index * step, hold(index + 1, size) * step


@inlined
def steepness(d: Lanes, bound: Lanes, below: Lanes, here: Lanes, above: Lanes) -> Lanes:
    """The slope between a voxel and its neighbour, on the side to which d points."""
    return side(d, bound, here - below, above - here)
