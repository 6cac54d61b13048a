"""Charts as inline SVG: they take the page's colours, stay sharp in print, and say what they show."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup, escape

WIDTH, HEIGHT = 380, 230
LEFT, RIGHT, TOP, BOTTOM = 50, 12, 12, 42


@dataclass(frozen=True)
class Frame:
    """Axes: what is along them and how far they reach; `fixed_ticks` replaces the usual ticks of y."""

    x: tuple[float, float]
    y: tuple[float, float]
    x_label: str
    y_label: str
    height: int = HEIGHT
    width: int = WIDTH

    def across(self, value: float) -> float:
        """The place of an x."""
        low, high = self.x
        return LEFT + (value - low) / (high - low) * (self.width - LEFT - RIGHT)

    def up(self, value: float) -> float:
        """The place of a y."""
        low, high = self.y
        return self.height - BOTTOM - (value - low) / (high - low) * (self.height - TOP - BOTTOM)

    def path(self, x: Sequence[float], y: Sequence[float], style: str) -> str:
        """A line through points, cut at the frame."""
        low, high = self.y
        points = " ".join(
            f"{self.across(a):.1f},{self.up(min(max(b, low), high)):.1f}"
            for a, b in zip(x, y, strict=True)
            if math.isfinite(b)
        )
        return f'<polyline points="{points}" {style}/>'

    def drawn(self, marks: str, says: str) -> Markup:
        """The whole picture; `says` is what a reader hears."""
        return Markup(
            f'<svg class="chart" viewBox="0 0 {self.width} {self.height}" role="img" '
            f'aria-label="{escape(says)}">'
            f"{self._grid()}{marks}{self._labels()}</svg>"
        )

    def _grid(self) -> str:
        rows = "".join(
            f'<path class="grid" d="M{LEFT} {self.up(t):.1f}H{self.width - RIGHT}"/>'
            f'<text class="tick" x="{LEFT - 7}" y="{self.up(t) + 4:.1f}" text-anchor="end">{number(t)}</text>'
            for t in ticks(*self.y, 4)
        )
        columns = "".join(
            f'<text class="tick" x="{self.across(t):.1f}" y="{self.height - BOTTOM + 16}" '
            f'text-anchor="middle">{number(t)}</text>'
            for t in ticks(*self.x, 5)
        )
        axis = f'<path class="axis" d="M{LEFT} {self.height - BOTTOM}H{self.width - RIGHT}"/>'
        return rows + columns + axis

    def _labels(self) -> str:
        middle = (TOP + self.height - BOTTOM) / 2
        return (
            f'<text class="name" x="{(LEFT + self.width - RIGHT) / 2}" y="{self.height - 6}" '
            f'text-anchor="middle">'
            f"{escape(self.x_label)}</text>"
            f'<text class="name" transform="translate(12 {middle}) rotate(-90)" text-anchor="middle">'
            f"{escape(self.y_label)}</text>"
        )


def lines(frame: Frame, series: Sequence[np.ndarray], colours: Sequence[str], says: str) -> Markup:
    """Series over 0, 1, 2 …, spread over the whole of x."""
    marks = "".join(
        frame.path(
            np.linspace(*frame.x, len(one)).tolist(), one.tolist(),
            f'fill="none" stroke="{colours[place % len(colours)]}" stroke-width="1" stroke-opacity="0.85"',
        )
        for place, one in enumerate(series)
    )  # fmt: skip
    return frame.drawn(marks, says)


def bars(
    frame: Frame,
    edges: np.ndarray,
    heights: np.ndarray,
    curve: tuple[np.ndarray, np.ndarray] | None,
    says: str,
) -> Markup:
    """A histogram, with a curve over it if there is one."""
    floor, least = frame.up(frame.y[0]), frame.y[0]
    tops = [frame.up(min(max(float(h), least), frame.y[1])) for h in heights]
    places = [frame.across(float(edge)) for edge in edges]
    steps = "".join(
        f"L{left:.1f} {top:.1f}H{right:.1f}"
        for left, right, top in zip(places[:-1], places[1:], tops, strict=True)
    )
    marks = f'<path class="bar" d="M{places[0]:.1f} {floor:.1f}{steps}V{floor:.1f}Z"/>'
    if curve is not None:
        marks += frame.path(curve[0].tolist(), curve[1].tolist(), 'class="curve" fill="none"')
    return frame.drawn(marks, says)


def dots(frame: Frame, x: np.ndarray, y: np.ndarray, says: str) -> Markup:
    """Points joined by a line, against the diagonal."""
    ends = [max(frame.x[0], frame.y[0]), min(frame.x[1], frame.y[1])]
    marks = frame.path(ends, ends, 'class="diagonal" fill="none"')
    marks += frame.path(x.tolist(), y.tolist(), 'class="curve" fill="none"')
    marks += "".join(
        f'<circle class="dot" cx="{frame.across(a):.1f}" cy="{frame.up(b):.1f}" r="3.5"/>'
        for a, b in zip(x.tolist(), y.tolist(), strict=True)
    )
    return frame.drawn(marks, says)


def whisker(scale: tuple[float, float], mean: float, low: float, high: float, before: float | None) -> Markup:
    """A row's interval with its mean, and where it stood before."""

    def place(value: float) -> float:
        share = (value - scale[0]) / max(scale[1] - scale[0], 1e-12)
        return 6 + min(max(share, 0.0), 1.0) * 148

    then = (
        ""
        if before is None
        else f'<line class="way" x1="{place(before):.1f}" x2="{place(mean):.1f}" y1="9" y2="9"/>'
        f'<circle class="before" cx="{place(before):.1f}" cy="9" r="3.5"/>'
    )
    return Markup(
        '<svg class="whisker" viewBox="0 0 160 18" aria-hidden="true">'
        f'<line class="track" x1="6" x2="154" y1="9" y2="9"/>{then}'
        f'<line class="range" x1="{place(low):.1f}" x2="{place(high):.1f}" y1="9" y2="9"/>'
        f'<circle class="mean" cx="{place(mean):.1f}" cy="9" r="4"/></svg>'
    )


def ticks(low: float, high: float, about: int) -> list[float]:
    """Round numbers between two ends."""
    rough = (high - low) / about
    scale = 10.0 ** math.floor(math.log10(rough))
    step = next(m * scale for m in (1, 2, 2.5, 5, 10) if m * scale >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [k * step for k in range(first, last + 1)]


def number(value: float) -> str:
    """Short, without a trail of zeros."""
    if value == 0:
        return "0"
    text = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    return text.replace("-", "−")


def padded(low: float, high: float, share: float = 0.05) -> tuple[float, float]:
    """A little more than from low to high, never nothing."""
    room = (high - low) * share or max(abs(high), 1.0) * share
    return low - room, high + room
