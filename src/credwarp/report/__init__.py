"""What a run looks like to a person."""

from credwarp.report.differences import differences
from credwarp.report.doses import dose_volumes
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
    "differences",
    "dose_volumes",
    "first_screen",
    "gather",
    "render",
    "verdict",
]
