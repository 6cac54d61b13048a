"""Adam (Kingma and Ba 2015) with steps that decay, as the paper takes them."""

from dataclasses import dataclass
from typing import Annotated

import torch
from annotated_types import Ge, Gt
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Moments:
    """Running means of the gradient and of its square, and how many went into them."""

    first: Tensor
    second: Tensor
    steps: int

    @classmethod
    def zeros(cls, like: Tensor) -> "Moments":
        """Before any gradient."""
        return cls(torch.zeros_like(like), torch.zeros_like(like), 0)


@dataclass(frozen=True)
class Adam:
    """x ← x + s/(1 + decay·k) · m̂ / (√v̂ + 1e-8): upwards, with β = (0.9, 0.999)."""

    step_size: Annotated[float, Gt(0)] = 1e-2
    decay: Annotated[float, Ge(0)] = 1e-3

    def update(self, value: Tensor, gradient: Tensor, moments: Moments) -> tuple[Tensor, Moments]:
        """The value after one ascent step, and the moments after it."""
        steps = moments.steps + 1
        first = torch.lerp(moments.first, gradient, 1 - 0.9)
        second = torch.lerp(moments.second, gradient.square(), 1 - 0.999)
        size = self.step_size / (1 + self.decay * moments.steps)
        move = (first / (1 - 0.9**steps)) / ((second / (1 - 0.999**steps)).sqrt() + 1e-8)
        return value + size * move, Moments(first, second, steps)
