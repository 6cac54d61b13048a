"""Dose-volume histograms with what the draws leave open, as a picture."""

import io

import numpy as np
from matplotlib.figure import Figure

from credwarp.report.colours import CHAINS
from credwarp.summaries import DoseBands

PLENTY = 6


def dose_volumes(found: DoseBands) -> bytes:
    """A PNG: per structure the median curve, and the band between the 5 and 95 % quantiles."""
    figure = Figure(figsize=(6.4, 4.4), layout="constrained")
    axes = figure.subplots()
    low, middle, high = 100 * found.bands
    for index, structure in enumerate(found.structures):
        colour, dashes = CHAINS[index % len(CHAINS)], ("-", "--", ":")[index // len(CHAINS) % 3]
        axes.fill_between(found.levels, low[index], high[index], color=colour, alpha=0.25, linewidth=0)
        axes.plot(found.levels, middle[index], dashes, color=colour, linewidth=1.6, label=str(structure))
    axes.set(xlabel="dose", ylabel="volume that gets at least the dose, %", ylim=(0, 102))
    axes.set_xlim(0, float(found.levels[-1]))
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(title="structure", frameon=False, ncols=1 + len(found.structures) // PLENTY, fontsize="small")
    count = len(np.asarray(found.received))
    axes.set_title(f"median and 5 to 95 % of {count} draws", loc="left", fontsize="medium")
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=150, metadata={"Software": None})
    return out.getvalue()
