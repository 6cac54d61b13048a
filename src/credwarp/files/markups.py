"""Points with what is known of them, and Slicer's markups of them."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from credwarp.shapes import Points

Frame: TypeAlias = Literal["RAS", "LPS"]
SIGNS = {"RAS": np.array([1.0, 1.0, 1.0]), "LPS": np.array([-1.0, -1.0, 1.0])}
# Slicer's files before version 4.11 write numbers.
FRAMES: dict[str, Frame] = {"RAS": "RAS", "LPS": "LPS", "0": "RAS", "1": "LPS"}
PLACES = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
SCHEMA = (
    "https://raw.githubusercontent.com/slicer/slicer/master/Modules/Loadable/Markups/Resources/Schema/"
    "markups-schema-v1.0.3.json#"
)
# The square root of the 95 % quantile of a chi-square law with three degrees of freedom.
ELLIPSOID = 2.7954834829151074


@dataclass(frozen=True, eq=False)
class NamedPoints:
    """Points in RAS+ millimetres, their names, and the frame that their file had."""

    names: tuple[str, ...]
    positions: Points
    frame: Frame


@dataclass(frozen=True, eq=False)
class Ellipsoids:
    """Means and 3 × 3 covariances in RAS+ millimetres; the radius of the ball with 95 % per point."""

    mean: np.ndarray
    covariance: np.ndarray
    radius95: np.ndarray

    def turned(self, frame: Frame) -> "Ellipsoids":
        """The same along the axes of a frame."""
        signs = SIGNS[frame]
        return Ellipsoids(self.mean * signs, self.covariance * signs[:, None] * signs, self.radius95)


def markups(points: NamedPoints, found: Ellipsoids, space: str) -> str:
    """The text of a `.mrk.json` file."""
    markup = _markup(points, found.turned(points.frame), space)
    return json.dumps({"@schema": SCHEMA, "markups": [markup]}, indent=2) + "\n"


def read_markups(path: Path) -> NamedPoints:
    """The points of all lists in a `.mrk.json` file."""
    names, positions, frames = [], [], []
    for markup in json.loads(path.read_text(encoding="utf-8"))["markups"]:
        frame = FRAMES[str(markup.get("coordinateSystem", "LPS")).upper()]
        for number, point in enumerate(markup.get("controlPoints", []), start=1):
            if point.get("positionStatus", "defined") != "defined":
                continue
            names.append(str(point.get("label") or number))
            positions.append(np.array(point["position"], dtype=np.float64) * SIGNS[frame])
            frames.append(frame)
    return NamedPoints(tuple(names), np.array(positions).reshape(-1, 3), frames[0] if frames else "LPS")


def _markup(points: NamedPoints, found: Ellipsoids, space: str) -> dict[str, Any]:
    """Each point carries its ellipsoid: axes as its orientation, their half lengths as measurements."""
    values, axes = np.linalg.eigh(found.covariance)
    halves = ELLIPSOID * np.sqrt(values.clip(min=0))[:, ::-1]
    # The longest axis first, and right-handed.
    axes = axes[:, :, ::-1] * np.sign(np.linalg.det(axes[:, :, ::-1]))[:, None, None]
    measured = {
        "radius95": (found.radius95, "mm", "radius of the ball round the point that holds 95 %"),
        **{
            f"ellipsoid95 half axis {axis + 1}": (
                halves[:, axis],
                "mm",
                f"along column {axis + 1} of orientation",
            )
            for axis in range(3)
        },
        **{
            f"covariance {'xyz'[a]}{'xyz'[b]}": (
                found.covariance[:, a, b],
                "mm2",
                "covariance of the position",
            )
            for a, b in PLACES
        },
    }
    return {
        "type": "Fiducial",
        "name": space,
        "coordinateSystem": points.frame,
        "coordinateUnits": "mm",
        "controlPoints": [
            {
                "id": str(index + 1),
                "label": name,
                "description": f"95 % within {found.radius95[index]:.2f} mm",
                "position": found.mean[index].tolist(),
                "orientation": axes[index].ravel().tolist(),
                "positionStatus": "defined",
            }
            for index, name in enumerate(points.names)
        ],
        "measurements": [
            {
                "name": name,
                "enabled": True,
                "units": unit,
                "description": said,
                "controlPointValues": [float(value) for value in each],
            }
            for name, (each, unit, said) in measured.items()
        ],
    }
