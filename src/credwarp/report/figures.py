"""The same planes as still pictures: for print, for notebooks, and where scripts do not run."""

import base64
import io
from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from credwarp.report.layers import Layer, Layers

PLANES = ((0, 1), (0, 2), (1, 2))
ENDS = (("R", "L"), ("A", "P"), ("S", "I"))
BACKGROUND = "#0b0e12"
INK = "#c9d1d9"


def still(found: Layers, columns: Sequence[tuple[str, str]], dpi: int = 110) -> str:
    """A PNG as a data address: per column an image and a map over it (or none), a row per plane."""
    shape, spacing = found.view.grid.shape, found.view.grid.spacing
    extent = [n * h for n, h in zip(shape, spacing, strict=True)]
    widest = max(extent[0], extent[1])
    heights = [extent[up] for _, up in PLANES]
    width = 2.6 * len(columns)
    figure = Figure(figsize=(width, 2.5 * sum(heights) / widest + 0.9), facecolor=BACKGROUND)
    grid = figure.add_gridspec(
        3,
        len(columns),
        height_ratios=heights,
        hspace=0.03,
        wspace=0.03,
        left=0.005,
        right=0.995,
        top=0.93,
        bottom=0.1,
    )
    for place, (image, overlay) in enumerate(columns):
        over = found.each[overlay] if overlay else None
        for row, axes in enumerate(PLANES):
            panel = figure.add_subplot(grid[row, place])
            drawn = _show(panel, found, found.each[image], over, axes)
            if row == 0:
                panel.set_title(over.title if over else found.each[image].title, color=INK, fontsize=9)
        if over is not None:
            _bar(figure, drawn, panel, over)
    return _address(figure, dpi)


def _show(panel: object, found: Layers, image: Layer, over: Layer | None, axes: tuple[int, int]) -> object:
    """One plane through the middle, the patient's right on the left."""
    spacing = found.view.grid.spacing
    across, up = axes
    ratio = spacing[up] / spacing[across]
    options = {"origin": "lower", "aspect": ratio, "interpolation": "bilinear"}
    panel.imshow(_slice(found, image, axes), cmap="gray", vmin=0, vmax=255, **options)  # type: ignore[attr-defined]
    drawn = None
    if over is not None:
        values = np.ma.masked_equal(_slice(found, over, axes), 0)
        options["interpolation"] = "nearest"
        drawn = panel.imshow(values, cmap=over.colours, vmin=1, vmax=255, alpha=0.7, **options)  # type: ignore[attr-defined]
    panel.set_axis_off()  # type: ignore[attr-defined]
    for text, x in ((ENDS[across][0], 0.03), (ENDS[across][1], 0.97)):
        panel.text(  # type: ignore[attr-defined]
            x, 0.5, text, color=INK, fontsize=7, ha="center", va="center", transform=panel.transAxes  # type: ignore[attr-defined]
        )  # fmt: skip
    return drawn


def _slice(found: Layers, layer: Layer, axes: tuple[int, int]) -> np.ndarray:
    normal = 3 - sum(axes)
    return np.take(layer.voxels, found.middle[normal], axis=normal).T[:, ::-1]


def _bar(figure: Figure, drawn: object, panel: object, over: Layer) -> None:
    """The colour bar under a column."""
    box = panel.get_position()  # type: ignore[attr-defined]
    place = figure.add_axes((box.x0 + 0.12 * box.width, 0.055, 0.76 * box.width, 0.014))
    bar = figure.colorbar(drawn, cax=place, orientation="horizontal", ticks=np.linspace(1, 255, 5))  # type: ignore[arg-type]
    bar.set_ticklabels(over.ticks)
    bar.set_alpha(1)
    bar.outline.set_visible(False)  # type: ignore[operator]
    place.tick_params(colors=INK, labelsize=7, length=0)
    place.set_xlabel(over.unit, color=INK, fontsize=7, labelpad=1)


def _address(figure: Figure, dpi: int) -> str:
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=dpi, metadata={"Software": None})
    return "data:image/png;base64," + base64.b64encode(out.getvalue()).decode("ascii")
