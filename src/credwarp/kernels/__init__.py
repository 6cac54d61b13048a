"""What must be fast: the reference on any device, compiled code for float32 on the CPU."""

from credwarp.kernels.reference import (
    compose,
    expand,
    helmholtz,
    local_mean,
    local_variance,
    mixture_log_prob,
    mixture_statistics,
    slope,
    smooth,
    square,
    standardise,
    warp,
)

__all__ = [
    "compose",
    "expand",
    "helmholtz",
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
