"""How far a normal displacement lies from its mean with 95 % probability."""

import math
from functools import cache

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

COVERED = 0.95
# Nodes of the table along each ratio of eigenvalues, and directions per axis of an octant.
NODES, DIRECTIONS = 17, 24

Covariances = Float[Tensor, "6 *places"]


def radius95(covariance: Covariances) -> Float[Tensor, "*places"]:
    """The radius of the ball round the mean that holds 95 % of N(mean, covariance).

    `covariance` is xx, yy, zz, xy, xz, yz. A table over the two ratios of eigenvalues is right to 0.1 %.
    """
    largest, middle, smallest = eigenvalues(covariance)
    safe = largest.clamp(min=torch.finfo(largest.dtype).tiny)
    places = [(part / safe).clamp(0, 1) * (NODES - 1) for part in (middle, smallest)]
    table = _table().to(largest)
    lows = [place.floor().clamp(max=NODES - 2).long() for place in places]
    (i, j), (f, g) = lows, [place - low for place, low in zip(places, lows, strict=True)]
    below = table[i, j] * (1 - g) + table[i, j + 1] * g
    above = table[i + 1, j] * (1 - g) + table[i + 1, j + 1] * g
    return (largest.clamp(min=0) * (below * (1 - f) + above * f)).sqrt().to(covariance)


def eigenvalues(covariance: Covariances) -> tuple[Tensor, Tensor, Tensor]:
    """Of symmetric 3 × 3 matrices, the largest first, in float64: Smith's closed form (1961)."""
    xx, yy, zz, xy, xz, yz = covariance.to(torch.float64)
    mean = (xx + yy + zz) / 3
    x, y, z = xx - mean, yy - mean, zz - mean
    scale = ((x**2 + y**2 + z**2 + 2 * (xy**2 + xz**2 + yz**2)) / 6).sqrt()
    determinant = x * (y * z - yz**2) - xy * (xy * z - yz * xz) + xz * (xy * yz - y * xz)
    safe = scale.clamp(min=torch.finfo(scale.dtype).tiny ** 0.25)
    angle = torch.acos((determinant / safe**3 / 2).clamp(-1, 1)) / 3
    largest = mean + 2 * scale * angle.cos()
    smallest = mean + 2 * scale * (angle + 2 * math.pi / 3).cos()
    return largest, 3 * mean - largest - smallest, smallest


@cache
def _table() -> Tensor:
    """Squared radii for eigenvalues 1, i and j times 1 / (NODES − 1).

    With s(n) = Σ λ n² over directions n, the ball of radius r holds E[F(r² / s(n))], F the chi-square law of
    three degrees of freedom: smooth even where eigenvalues vanish.
    """
    nodes, weights = np.polynomial.legendre.leggauss(DIRECTIONS)
    height = torch.from_numpy((nodes + 1) / 2)
    turn = (torch.arange(DIRECTIONS, dtype=torch.float64) + 0.5) * (math.pi / 2 / DIRECTIONS)
    share = torch.from_numpy(weights / 2)[:, None].expand(-1, DIRECTIONS).flatten() / DIRECTIONS
    flat = (1 - height**2)[:, None]
    squares = torch.stack(
        [height[:, None] ** 2 + 0 * turn, flat * turn.cos() ** 2, flat * turn.sin() ** 2]
    ).flatten(1)
    ratio = torch.linspace(0, 1, NODES, dtype=torch.float64)
    spread = squares[0] + ratio[:, None, None] * squares[1] + ratio[:, None] * squares[2]
    low, high = torch.zeros((NODES, NODES)).double(), torch.full((NODES, NODES), 8.0).double()
    for _ in range(26):
        middle = (low + high) / 2
        held = (_chi_square(middle[..., None] / spread) * share).sum(-1)
        low, high = torch.where(held < COVERED, middle, low), torch.where(held < COVERED, high, middle)
    return (low + high) / 2


def _chi_square(value: Tensor) -> Tensor:
    """The distribution function with three degrees of freedom."""
    return torch.erf((value / 2).sqrt()) - (2 * value / math.pi).sqrt() * torch.exp(-value / 2)
