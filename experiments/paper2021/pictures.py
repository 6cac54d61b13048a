"""The paper's figures in a style of our own: slices of runs' maps, side by side."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from credwarp import read
from credwarp.files import RunFolder
from experiments.paper2021.results import Finished, Result

SIDE, BAR, LEFT, TOP = 1.75, 0.55, 1.05, 0.34
AXIAL, PLANES = 2, (2, 1, 0)
# How much of a map is seen where the image beneath is to be seen too.
OPACITY = 0.6
FOLD = (0.85, 0.0, 0.45)


@dataclass(frozen=True)
class Scale:
    """Colours of a map between two values, and what they are of."""

    name: str
    colours: str
    low: float
    high: float


@dataclass(frozen=True)
class Panel:
    """A slice of an image in grey with a map over it, `opacity` of it seen where the image is not background.

    Voxels where the map is not positive stand out where `folding` is asked for.
    """

    grey: np.ndarray
    over: np.ndarray | None = None
    opacity: float = 1.0
    folding: bool = False


@dataclass(frozen=True)
class Row:
    """Panels with a name, and the scale that their maps share."""

    name: str
    panels: tuple[Panel | None, ...]
    scale: Scale | None = None


def image(result: Result, name: str) -> np.ndarray:
    """One of the maps that `measure` wrote."""
    return np.asarray(read(RunFolder(result.folder).map(name)).data)


def displacements(results: Sequence[Result], moving: bool = False, zoom: bool = False) -> Figure:
    """Fixed image with the mean displacement over it, the warped moving image beneath; a column each."""
    lengths = [_slice(image(result, "displacement")) for result in results]
    fixed = [_grey(_slice(image(result, "fixed"))) for result in results]
    warped = [_grey(_slice(image(result, "warped"))) for result in results]
    scale = Scale("mm", "viridis", 0.0, _top(lengths))
    over = tuple(Panel(grey, length, OPACITY) for grey, length in zip(fixed, lengths, strict=True))
    rows = [Row("fixed image,\nmean displacement", over, scale)]
    if zoom:
        near = [(_middle(grey), _middle(length)) for grey, length in zip(fixed, lengths, strict=True)]
        rows.append(Row("the middle of it,\nmagnified", tuple(Panel(*both, OPACITY) for both in near), scale))
    rows.append(Row("warped\nmoving image", tuple(Panel(grey) for grey in warped)))
    titles = [result.cell.title for result in results]
    if moving:
        first = Panel(_grey(_slice(image(results[0], "moving"))))
        blank = (None,) * (len(rows) - 1)
        rows = [
            Row(row.name, (lead, *row.panels), row.scale)
            for row, lead in zip(rows, (*blank, first), strict=True)
        ]
        titles = ["moving image", *titles]
    return drawn(rows, titles)


def uncertainties(results: Sequence[Result]) -> Figure:
    """The standard deviation of the displacement in three planes; a row each."""
    spreads = [image(result, "displacement_sd") for result in results]
    scale = Scale("mm", "magma", 0.0, _top(spreads))
    rows = []
    for result, spread in zip(results, spreads, strict=True):
        fixed = image(result, "fixed")
        panels = tuple(Panel(_grey(_slice(fixed, axis)), _slice(spread, axis)) for axis in PLANES)
        rows.append(Row(_folded(result.cell.title), panels, scale))
    return drawn(rows, ["axial", "coronal", "sagittal"])


def jacobians(results: Sequence[Result], with_spread: bool = False) -> Figure:
    """The determinant of the Jacobian of a draw; the draws' spread above it, if wanted."""
    rows = []
    if with_spread:
        spreads = [_slice(image(result, "displacement_sd")) for result in results]
        fixed = [_grey(_slice(image(result, "fixed"))) for result in results]
        over = tuple(Panel(grey, spread) for grey, spread in zip(fixed, spreads, strict=True))
        rows.append(Row("SD of the\ndisplacement", over, Scale("mm", "magma", 0.0, _top(spreads))))
    slices = [_slice(image(result, "jacobian")) for result in results]
    panels = tuple(Panel(np.ones_like(part), part, folding=True) for part in slices)
    rows.append(Row("det J of a draw", panels, Scale("", "RdBu_r", 0.0, 2.0)))
    return drawn(rows, [result.cell.title for result in results])


def starts(found: Finished) -> Figure:
    """The spread from each start, and how far the first differs from the others."""
    results = tuple(found.on().values())
    spreads = [_slice(image(result, "displacement_sd")) for result in results]
    grey = _grey(_slice(image(results[0], "fixed")))
    apart = [None, *(np.abs(spread - spreads[0]) for spread in spreads[1:])]
    rows = [
        Row(
            "SD of the\ndisplacement",
            tuple(Panel(grey, s) for s in spreads),
            Scale("mm", "magma", 0.0, _top(spreads)),
        ),
        Row(
            "away from\nthe first",
            tuple(None if a is None else Panel(grey, a) for a in apart),
            Scale("mm", "cividis", 0.0, _top([a for a in apart if a is not None])),
        ),
    ]
    return drawn(rows, [result.cell.title for result in results])


def drawn(rows: Sequence[Row], titles: Sequence[str]) -> Figure:
    """All panels of equal width, with a bar of colours at the end of each row that has a scale."""
    columns = len(titles)
    tall = max(p.grey.shape[0] / p.grey.shape[1] for row in rows for p in row.panels if p is not None)
    width, height = LEFT + SIDE * columns + BAR, TOP + SIDE * tall * len(rows)
    figure = Figure(figsize=(width, height), facecolor="white")
    spec = figure.add_gridspec(
        len(rows), columns + 1, width_ratios=[1] * columns + [0.05], left=LEFT / width,
        right=1 - 0.8 * BAR / width, bottom=0.01, top=1 - TOP / height, wspace=0.03, hspace=0.04,
    )  # fmt: skip
    for line, row in enumerate(rows):
        for column, panel in enumerate(row.panels):
            axes = figure.add_subplot(spec[line, column])
            axes.set(xticks=[], yticks=[], frame_on=False)
            if panel is not None:
                axes.imshow(_coloured(panel, row.scale), origin="lower", interpolation="nearest")
            if line == 0:
                axes.set_title(_folded(titles[column]), fontsize=8, pad=4)
            if column == 0:
                axes.set_ylabel(row.name, fontsize=8)
        if row.scale is not None:
            _bar(figure, figure.add_subplot(spec[line, columns]), row.scale)
    return figure


def _coloured(panel: Panel, scale: Scale | None) -> np.ndarray:
    """Red, green and blue of each pixel."""
    colour = np.repeat(panel.grey[..., None], 3, axis=2)
    if panel.over is None or scale is None:
        return colour
    share = np.clip((panel.over - scale.low) / (scale.high - scale.low), 0, 1)
    seen = np.where(panel.grey > 0, panel.opacity, 0.0)[..., None]
    colour = (1 - seen) * colour + seen * colormaps[scale.colours](share)[..., :3]
    if panel.folding:
        colour[panel.over <= 0] = FOLD
    return np.asarray(colour)


def _bar(figure: Figure, axes: Axes, scale: Scale) -> None:
    axes.set_axis_off()
    inside = axes.inset_axes((0, 0.08, 1, 0.84))
    bar = figure.colorbar(ScalarMappable(Normalize(scale.low, scale.high), scale.colours), cax=inside)
    bar.outline.set_visible(False)
    inside.tick_params(labelsize=7, length=2)
    inside.set_ylabel(scale.name, fontsize=7, labelpad=2)


def _slice(volume: np.ndarray, axis: int = AXIAL) -> np.ndarray:
    """The middle slice across an axis, the patient's right on the left, up or front on top."""
    return np.take(volume, volume.shape[axis] // 2, axis=axis).T[:, ::-1]


def _middle(plane: np.ndarray) -> np.ndarray:
    rows, columns = plane.shape
    return plane[rows // 4 : rows - rows // 4, columns // 4 : columns - columns // 4]


def _grey(plane: np.ndarray) -> np.ndarray:
    low, high = plane.min(), np.quantile(plane, 0.995)
    return np.clip((plane - low) / max(high - low, 1e-9), 0, 1)


def _top(maps: Sequence[np.ndarray]) -> float:
    """A bound that few voxels exceed."""
    return max(float(np.quantile(np.concatenate([m.ravel() for m in maps]), 0.99)), 1e-6)


def _folded(title: str) -> str:
    return title.replace(" (", "\n(").replace(" at ", "\nat ")
