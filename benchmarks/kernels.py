"""Each kernel: compiled against the reference, and both against one copy of what they read and write."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor

from benchmarks.gradient import copy_bandwidth, seconds
from credwarp import kernels
from credwarp.kernels import reference
from credwarp.transforms import interpolation

SIDES = (64, 128)
RADIUS = 2
COLUMNS = (
    "kernel", "sides", "reference ms", "ours ms", "× faster", "× copy",
    "reference ms, with gradient", "ours ms", "× faster", "× copy",
)  # fmt: skip


@dataclass(frozen=True)
class Case:
    """A kernel, as a function of the room and of tensors; the tensors; whether gradients are asked for."""

    call: Callable[..., Tensor]
    inputs: tuple[Tensor, ...]
    differentiated: bool = True


def field(sides: int, longest: float, seed: int = 0) -> Tensor:
    """A smooth field, its components `longest` voxels at most."""
    rough = torch.randn((1, 3, 16, 16, 16), generator=torch.Generator().manual_seed(seed))
    size = (sides, sides, sides)
    smooth = torch.nn.functional.interpolate(rough, size=size, mode="trilinear", align_corners=True)
    return smooth * longest / smooth.abs().max()


def cases(sides: int) -> dict[str, Case]:
    """What a posterior calls, at a size that it has."""
    shape = (sides, sides, sides)
    generator = torch.Generator().manual_seed(1)
    image = torch.randn((1, *shape), generator=generator)
    weight = (torch.rand((1, *shape), generator=generator) < 0.6).float()
    share, precision = torch.full((1, 4), 0.25).log(), torch.tensor([[-1.0, 0.0, 1.0, 2.0]])
    coarse = torch.randn((1, 3, *(sides // 2,) * 3), generator=generator)
    matrices = [interpolation.cubic(sides, 2)] * 3
    near, far = field(sides, 0.9), field(sides, 6 * sides / 128)
    return {
        "square, below a voxel": Case(lambda room, u: room.square(u), (near,)),
        "square": Case(lambda room, u: room.square(u), (far,)),
        "exponential, 6 squarings": Case(lambda room, v: room.exponential(v, 6), (far,)),
        "compose": Case(lambda room, outer, inner: room.compose(outer, inner), (near, far)),
        "warp": Case(lambda room, u: room.warp(image, u), (far,)),
        "slope": Case(lambda room, u: room.slope(image, u), (far,), False),
        "local_mean": Case(lambda room, image: room.local_mean(image, RADIUS), (image[None],)),
        "local_variance": Case(lambda room, image: room.local_variance(image, RADIUS), (image[None],), False),
        "standardise": Case(lambda room, image: room.standardise(image, RADIUS, 0.1), (image[None],)),
        "standardise, radius 7": Case(lambda room, image: room.standardise(image, 7, 0.1), (image[None],)),
        "smooth, 7 taps": Case(lambda room, u: room.smooth(u, (0.4, 0.2, 0.08, 0.02)), (far,)),
        "helmholtz": Case(lambda room, u: room.helmholtz(u, 0.1, (1.0, 1.0, 1.0)), (far,)),
        "inner": Case(lambda room, left, right: room.inner(left, right), (near, far)),
        "expand ×2, cubic": Case(lambda room, u: room.expand(u, matrices), (coarse,)),
        "mixture_log_prob": Case(
            lambda room, r, a, b: room.mixture_log_prob(r, weight, a, b), (image[None], share, precision)
        ),
        "mixture_statistics": Case(
            lambda room, r: room.mixture_statistics(r, weight, share, precision)[0], (image[None],), False
        ),
    }


def timed(room: Any, case: Case, repeats: int) -> list[float]:
    """Seconds of the values alone, and with the gradients."""
    found = [seconds(lambda: case.call(room, *case.inputs), repeats)]
    if case.differentiated:
        leaves = [value.clone().requires_grad_() for value in case.inputs]
        arriving = torch.randn_like(case.call(room, *case.inputs))
        found.append(
            seconds(lambda: torch.autograd.grad(case.call(room, *leaves), leaves, arriving), repeats)
        )
    return found


def main() -> None:
    console = Console(width=150)
    bandwidth = copy_bandwidth()
    table = Table(*COLUMNS, title=f"{torch.get_num_threads()} threads, copies at {bandwidth / 1e9:.1f} GB/s")
    for sides in SIDES:
        for name, case in cases(sides).items():
            given = sum(value.numel() for value in case.inputs)
            copy = 4 * (given + case.call(kernels, *case.inputs).numel()) / bandwidth
            slow, fast = timed(reference, case, 2), timed(kernels, case, 9)
            cells = [str(sides)]
            # With the gradient everything is read and written once more.
            for a, b, bound in zip(slow, fast, (copy, 2 * copy), strict=False):
                cells += [f"{a * 1e3:.1f}", f"{b * 1e3:.2f}", f"{a / b:.0f}", f"{b / bound:.1f}"]
            table.add_row(name, *cells)
    console.print(table)
