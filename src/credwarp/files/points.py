"""Points in files: comma-separated values and Slicer's markups, in RAS or LPS as they say themselves."""

import csv
import re
from pathlib import Path

import numpy as np

from credwarp.errors import InputError
from credwarp.files.atomic import write_text
from credwarp.files.explain import explained
from credwarp.files.images import check_file
from credwarp.files.markups import (
    FRAMES,
    PLACES,
    SIGNS,
    Ellipsoids,
    Frame,
    NamedPoints,
    markups,
    read_markups,
)
from credwarp.files.tables import write_table

AXES: dict[tuple[str, str, str], Frame | None] = {
    ("x", "y", "z"): None,
    ("r", "a", "s"): "RAS",
    ("l", "p", "s"): "LPS",
}
COLUMNS = ("name", "x", "y", "z", "radius95", "xx", "yy", "zz", "xy", "xz", "yz")
CSV, MARKUPS = (".csv", ".fcsv", ".txt"), (".mrk.json", ".json")


def read_points(path: str | Path) -> NamedPoints:
    """Points of a table or of Slicer; the file has to say whether they are RAS or LPS."""
    path = Path(path)
    check_file(path)
    name = path.name.lower()
    if not name.endswith(CSV + MARKUPS):
        raise InputError(f"{path} ends in none of {', '.join(CSV + MARKUPS)}; convert it or rename it.")
    with explained(path, "list of points"):
        found = read_markups(path) if name.endswith(MARKUPS) else _read_table(path)
    if len(found.positions) == 0 or not np.isfinite(found.positions).all():
        raise InputError(f"{path} has no points, or one that is no number; give three numbers per point.")
    return found


def write_points(path: Path, points: NamedPoints, found: Ellipsoids, space: str) -> None:
    """A table or Slicer's markups, by the name of the file, in the frame of `points`; `space` is a remark."""
    if path.name.lower().endswith(MARKUPS):
        write_text(path, markups(points, found, space))
        return
    turned = found.turned(points.frame)
    remarks = (
        f"CoordinateSystem = {points.frame}",
        f"mean, radius of the ball with 95 %, covariance; mm and mm2; {space}",
    )
    rows = [
        (name, *turned.mean[i].tolist(), float(turned.radius95[i]), *_packed(turned.covariance[i]))
        for i, name in enumerate(points.names)
    ]
    write_table(path, COLUMNS, rows, remarks)


def _read_table(path: Path) -> NamedPoints:
    text = path.read_text(encoding="utf-8-sig")
    lines = [line for line in text.splitlines() if line.strip()]
    remarks = [line for line in lines if line.startswith("#")]
    rows = list(csv.reader(line for line in lines if not line.startswith("#")))
    header = _fcsv_columns(remarks) or [cell.strip().lower() for cell in rows.pop(0)]
    found = next((axes for axes in AXES if all(axis in header for axis in axes)), None)
    if found is None:
        raise InputError(f"{path} has no columns x, y, z (or r, a, s or l, p, s); name its columns.")
    frame = AXES[found] or _stated(remarks)
    if frame is None:
        raise InputError(
            f"{path} does not say whether its points are RAS or LPS; "
            "begin it with the line `# CoordinateSystem = RAS`, or LPS."
        )
    places = [header.index(axis) for axis in found]
    label = next((header.index(name) for name in ("name", "label", "id") if name in header), None)
    positions = np.array([[float(row[place]) for place in places] for row in rows]).reshape(-1, 3)
    names = [row[label] if label is not None else str(i) for i, row in enumerate(rows, start=1)]
    return NamedPoints(tuple(names), positions * SIGNS[frame], frame)


def _stated(remarks: list[str]) -> Frame | None:
    for remark in remarks:
        said = re.search(r"coordinate\s*system\s*[=:]\s*(\w+)", remark, re.IGNORECASE) or re.fullmatch(
            r"#\s*(RAS|LPS)\b.*", remark.strip(), re.IGNORECASE
        )
        if said and said[1].upper() in FRAMES:
            return FRAMES[said[1].upper()]
    return None


def _fcsv_columns(remarks: list[str]) -> list[str]:
    """Slicer's older format names its columns in a remark."""
    for remark in remarks:
        said = re.search(r"columns\s*=\s*(.+)", remark, re.IGNORECASE)
        if said:
            return [cell.strip().lower() for cell in said[1].split(",")]
    return []


def _packed(covariance: np.ndarray) -> list[float]:
    return [float(covariance[a, b]) for a, b in PLACES]
