"""Box plots over draws, and curves of calibration."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.paper2021.anatomy import NAMES, columns
from experiments.paper2021.results import Result

# Okabe and Ito's colours, which everyone can tell apart.
COLOURS = ("#0072b2", "#d55e00", "#e69f00", "#009e73", "#cc79a7", "#56b4e9")


def boxes(results: Sequence[Result]) -> Figure:
    """Surface distance and Dice of each structure over draws; dashed lines before registration."""
    figure = Figure(figsize=(10, 6.2), facecolor="white", layout="constrained")
    for axes, (which, name) in zip(
        figure.subplots(2, 1, sharex=True),
        (("distance", "surface distance (mm)"), ("dice", "Dice")),
        strict=True,
    ):
        _boxes(axes, results, which)
        axes.set_ylabel(name)
    handles = [axes.plot([], [], color=c, lw=6)[0] for c, _ in zip(COLOURS, results, strict=False)]
    figure.legend(
        handles,
        [r.cell.title for r in results],
        loc="outside upper center",
        ncols=3,
        frameon=False,
        fontsize=9,
    )
    return figure


def calibration(results: Sequence[Result]) -> Figure:
    """Four questions: coverage of the truth, reliability of labels, sparsification, risk and coverage."""
    figure = Figure(figsize=(10, 8), facecolor="white", layout="constrained")
    (held, stated), (sparse, risk) = figure.subplots(2, 2)
    for colour, result in zip(COLOURS, results, strict=False):
        found, style = result.measured, {"color": colour, "label": result.cell.title, "lw": 1.5}
        stated.plot(
            found["reliability"]["predicted"], found["reliability"]["observed"], marker="o", ms=3, **style
        )
        risk.plot(found["risk"]["x"], found["risk"]["y"], **style)
        if "truth" in found:
            held.plot(found["truth"]["nominal"], found["truth"]["coverage"], marker="o", **style)
            sparse.plot(found["sparsification"]["x"], found["sparsification"]["y"], **style)
            sparse.plot(
                found["sparsification"]["x"], found["sparsification"]["oracle"], color=colour, lw=0.8, ls=":"
            )
    for axes in (held, stated):
        axes.plot([0, 1], [0, 1], color="0.6", lw=0.8, ls="--")
        axes.set(xlim=(0, 1), ylim=(0, 1))
    _name(held, "Coverage of the true displacement", "nominal", "observed")
    _name(stated, "Reliability of label probabilities", "predicted", "observed")
    _name(
        sparse,
        "Sparsification (dotted: by the error itself)",
        "share of voxels removed",
        "error of the rest (mm)",
    )
    _name(
        risk, "Risk and coverage of labels", "share of voxels kept, the surest first", "share of wrong labels"
    )
    figure.legend(
        *stated.get_legend_handles_labels(), loc="outside upper center", ncols=3, frameon=False, fontsize=9
    )
    return figure


def _boxes(axes: Axes, results: Sequence[Result], which: str) -> None:
    places = np.arange(len(NAMES))
    width = 0.8 / len(results)
    for index, (colour, result) in enumerate(zip(COLOURS, results, strict=False)):
        there = columns(result.measured["labels"])
        values = result.overlap(which)[:, there]
        at = [list(NAMES).index(result.measured["labels"][column]) for column in there]
        kept = [values[np.isfinite(values[:, k]), k] for k in range(values.shape[1])]
        axes.boxplot(
            kept, positions=places[at] + (index + 0.5) * width - 0.4, widths=0.9 * width, manage_ticks=False,
            showfliers=False, patch_artist=True, boxprops={"facecolor": colour, "linewidth": 0.5},
            medianprops={"color": "white"}, whiskerprops={"color": colour}, capprops={"color": colour},
        )  # fmt: skip
        if index == 0:
            axes.hlines(
                result.before(which)[there], places[at] - 0.45, places[at] + 0.45, colors="0.3", ls="--", lw=1
            )
    axes.set_xticks(places, list(NAMES.values()), rotation=40, ha="right", fontsize=8)
    axes.grid(axis="y", lw=0.3)
    axes.spines[["top", "right"]].set_visible(False)


def _name(axes: Axes, title: str, x: str, y: str) -> None:
    axes.set_title(title, fontsize=10)
    axes.set(xlabel=x, ylabel=y)
    axes.grid(lw=0.3)
    axes.spines[["top", "right"]].set_visible(False)
