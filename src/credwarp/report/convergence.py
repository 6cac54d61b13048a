"""Have the chains met: traces and autocorrelation of what mixes worst, R-hat and effective sizes of all."""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from markupsafe import Markup

from credwarp.report.charts import Frame, bars, lines, padded
from credwarp.report.colours import CHAINS
from credwarp.report.findings import Tracked

SHOWN = 4
ROWS = 8
MOST_POINTS = 400
MOST_LAGS = 200
LOW, WIDE, NARROW = 185, 460, 300


@dataclass(frozen=True)
class Row:
    """One tracked functional."""

    name: str
    rhat: float
    ess: float
    trace: Markup | None = None
    correlation: Markup | None = None


@dataclass(frozen=True)
class Convergence:
    """The worst functionals with their pictures, histograms over all of them, and a colour per chain."""

    rows: tuple[Row, ...]
    rhat: Markup
    ess: Markup
    count: int
    chains: tuple[str, ...]


def convergence(tracked: Tracked) -> Convergence:
    """What to show of the tracked functionals: the worst first, by R-hat and by effective draws in turn."""
    rhat, ess = np.nan_to_num(tracked.rhat, nan=np.inf), np.nan_to_num(tracked.ess, nan=0.0)
    order = np.argsort(np.minimum(_places(-rhat), _places(ess)), kind="stable")[:ROWS]
    rows = tuple(_row(tracked, int(index), place < SHOWN) for place, index in enumerate(order))
    chains = tuple(CHAINS[c % len(CHAINS)] for c in range(tracked.values.shape[0]))
    return Convergence(
        rows,
        _histogram(tracked.rhat, "R-hat"),
        _histogram(tracked.ess, "effective draws"),
        len(tracked.names),
        chains,
    )


def autocorrelation(series: Float[np.ndarray, "chains draws"], lags: int) -> Float[np.ndarray, " lags"]:
    """The correlation of a draw with the one so many later, averaged over chains, round their common mean."""
    away = series - series.mean()
    draws = series.shape[1]
    spectrum = np.abs(np.fft.rfft(away, n=2 * draws, axis=1)) ** 2
    covariance = np.fft.irfft(spectrum.mean(axis=0), n=2 * draws)[:lags] / draws
    return np.asarray(covariance / max(covariance[0], np.finfo(float).tiny))


def _places(values: np.ndarray) -> np.ndarray:
    """The place of each among the sorted ones."""
    return np.argsort(np.argsort(values, kind="stable"), kind="stable")


def _row(tracked: Tracked, index: int, pictured: bool) -> Row:
    name, rhat, ess = tracked.names[index], float(tracked.rhat[index]), float(tracked.ess[index])
    if not pictured:
        return Row(name, rhat, ess)
    series = np.asarray(tracked.values[:, :, index], dtype=np.float64)
    return Row(name, rhat, ess, _trace(name, series), _correlation(name, series))


def _trace(name: str, series: np.ndarray) -> Markup:
    draws = series.shape[1]
    thinned = series[:, :: math.ceil(draws / MOST_POINTS)]
    frame = Frame(
        (0.0, float(draws)), padded(float(series.min()), float(series.max())), "draw", "value", LOW, WIDE
    )
    return lines(frame, list(thinned), CHAINS, f"Trace of {name}: {len(series)} chains of {draws} draws.")


def _correlation(name: str, series: np.ndarray) -> Markup:
    most = max(2, min(MOST_LAGS, series.shape[1] // 2))
    values = autocorrelation(series, most)
    first = int(np.argmax(values < 0.1)) if bool((values < 0.1).any()) else most
    lags = min(most, max(20, 4 * first))
    values = values[:lags]
    ends = (min(-0.2, float(values.min())), 1.0)
    frame = Frame((0.0, float(lags)), ends, "lag in draws", "autocorrelation", LOW, NARROW)
    return lines(
        frame, [values], ["var(--accent)"], f"Autocorrelation of {name}: below 0.1 from lag {first}."
    )


def _histogram(values: np.ndarray, name: str) -> Markup:
    finite = values[np.isfinite(values)]
    if len(finite) == 0:
        finite = np.zeros(1)
    low, high = padded(float(finite.min()), float(finite.max()), 0.02)
    counts, edges = np.histogram(finite, bins=min(30, max(5, len(finite) // 4)), range=(low, high))
    frame = Frame((low, high), (0.0, float(counts.max()) * 1.05), name, "functionals")
    says = f"{name} of {len(values)} tracked functionals: from {finite.min():.3g} to {finite.max():.3g}."
    return bars(frame, edges, counts.astype(np.float64), None, says)
