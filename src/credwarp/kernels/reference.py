"""What each operation means, in plain PyTorch: the specification, the oracle and the path for other devices.

Fields are in voxels of their own grid, component c along axis c. Positions beyond the grid are clamped to it,
so values continue as they are at the border. Every function is differentiable in every floating argument.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from credwarp.shapes import Channels, Fields, Images, PerChain, PerComponent, Weight


def compose(outer: Fields, inner: Fields) -> Fields:
    """The displacement of (id + outer) ∘ (id + inner): inner(x) + outer(x + inner(x))."""
    positions = _positions(inner)
    return inner + torch.stack([_linear(o, p) for o, p in zip(outer, positions, strict=True)])


def square(field: Fields) -> Fields:
    """compose(field, field): one squaring of the exponential."""
    return compose(field, field)


def exponential(velocity: Fields, squarings: int) -> Fields:
    """The displacement of the flow of `velocity` at time 1: velocity / 2ⁿ, composed with itself n times."""
    field = velocity * 0.5**squarings
    for _ in range(squarings):
        field = square(field)
    return field


def warp(image: Channels, displacement: Fields) -> Images:
    """image(x + displacement(x)), linear; the same image for every chain."""
    return torch.stack([_linear(image, p) for p in _positions(displacement)])


def slope(image: Channels, displacement: Fields) -> Tensor:
    """The derivative of `warp` in the displacement: chains × channels × 3 × voxels."""
    return torch.stack([_linear_slope(image, p) for p in _positions(displacement)])


def local_mean(image: Tensor, radius: int) -> Tensor:
    """The mean over those voxels of the (2 radius + 1)³ window that exist; any leading axes."""
    total = _box(image, radius)
    return total / _box(torch.ones_like(image[(0,) * (image.ndim - 3)]), radius)


def standardise(image: Tensor, radius: int, floor: float) -> Tensor:
    """(I − mean) / √(variance + floor²) in the window of `local_mean`, the true local variance."""
    mean = local_mean(image, radius)
    return (image - mean) / torch.sqrt(local_variance(image, radius) + floor**2)


def local_variance(image: Tensor, radius: int) -> Tensor:
    """The variance over the window of `local_mean`."""
    # Shifted by the global mean, so that the difference of squares keeps its digits.
    shifted = image - image.mean(dim=(-3, -2, -1), keepdim=True)
    return (local_mean(shifted**2, radius) - local_mean(shifted, radius) ** 2).clamp(min=0.0)


def smooth(field: Tensor, taps: Sequence[float]) -> Tensor:
    """Convolution along all three axes with the symmetric kernel whose right half is `taps`.

    The border is mirrored with the edge voxel repeated, which makes the operation symmetric and diagonal in
    the DCT-II.
    """
    for axis in (-3, -2, -1):
        out = taps[0] * field
        for reach, weight in enumerate(taps[1:], start=1):
            out = out + weight * (_mirrored(field, axis, reach) + _mirrored(field, axis, -reach))
        field = out
    return field


def helmholtz(field: Fields, kappa: float, spacing: Sequence[float]) -> Fields:
    """(κ² − Δ) w with reflecting borders: symmetric, DCT-II eigenvalues κ² + Σ (2 − 2 cos(πk/n)) / h²."""
    out = kappa**2 * field
    for axis, step in zip((-3, -2, -1), spacing, strict=True):
        if field.shape[axis] == 1:
            continue
        rise = field.diff(dim=axis) / step**2
        n = field.shape[axis]
        zero = torch.zeros_like(field.narrow(axis, 0, 1))
        flow_in = torch.cat([zero, rise], dim=axis)
        flow_out = torch.cat([rise, zero], dim=axis)
        out = out + flow_in.narrow(axis, 0, n) - flow_out.narrow(axis, 0, n)
    return out


def expand(field: Tensor, matrices: Sequence[Tensor]) -> Tensor:
    """A linear map along each of the last three axes; a matrix has a row per voxel of the result.

    Matrices may be of any floating type and on any device.
    """
    x, y, z = (matrix.to(field) for matrix in matrices)
    field = torch.einsum("ai,...ijk->...ajk", x, field)
    field = torch.einsum("bj,...ajk->...abk", y, field)
    return torch.einsum("ck,...abk->...abc", z, field)


def inner(left: Fields, right: Fields) -> Float[Tensor, "chains channels"]:
    """Σ_voxels left · right, per chain and component, in float64."""
    return (left.to(torch.float64) * right).sum(dim=(2, 3, 4))


def mixture_log_prob(
    residual: Images, weight: Weight, log_proportion: PerComponent, log_precision: PerComponent
) -> PerChain:
    """Σ weight · log Σ_l ϱ_l √(β_l / 2π) exp(−β_l r² / 2) over channels and voxels, in float64.

    `weight` has one chain that all share, or one a chain.
    """
    chains, components = log_proportion.shape
    shape = (chains, components, 1, 1, 1, 1)
    log_beta = log_precision.view(shape)
    quadratic = -0.5 * torch.exp(log_beta) * residual[:, None] ** 2
    constant = log_proportion.view(shape) + 0.5 * (log_beta - _LOG_TWO_PI)
    density = torch.logsumexp(constant + quadratic, dim=1)
    return (weight[:, None] * density).to(torch.float64).sum(dim=(1, 2, 3, 4))


def mixture_statistics(
    residual: Images, weight: Weight, log_proportion: PerComponent, log_precision: PerComponent
) -> tuple[PerComponent, PerComponent]:
    """Σ weight · γ_l and Σ weight · γ_l r², γ the responsibilities: all that EM needs."""
    chains, components = log_proportion.shape
    shape = (chains, components, 1, 1, 1, 1)
    log_beta = log_precision.view(shape)
    square = residual[:, None] ** 2
    logits = log_proportion.view(shape) + 0.5 * log_beta - 0.5 * torch.exp(log_beta) * square
    share = torch.softmax(logits, dim=1) * weight[:, None, None]
    dims = (2, 3, 4, 5)
    return share.to(torch.float64).sum(dims), (share * square).to(torch.float64).sum(dims)


_LOG_TWO_PI = 1.8378770664093453


def _positions(displacement: Fields) -> Tensor:
    axes = [
        torch.arange(n, dtype=displacement.dtype, device=displacement.device) for n in displacement.shape[2:]
    ]
    return displacement + torch.stack(torch.meshgrid(*axes, indexing="ij"))


def _corner(position: Tensor, shape: Sequence[int]) -> tuple[list[Tensor], list[Tensor], list[Tensor]]:
    """Per axis: the lower neighbour, the upper neighbour and the weight of the upper one."""
    lows, highs, weights = [], [], []
    for axis, n in enumerate(shape):
        clamped = position[axis].clamp(0, n - 1)
        low = clamped.detach().floor().clamp(max=max(n - 2, 0)).to(torch.int64)
        lows.append(low)
        highs.append((low + 1).clamp(max=n - 1))
        weights.append(clamped - low)
    return lows, highs, weights


def _linear(values: Channels, position: Tensor) -> Tensor:
    shape = values.shape[1:]
    lows, highs, weights = _corner(position, shape)
    flat = values.reshape(values.shape[0], -1)
    total = torch.zeros((values.shape[0], *position.shape[1:]), dtype=position.dtype, device=position.device)
    for corner in range(8):
        index = torch.zeros_like(lows[0])
        factor = torch.ones_like(position[0])
        for axis in range(3):
            upper = bool(corner >> axis & 1)
            index = index * shape[axis] + (highs[axis] if upper else lows[axis])
            factor = factor * (weights[axis] if upper else 1 - weights[axis])
        total = total + factor * flat[:, index.reshape(-1)].reshape(total.shape)
    return total


def _linear_slope(values: Channels, position: Tensor) -> Tensor:
    shape = values.shape[1:]
    lows, highs, weights = _corner(position, shape)
    flat = values.reshape(values.shape[0], -1)
    nothing = torch.zeros(
        (values.shape[0], *position.shape[1:]), dtype=position.dtype, device=position.device
    )
    slopes = [torch.zeros_like(nothing) for _ in range(3)]
    for corner in range(8):
        index = torch.zeros_like(lows[0])
        for axis in range(3):
            index = index * shape[axis] + (highs[axis] if corner >> axis & 1 else lows[axis])
        value = flat[:, index.reshape(-1)].reshape(slopes[0].shape)
        for along in range(3):
            factor = torch.full_like(position[0], 1.0 if corner >> along & 1 else -1.0)
            for axis in {0, 1, 2} - {along}:
                factor = factor * (weights[axis] if corner >> axis & 1 else 1 - weights[axis])
            slopes[along] = slopes[along] + factor * value
    inside = [((position[a] >= 0) & (position[a] <= n - 1)).to(position.dtype) for a, n in enumerate(shape)]
    return torch.stack([s * i for s, i in zip(slopes, inside, strict=True)], dim=1)


def _box(image: Tensor, radius: int) -> Tensor:
    for axis in (-3, -2, -1):
        n = image.shape[axis]
        total = torch.cat([torch.zeros_like(image.narrow(axis, 0, 1)), image], dim=axis).cumsum(dim=axis)
        index = torch.arange(n, device=image.device)
        upper = total.index_select(axis, (index + radius + 1).clamp(max=n))
        image = upper - total.index_select(axis, (index - radius).clamp(min=0))
    return image


def _mirrored(field: Tensor, axis: int, reach: int) -> Tensor:
    n = field.shape[axis]
    index = (torch.arange(n, device=field.device) + reach) % (2 * n)
    return field.index_select(axis, torch.where(index < n, index, 2 * n - 1 - index))
