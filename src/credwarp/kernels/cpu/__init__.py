"""Compiled for float32 on the CPU, with the reference's signatures and exact adjoints derived by hand."""

from credwarp.kernels.cpu.fields import compose, exponential, square
from credwarp.kernels.cpu.images import slope, warp
from credwarp.kernels.cpu.linear import expand, helmholtz, inner, smooth
from credwarp.kernels.cpu.mixtures import mixture_log_prob, mixture_statistics
from credwarp.kernels.cpu.statistics import local_mean, local_variance, standardise

__all__ = [
    "compose",
    "expand",
    "exponential",
    "helmholtz",
    "inner",
    "local_mean",
    "local_variance",
    "mixture_log_prob",
    "mixture_statistics",
    "slope",
    "smooth",
    "square",
    "standardise",
    "warp",
]
