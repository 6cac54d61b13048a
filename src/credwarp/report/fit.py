"""How well the model fits: residuals against the mixture that should describe them, and calibration."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from markupsafe import Markup

from credwarp.report.charts import Frame, bars, dots
from credwarp.report.findings import Calibration, Residuals

POINTS = 241
FLOOR = 1e-5


def residual_charts(residuals: Residuals, mixture: Mapping[str, Any] | None) -> list[Markup]:
    """The density of the residuals with the mixture over it: as it is, and its logarithm for the tails."""
    edges = np.asarray(residuals.edges, dtype=np.float64)
    counts = np.asarray(residuals.counts, dtype=np.float64)
    density = counts / max(float((counts * np.diff(edges)).sum()), 1e-300)
    x = np.linspace(edges[0], edges[-1], POINTS)
    curve = None if mixture is None else mixture_density(x, mixture)
    top = max(float(density.max()), 0.0 if curve is None else float(curve.max())) * 1.06
    ends = (float(edges[0]), float(edges[-1]))
    plain = Frame(ends, (0.0, top), "residual", "density")
    tail = Frame(
        ends, (math.log10(FLOOR), math.log10(max(top, 10 * FLOOR)) + 0.1), "residual", "log₁₀ density"
    )
    logged = np.log10(np.maximum(density, FLOOR))
    over = None if curve is None else (x, curve)
    over_logged = None if curve is None else (x, np.log10(np.maximum(curve, FLOOR)))
    against = "" if curve is None else " with the fitted mixture's density as a line"
    return [
        bars(plain, edges, density, over, f"Histogram of the residuals{against}."),
        bars(
            tail, edges, logged, over_logged, f"Histogram of the residuals on a logarithmic scale{against}."
        ),
    ]


def mixture_density(x: np.ndarray, mixture: Mapping[str, Any]) -> np.ndarray:
    """Σ ϱ √(β/2π) exp(−β x²/2)."""
    share = np.asarray(mixture["proportion"], dtype=np.float64).ravel()
    precision = np.asarray(mixture["precision"], dtype=np.float64).ravel()
    each = np.sqrt(precision / (2 * np.pi)) * np.exp(-0.5 * precision * x[:, None] ** 2)
    return np.asarray(each @ share)


def calibration_chart(found: Calibration) -> Markup:
    """Observed against nominal coverage."""
    frame = Frame((0.0, 1.0), (0.0, 1.0), "nominal coverage", "observed coverage", height=300)
    pairs = ", ".join(f"{b:.2f} at {a:.2f}" for a, b in zip(found.nominal, found.observed, strict=True))
    return dots(frame, np.asarray(found.nominal), np.asarray(found.observed), f"Observed coverage: {pairs}.")
