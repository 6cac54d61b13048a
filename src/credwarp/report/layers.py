"""The volumes of a page: images, maps and labels as the viewer reads them, made to fit."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import torch

from credwarp.report.colours import stops, structure, table
from credwarp.report.findings import Findings
from credwarp.report.views import Bytes, View, packed, upper_limit, window
from credwarp.shapes import Image

# Of the 15 MB that a report may have, what is left after text, figures and charts.
MOST_BYTES = 12_000_000
MOST_VOXELS = 128**3
MOST_WARPS = 10
LEAST_MM = 0.1
# The share of a map's range over which it fades in, where it does.
FADED = 0.2


@dataclass(frozen=True, eq=False)
class Layer:
    """One volume: `data` is what `views.packed` gives; a map runs from `low` to `high` in `unit`.

    Where nothing happens a map may `fade`: at its `low` end, or in its `middle`.
    """

    name: str
    title: str
    kind: str
    voxels: Bytes
    data: str
    low: float = 0.0
    high: float = 1.0
    unit: str = ""
    colours: str = ""
    scale: str = "linear"
    fade: str = ""
    relative: str = ""

    def described(self) -> dict[str, object]:
        """What the viewer must know of it."""
        facts: dict[str, object] = {"title": self.title, "kind": self.kind, "relative": self.relative}
        if self.kind == "map":
            facts |= {
                "low": self.low,
                "high": self.high,
                "unit": self.unit,
                "scale": self.scale,
                "fade": self.fade,
            }
            facts |= {"table": table(self.colours), "stops": stops(self.colours), "ticks": self.ticks}
        return facts

    @property
    def ticks(self) -> list[str]:
        """Five numbers along the colour bar."""
        values = np.linspace(self.low, self.high, 5)
        return [f"{2.0**v:.2g}" if self.scale == "log2" else f"{v:.3g}" for v in values]


@dataclass(frozen=True, eq=False)
class Layers:
    """All of them on one view, by name."""

    view: View
    each: dict[str, Layer] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """Characters of all data."""
        return sum(len(layer.data) for layer in self.each.values())

    @property
    def middle(self) -> tuple[int, int, int]:
        """Where the cross-hair starts: the middle of the anatomy."""
        inside = np.argwhere(self.view.inside)
        place = inside.mean(axis=0) if len(inside) else (np.array(self.view.grid.shape) - 1) / 2
        x, y, z = (int(v) for v in np.rint(place))
        return x, y, z


def layers(findings: Findings) -> Layers:
    """As fine as fits the page, at most as fine as the images are."""
    view = View.of(findings.grid, findings.mask)
    coarsening = max(1.0, (view.grid.voxels / MOST_VOXELS) ** (1 / 3))
    while True:
        view = View.of(findings.grid, findings.mask, coarsening)
        found = Layers(view, {layer.name: layer for layer in _all(findings, view)})
        if found.size <= MOST_BYTES or min(view.grid.shape) < 8:
            return found
        coarsening *= 1.03 * (found.size / MOST_BYTES) ** (1 / 3)


def label_numbers(findings: Findings) -> list[int]:
    """Labels in the order in which the page numbers them."""
    return [] if findings.structures is None else [row.label for row in findings.structures.rows]


def _all(findings: Findings, view: View) -> Iterator[Layer]:
    yield from _images(findings, view)
    yield from _maps(findings, view)
    structures = findings.structures
    if structures is not None and structures.most_probable is not None:
        seen = view.labels(structures.most_probable, label_numbers(findings))
        yield Layer("labels", "Most probable label", "labels", seen, packed(seen))


def _images(findings: Findings, view: View) -> Iterator[Layer]:
    fixed = view.image(findings.fixed, window(findings.fixed, findings.mask))
    yield Layer("fixed", "Fixed", "image", fixed, packed(fixed))
    grey = window(findings.after, findings.mask)
    before, after = (view.image(data, grey) for data in (findings.before, findings.after))
    yield Layer("before", "Moving, before", "image", before, packed(before))
    yield Layer("after", "Moving, after", "image", after, packed(after))
    for place, data in enumerate(findings.plausible[:MOST_WARPS]):
        draw = view.image(data, grey)
        yield Layer(
            f"warp{place}",
            f"Plausible warp {place + 1}",
            "image",
            draw,
            packed(draw, after),
            relative="after",
        )


def _maps(findings: Findings, view: View) -> Iterator[Layer]:
    maps, mask = findings.maps, findings.mask
    if maps.displacement is not None:
        top = upper_limit(maps.displacement, mask, LEAST_MM)
        yield _map(
            view, maps.displacement, "displacement", "Mean displacement", (0.0, top), ("mm", "viridis")
        )
    if maps.radius95 is not None:
        top = upper_limit(maps.radius95, mask, LEAST_MM)
        yield _map(view, maps.radius95, "radius95", "95 % radius", (0.0, top), ("mm", "inferno"))
    if maps.jacobian is not None:
        yield _jacobian(view, findings, maps.jacobian)
    if maps.fold_probability is not None:
        top = upper_limit(maps.fold_probability, mask, 0.01)
        folds = _map(view, maps.fold_probability, "folds", "Fold probability", (0.0, top), ("", "cividis"))
        yield replace(folds, fade="low")
    structures = findings.structures
    if structures is not None and structures.probability is not None:
        doubt = 1 - structures.probability
        layer = _map(view, doubt, "doubt", "Probability of another label", (0.0, 1.0), ("", "inferno"))
        yield replace(layer, fade="low")


def _jacobian(view: View, findings: Findings, data: Image) -> Layer:
    """On a logarithmic scale, so that halving and doubling stand as far from 1."""
    logged = torch.log2(data.clamp(min=2**-6))
    top = upper_limit(logged, findings.mask, 0.25)
    layer = _map(view, logged, "jacobian", "Volume change", (-top, top), ("×", "PuOr_r"))
    return replace(layer, scale="log2", fade="middle")


def _map(
    view: View, data: Image, name: str, title: str, limits: tuple[float, float], look: tuple[str, str]
) -> Layer:
    seen = view.map(data, limits)
    return Layer(name, title, "map", seen, packed(seen), *limits, unit=look[0], colours=look[1])


def swatches(findings: Findings) -> list[str]:
    """The colour of each label."""
    return [structure(place) for place in range(len(label_numbers(findings)))]
