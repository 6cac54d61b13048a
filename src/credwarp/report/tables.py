"""Rows of the report's tables, numbers already written out."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup

from credwarp.report.charts import whisker
from credwarp.report.colours import structure
from credwarp.report.findings import Findings, Interval, LabelRow, Landmark
from credwarp.space import Grid

NOTHING = "–"
ML = 1000.0


@dataclass(frozen=True)
class StructureRow:
    """One structure."""

    name: str
    colour: str
    volume: str
    volume_range: str
    before: str
    dice: str
    dice_range: str
    whisker: Markup | str


@dataclass(frozen=True)
class LandmarkRow:
    """One landmark; `voxel` is where the viewer finds it."""

    name: str
    place: str
    radius: str
    error: str
    inside: str
    voxel: str


def dice_scale(findings: Findings) -> tuple[float, float]:
    """What the Dice column spans."""
    rows = () if findings.structures is None else findings.structures.rows
    values = [row.dice.low for row in rows if row.dice is not None]
    values += [row.dice_before for row in rows if row.dice_before is not None]
    return float(np.floor(10 * min(values, default=0.0)) / 10), 1.0


def structure_rows(findings: Findings) -> list[StructureRow]:
    """All structures in their order."""
    rows = () if findings.structures is None else findings.structures.rows
    return [_structure(row, place, dice_scale(findings)) for place, row in enumerate(rows)]


def label_name(row: LabelRow) -> str:
    """Its name, or its number."""
    return row.name or f"label {row.label}"


def _structure(row: LabelRow, place: int, scale: tuple[float, float]) -> StructureRow:
    volume = None if row.volume is None else Interval(*(v / ML for v in row.volume))
    graphic = (
        ""
        if row.dice is None
        else whisker(scale, row.dice.mean, row.dice.low, row.dice.high, row.dice_before)
    )
    return StructureRow(
        label_name(row),
        structure(place),
        NOTHING if volume is None else _ml(volume.mean),
        NOTHING if volume is None else f"{_ml(volume.low)} to {_ml(volume.high)}",
        NOTHING if row.dice_before is None else f"{row.dice_before:.3f}",
        NOTHING if row.dice is None else f"{row.dice.mean:.3f}",
        NOTHING if row.dice is None else f"{row.dice.low:.3f} to {row.dice.high:.3f}",
        graphic,
    )


def landmark_rows(landmarks: tuple[Landmark, ...], view: Grid) -> list[LandmarkRow]:
    """All landmarks in their order."""
    return [_landmark(one, view) for one in landmarks]


def _landmark(one: Landmark, view: Grid) -> LandmarkRow:
    voxel = np.rint(view.to_voxels(np.asarray(one.mean, dtype=np.float64))).astype(int)
    error, inside = NOTHING, NOTHING
    if one.known is not None:
        error, inside = f"{one.error:.2f}", "yes" if one.inside95 else "no"
    return LandmarkRow(
        one.name,
        ", ".join(f"{v:.1f}".replace("-", "−") for v in one.mean),
        f"{one.radius95:.2f}",
        error,
        inside,
        ",".join(str(v) for v in voxel),
    )


def facts(tree: Mapping[str, Any], above: str = "") -> list[tuple[str, str]]:
    """A nested table as rows, names joined by dots."""
    rows: list[tuple[str, str]] = []
    for key, value in tree.items():
        name = f"{above}{key}"
        if isinstance(value, Mapping):
            rows += facts(value, f"{name}.")
        elif isinstance(value, list | tuple) and value and all(isinstance(one, Mapping) for one in value):
            for place, one in enumerate(value, start=1):
                rows += facts(one, f"{name} {place}.")
        else:
            rows.append((name, _text(value)))
    return rows


def _text(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: NOTHING}[value]
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list | tuple):
        return ", ".join(_text(one) for one in value)
    return str(value)


def _ml(value: float) -> str:
    return f"{value:.3f}" if value < 1 else f"{value:.2f}" if value < 100 else f"{value:,.0f}"
