"""Gradients that are seldom asked for, from the reference in float64."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor


def gradients(
    function: Callable[..., Any], inputs: tuple[Tensor, ...], outputs: tuple[Tensor, ...]
) -> tuple[Tensor, ...]:
    """What `outputs`, the gradients of the function's results, are for its inputs."""
    with torch.enable_grad():
        leaves = [value.detach().double().requires_grad_() for value in inputs]
        results = function(*leaves)
        results = results if isinstance(results, tuple) else (results,)
        found = torch.autograd.grad(
            results, leaves, [output.double() for output in outputs], allow_unused=True
        )
    given = zip(found, inputs, strict=True)
    return tuple(torch.zeros_like(like) if value is None else value.to(like) for value, like in given)
