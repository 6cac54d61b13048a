"""The cohort's page: one HTML file that needs nothing else, failures and outliers first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup

from credwarp import __version__
from credwarp.batch.outliers import Distance, distances
from credwarp.report.charts import Frame, bars, number, padded
from credwarp.report.page import PAGE as REPORT
from credwarp.report.verdict import WORDS

PAGE = Path(__file__).parent / "page"
BINS = 24
NOTHING = "–"
CHARTS = {
    "dice": "Dice, mean of labels",
    "radius95": "median 95 % radius, mm",
    "rhat_max": "R-hat, worst functional",
    "ess_min": "effective draws, fewest",
}
FAR = 3.5


@dataclass(frozen=True)
class Cell:
    """What is shown, and what it is sorted by."""

    text: str
    value: float


@dataclass(frozen=True)
class Line:
    """A pair in the table."""

    name: str
    link: str
    light: str
    word: str
    sentence: str
    flags: str
    status: str
    cells: tuple[Cell, ...]


COLUMNS = (
    "Outlier", "Dice before", "Dice", "Worst label", "95 % radius, mm", "R-hat", "Effective draws",
    "Folded voxels", "Time, s",
)  # fmt: skip
FORMATS = {
    "dice_before": "{:.3f}", "dice": "{:.3f}", "dice_worst": "{:.3f}", "radius95": "{:.2f}",
    "rhat_max": "{:.3f}", "ess_min": "{:,.0f}", "folds": "{:.2g}", "run_seconds": "{:,.0f}",
}  # fmt: skip


def render(facts: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> str:
    """The whole page, the same bytes for the same cohort."""
    far = distances(rows)
    order = sorted(range(len(rows)), key=lambda place: _rank(rows[place], far[place]))
    return _template().render(
        version=__version__,
        facts=facts,
        lines=[_line(rows[place], far[place]) for place in order],
        columns=COLUMNS,
        charts=[chart for name, title in CHARTS.items() if (chart := _chart(rows, name, title))],
        statuses=sorted(facts["by_status"]),
        far=sum(one.score >= FAR for one in far),
        limit=FAR,
    )


@cache
def _template() -> Template:
    environment = Environment(
        loader=FileSystemLoader([PAGE, REPORT]), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    return environment.get_template("cohort.html")


def _rank(row: Mapping[str, Any], far: Distance) -> tuple[bool, float, str]:
    return row["status"] != "failed", -far.score, row["id"]


def _line(row: Mapping[str, Any], far: Distance) -> Line:
    ended = row["light"] is not None
    waiting = row["status"] == "waiting"
    light = row["light"] if ended else "" if waiting else "red"
    away = Cell(f"{far.score:.1f} SD, {far.figure}" if far.figure else NOTHING, far.score)
    return Line(
        name=row["id"],
        link=quote(f"{row['folder']}/report.html") if ended else "",
        light=light,
        word=WORDS[row["light"]] if ended else row["status"].capitalize(),
        sentence=row["sentence"],
        flags=", ".join(flag.replace("_", " ") for flag in row["flags"] or ()),
        status=row["status"],
        cells=(away, *(_cell(row[name], form) for name, form in FORMATS.items())),
    )


def _cell(value: float | None, form: str) -> Cell:
    return Cell(NOTHING, -1.0) if value is None else Cell(form.format(value), value)


def _chart(rows: Sequence[Mapping[str, Any]], name: str, title: str) -> Markup | None:
    """How one figure is spread over the cohort."""
    values = np.array([row[name] for row in rows if row[name] is not None], dtype=np.float64)
    values = values[np.isfinite(values)]
    if len(values) < 2:
        return None
    low, high = float(values.min()), float(values.max())
    middle_of = (low + high) / 2
    alike = high - low <= 1e-6 * abs(middle_of)
    low, high = padded(middle_of, middle_of) if alike else padded(low, high)
    counts, edges = np.histogram(values, BINS, (low, high))
    middle = number(float(f"{np.median(values):.3g}"))
    frame = Frame((low, high), (0.0, max(float(counts.max()) * 1.08, 1.0)), title, "pairs", 190)
    return bars(
        frame, edges, counts, None, f"Histogram of {title} over {len(values)} pairs, median {middle}."
    )
