"""What a run looks like to a person."""

from credwarp.report.findings import (
    Calibration,
    Findings,
    Interval,
    LabelRow,
    Landmark,
    Maps,
    Residuals,
    Structures,
    Tracked,
)
from credwarp.report.gather import gather
from credwarp.report.page import first_screen, render
from credwarp.report.planes import before_and_after
from credwarp.report.verdict import Verdict, verdict

__all__ = [
    "Calibration",
    "Findings",
    "Interval",
    "LabelRow",
    "Landmark",
    "Maps",
    "Residuals",
    "Structures",
    "Tracked",
    "Verdict",
    "before_and_after",
    "first_screen",
    "gather",
    "render",
    "verdict",
]
