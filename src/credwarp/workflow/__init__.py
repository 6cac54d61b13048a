"""Files in, a run's folder out: read, align, register, summarise, write, report."""

from credwarp.workflow.begin import begin, refuse_used, removed_if_it_fails
from credwarp.workflow.calibration import Calibration, calibrate, known_pair
from credwarp.workflow.complete import (
    Outcome,
    complete,
    diagnosis_of,
    lengthen,
    rewrite,
    threads_of,
)
from credwarp.workflow.forecast import Forecast, forecast, within
from credwarp.workflow.request import Request, Subject
from credwarp.workflow.scoring import Score, score
from credwarp.workflow.training import Files, Population, begin_training, complete_training

__all__ = [
    "Calibration",
    "Files",
    "Forecast",
    "Outcome",
    "Population",
    "Request",
    "Score",
    "Subject",
    "begin",
    "begin_training",
    "calibrate",
    "complete",
    "complete_training",
    "diagnosis_of",
    "forecast",
    "known_pair",
    "lengthen",
    "refuse_used",
    "removed_if_it_fails",
    "rewrite",
    "score",
    "threads_of",
    "within",
]
