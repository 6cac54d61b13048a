"""Conjugate gradients for several chains at once, each stopping on its own."""

from collections.abc import Callable
from dataclasses import dataclass

import torch

from credwarp.samplers.target import Preconditioner, column, dots
from credwarp.shapes import PerChain, Positions


@dataclass(frozen=True, eq=False)
class Solution:
    """The solution, how many products the slowest chain took, and the relative residuals left."""

    position: Positions
    iterations: int
    residual: PerChain


def solve(
    product: Callable[[Positions], Positions],
    right: Positions,
    rough: Preconditioner,
    tolerance: float,
    iterations: int,
) -> Solution:
    """C⁻¹ right, where `product` is C: until √(rᵀ P r) has fallen by `tolerance`, P being `rough`."""
    solution = torch.zeros_like(right)
    residual = right
    direction = rough.apply(residual)
    start = dots(residual, direction)
    size = start
    taken = 0
    while taken < iterations:
        # A chain that has arrived stays as it is, so that its bits do not depend on the slowest.
        active = size > tolerance**2 * start
        if not bool(active.any()):
            break
        image = product(direction)
        reach = torch.where(active, size / dots(direction, image), 0.0)
        solution = solution + column(reach, right) * direction
        residual = residual - column(reach, right) * image
        improved = rough.apply(residual)
        after = dots(residual, improved)
        turn = torch.where(active, after / size, 0.0)
        direction = improved + column(turn, right) * direction
        size = after
        taken += 1
    return Solution(solution, taken, torch.sqrt(size / start.clamp(min=torch.finfo(torch.float64).tiny)))
