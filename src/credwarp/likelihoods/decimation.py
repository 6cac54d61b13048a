"""Virtual decimation: how many of the residuals are worth counting (Groves et al. 2011)."""

import math

import torch

from credwarp.shapes import Images, PerChain, Weight


def decimation(residual: Images, weight: Weight) -> PerChain:
    """α of each chain: ∏ over axes of min(1, √(−2/π ln ρ)), ρ the correlation of neighbours along the axis.

    Residuals are signed and centred, products are averaged over the pairs in which both voxels count. Noise
    smoothed by a Gaussian of s voxels has ρ = exp(−1/4s²), hence 1/(√(2π) s) an axis; white noise has 1.
    """
    inside = (weight > 0).to(residual.dtype)[:, None].expand_as(residual)
    count = inside.sum(dim=(2, 3, 4), keepdim=True, dtype=torch.float64).clamp(min=1)
    mean = (residual * inside).sum(dim=(2, 3, 4), keepdim=True, dtype=torch.float64) / count
    centred = (residual - mean.to(residual.dtype)) * inside
    variance = _mean(centred**2, inside)
    factor = torch.ones(residual.shape[0], dtype=torch.float64, device=residual.device)
    for axis in (2, 3, 4):
        sides = residual.shape[axis]
        if sides < 2:
            continue
        near, far = centred.narrow(axis, 0, sides - 1), centred.narrow(axis, 1, sides - 1)
        both = inside.narrow(axis, 0, sides - 1) * inside.narrow(axis, 1, sides - 1)
        correlation = _mean(near * far, both) / variance
        factor = factor * _effective(correlation)
    return factor * _independent_channels(centred)


def _mean(product: Images, inside: Images) -> PerChain:
    dims = (1, 2, 3, 4)
    total = product.sum(dim=dims, dtype=torch.float64)
    return total / inside.sum(dim=dims, dtype=torch.float64).clamp(min=1)


def _effective(correlation: PerChain) -> PerChain:
    """1 where neighbours do not correlate; a residual that is the same everywhere counts as nothing."""
    correlation = correlation.nan_to_num(nan=1.0).clamp(1e-12, 1 - 1e-12)
    return torch.sqrt(-2 / math.pi * torch.log(correlation)).clamp(max=1)


def _independent_channels(centred: Images) -> PerChain:
    """The share of channels that say something of their own: (tr C)² / (tr C² · channels)."""
    channels = centred.shape[1]
    if channels == 1:
        return torch.ones(centred.shape[0], dtype=torch.float64, device=centred.device)
    flat = centred.flatten(2)
    covariance = (flat @ flat.mT).to(torch.float64)
    trace = covariance.diagonal(dim1=1, dim2=2).sum(1)
    return trace**2 / (covariance.square().sum((1, 2)) * channels).clamp(min=1e-300)
