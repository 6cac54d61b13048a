"""Where voxels lie in memory, and memory that is used again."""

import math
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

from credwarp.kernels import threads
from credwarp.kernels.compiled import inlined, kernel
from credwarp.kernels.cpu.lanes import BYTES, WIDTH, Lanes, claim, load, peek, poke, store, store_some

# The address of a first voxel, then bytes from one chain, channel, x and y to the next.
At: TypeAlias = tuple[int, int, int, int, int]
Shape: TypeAlias = tuple[int, int, int]
# Channels, then voxels along x, y and z.
Size: TypeAlias = tuple[int, int, int, int]

_LINE = 16
_WORTH_KEEPING = 1 << 18
_free: dict[int, list[np.ndarray]] = {}


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of voxels along z that may be read `WIDTH` voxels beyond their ends, and what keeps them there."""

    at: At
    memory: object

    def shared(self) -> "Rows":
        """The first chain, for all chains."""
        return Rows((self.at[0], 0, *self.at[2:]), self.memory)


NOTHING = Rows((0, 0, 0, 0, 0), None)


def launch(kernel: Callable[..., int], tasks: int, places: Sequence[Rows], *arguments: Any) -> None:
    """Run a kernel whose first argument of its own is where things lie, which stay there meanwhile."""
    threads.launch(kernel, tasks, tuple(place.at for place in places), *arguments)


def empty(shape: Sequence[int]) -> Tensor:
    """A tensor of float32 with anything in it."""
    # The tensor has to refer to the very array that is lent, not to a view of it.
    return torch.from_numpy(_take(math.prod(shape))).view(tuple(shape))


def rows(tensor: Tensor) -> Rows:
    """A tensor of chains × channels × voxels as it lies in memory, which has to be contiguous along z."""
    a, b, c, d = (4 * stride for stride in tensor.stride()[:4])
    return Rows((tensor.data_ptr(), a, b, c, d), tensor)


def blank(chains: int, channels: int, shape: Shape) -> Rows:
    """Room for values with one more voxel before and after each row."""
    x, y, z = shape
    row = -(-(z + 2) // _LINE) * _LINE
    # An odd number of cache lines apart, planes and channels do not contend for the same places in the cache.
    plane = y * row // _LINE * _LINE | _LINE
    channel = x * plane | _LINE
    memory = _take(chains * channels * channel + 4 * _LINE)
    start = memory.ctypes.data + 4 * _LINE
    return Rows((start, 4 * channels * channel, 4 * channel, 4 * plane, 4 * row), memory)


def clear(target: Rows) -> None:
    """Make everything zero."""
    np.asarray(target.memory).fill(0)


def padded(tensor: Tensor, scale: float = 1.0) -> Rows:
    """The values times `scale`, the first and last voxel of each row once more before and after it."""
    chains, channels, *_ = tensor.shape
    target = blank(chains, channels, voxels(tensor))
    source = tensor if _in_rows(tensor) else tensor.contiguous()
    size = (channels, *voxels(tensor))
    launch(_copy, chains * size[1], (rows(source), target), size, scale, 1)
    return target


def readable(tensor: Tensor) -> Rows:
    """The values, where they are if that can be read `WIDTH` voxels at a time."""
    if _in_rows(tensor) and tensor.shape[-1] % WIDTH == 0:
        return rows(tensor)
    return padded(tensor)


def plain(source: Rows, shape: Sequence[int], scale: float = 1.0) -> Tensor:
    """The values times `scale` as a tensor of chains × channels × voxels."""
    target = empty(shape)
    launch(_copy, shape[0] * shape[2], (source, rows(target)), tuple(shape[1:]), scale, 0)
    return target


def voxels(tensor: Tensor) -> Shape:
    """The number of voxels along each axis."""
    x, y, z = tensor.shape[-3:]
    return x, y, z


@inlined
def row(at: At, chain: int, channel: int, x: int, y: int) -> int:
    """The address of a row."""
    return at[0] + chain * at[1] + channel * at[2] + x * at[3] + y * at[4]


@inlined
def put(address: int, value: Lanes, count: int) -> None:
    """Store the first `count` lanes, or all where there are fewer."""
    if count >= WIDTH:
        store(address, value)
    else:
        store_some(address, value, (1 << count) - 1)


@inlined
def pad(address: int, length: int) -> None:
    """Repeat the ends of a row before and after it."""
    poke(address - 4, peek(address))
    poke(address + 4 * length, peek(address + 4 * length - 4))


@kernel
def _copy(claims: np.ndarray, tasks: int, ends: tuple[At, At], size: Size, scale: float, pads: int) -> int:
    source, target = ends
    channels, side, height, length = size
    factor = np.float32(scale)
    done = 0
    task = claim(claims.ctypes.data)
    while task < tasks:
        chain, x = task // side, task % side
        for channel in range(channels):
            for y in range(height):
                here, there = row(source, chain, channel, x, y), row(target, chain, channel, x, y)
                whole = length // WIDTH * BYTES
                for z in range(0, whole, BYTES):
                    store(there + z, load(here + z) * factor)
                for z in range(whole, 4 * length, 4):
                    poke(there + z, peek(here + z) * factor)
                if pads:
                    pad(there, length)
        done += 1
        task = claim(claims.ctypes.data)
    return done


def _in_rows(tensor: Tensor) -> bool:
    return tensor.stride(-1) == 1 or tensor.shape[-1] == 1


def _take(count: int) -> np.ndarray:
    """Memory on a cache line, given back when nothing refers to it any more.

    New pages cost as much as the arithmetic on them, and a gradient needs the same sizes each time.
    """
    if count < _WORTH_KEEPING:
        return _on_a_line(np.empty(count + _LINE, np.float32), count)
    kept = _free.setdefault(count, [])
    try:
        memory = kept.pop()
    except IndexError:
        for others in list(_free.values()):
            others.clear()
        memory = np.empty(count + _LINE, np.float32)
    lent = _on_a_line(memory, count)
    weakref.finalize(lent, kept.append, memory).atexit = False
    return lent


def _on_a_line(memory: np.ndarray, count: int) -> np.ndarray:
    start = -(memory.ctypes.data // 4) % _LINE
    return memory[start : start + count]
