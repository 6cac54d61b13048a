"""Two images in three planes: side by side in a checkerboard, before and after."""

import io
from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from credwarp.shapes import Image
from credwarp.space import Grid

SQUARES = 8


def before_and_after(grid: Grid, fixed: Image, before: Image, after: Image) -> bytes:
    """A PNG: fixed, then moving beneath it in every second square, before and after; a row per plane."""
    columns = {
        "fixed": _scaled(fixed),
        "fixed and moving, before": _checkered(_scaled(fixed), _scaled(before)),
        "fixed and moving, after": _checkered(_scaled(fixed), _scaled(after)),
    }
    figure = Figure(figsize=(9, 9.4), facecolor="black", layout="constrained")
    axes = figure.subplots(3, 3)
    for column, (title, image) in enumerate(columns.items()):
        for axis in range(3):
            _show(axes[axis, column], image, grid, axis)
        axes[0, column].set_title(title, color="white", fontsize=11)
    for axis in range(3):
        axes[axis, 0].set_ylabel(f"across axis {'xyz'[axis]}", color="white", fontsize=9)
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=110)
    return out.getvalue()


def _scaled(image: Image) -> np.ndarray:
    """Grey values from 0 to 1, the brightest hundredth cut off."""
    data = np.asarray(image)
    low, high = np.quantile(data, [0.01, 0.995])
    return np.asarray(np.clip((data - low) / max(high - low, 1e-9), 0, 1))


def _checkered(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    squares = [np.arange(n) * SQUARES // n for n in first.shape]
    odd = (squares[0][:, None, None] + squares[1][:, None] + squares[2]) % 2
    return np.where(odd == 1, second, first)


def _show(axes: object, image: np.ndarray, grid: Grid, axis: int) -> None:
    """The middle slice, upright if the axes are RAS, with square millimetres."""
    across, up = [a for a in range(3) if a != axis]
    plane = np.take(image, image.shape[axis] // 2, axis=axis).T
    ratio = _ratio(grid.spacing, across, up)
    axes.imshow(plane, origin="lower", cmap="gray", vmin=0, vmax=1, aspect=ratio)  # type: ignore[attr-defined]
    axes.set(xticks=[], yticks=[])  # type: ignore[attr-defined]


def _ratio(spacing: Sequence[float], across: int, up: int) -> float:
    return spacing[up] / spacing[across]
