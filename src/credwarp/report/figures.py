"""The same planes as still pictures: for print, for notebooks, and where scripts do not run."""

import base64
import io
from collections.abc import Sequence

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from credwarp.report.layers import FADED, Layer, Layers

PLANES = ((0, 1), (0, 2), (1, 2))
ENDS = (("R", "L"), ("A", "P"), ("S", "I"))
OPACITY = 0.7
WIDTH_INCHES = 7.6
BAR = 0.055
INK = "#d3dae1"


def still(found: Layers, rows: Sequence[tuple[str, str]], dpi: int = 120) -> str:
    """`picture` as a data address."""
    return "data:image/png;base64," + base64.b64encode(picture(found, rows, dpi)).decode("ascii")


def picture(found: Layers, rows: Sequence[tuple[str, str]], dpi: int = 120) -> bytes:
    """A PNG: per row an image and a map over it (or none), in three planes."""
    grid = found.view.grid
    x, y, z = (n * h for n, h in zip(grid.shape, grid.spacing, strict=True))
    total = (2 * x + y) * (1 + BAR)
    inches = WIDTH_INCHES * max(y, z) / total
    figure = Figure(figsize=(WIDTH_INCHES, (inches + 0.06) * len(rows)), facecolor="black")
    spec = figure.add_gridspec(
        len(rows),
        4,
        width_ratios=(x, x, y, BAR * total),
        left=0,
        right=1,
        bottom=0,
        top=1,
        wspace=0,
        hspace=0.02,
    )
    for row, (image, name) in enumerate(rows):
        over = found.each[name] if name else None
        for column, axes in enumerate(PLANES):
            panel = figure.add_subplot(spec[row, column])
            _show(panel, found, (found.each[image], over), axes)
        title = over.title if over is not None else found.each[image].title
        figure.text(
            0.008, 1 - (row + 0.03) / len(rows), title, color=INK, fontsize=8, va="top", weight="bold"
        )
        if over is not None:
            _bar(figure, figure.add_subplot(spec[row, 3]), over)
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=dpi, metadata={"Software": None})
    return out.getvalue()


def _show(panel: Axes, found: Layers, shown: tuple[Layer, Layer | None], axes: tuple[int, int]) -> None:
    """One plane through the middle, the patient's right on the left."""
    across, up = axes
    image, over = shown
    colour = np.repeat(_slice(found, image, axes)[..., None] / 255.0, 3, axis=2)
    if over is not None:
        values = _slice(found, over, axes).astype(np.float64)
        alpha = OPACITY * _presence(over, values)[..., None]
        colour = (1 - alpha) * colour + alpha * colormaps[over.colours]((values - 1) / 254)[..., :3]
    ratio = found.view.grid.spacing[up] / found.view.grid.spacing[across]
    panel.imshow(np.clip(colour, 0, 1), origin="lower", aspect=ratio, interpolation="bilinear")
    panel.set_axis_off()
    for text, place in ((ENDS[across][0], 0.03), (ENDS[across][1], 0.97)):
        panel.text(place, 0.5, text, color=INK, fontsize=7, ha="center", transform=panel.transAxes)


def _presence(over: Layer, values: np.ndarray) -> np.ndarray:
    """How much of a map is seen: nothing outside, less where it fades."""
    share = (values - 1) / 254
    seen = {"low": share, "middle": np.abs(2 * share - 1), "": np.ones_like(share)}[over.fade]
    return np.where(values > 0, np.clip(seen / FADED, 0, 1), 0)


def _slice(found: Layers, layer: Layer, axes: tuple[int, int]) -> np.ndarray:
    normal = 3 - sum(axes)
    return np.asarray(np.take(layer.voxels, found.middle[normal], axis=normal).T[:, ::-1])


def _bar(figure: Figure, panel: Axes, over: Layer) -> None:
    """A map's colour bar, upright at the end of its row."""
    panel.set_axis_off()
    inset = panel.inset_axes((0.1, 0.15, 0.16, 0.66))
    colours = ScalarMappable(Normalize(over.low, over.high), over.colours)
    bar = figure.colorbar(colours, cax=inset, ticks=np.linspace(over.low, over.high, 5).tolist())
    bar.set_ticklabels(over.ticks)
    inset.tick_params(colors=INK, labelsize=6, length=0, pad=2)
    inset.set_title(over.unit, color=INK, fontsize=7, pad=3, loc="left")
