"""Files in, a run's folder out: read, align, register, summarise, write, report."""

from credwarp.workflow.begin import begin, refuse_used, removed_if_it_fails
from credwarp.workflow.calibration import Calibration, calibrate, known_pair
from credwarp.workflow.comparing import Comparison, Difference, compare
from credwarp.workflow.complete import (
    NOT_CONVERGED,
    Outcome,
    code_of,
    complete,
    diagnosis_of,
    lengthen,
    rewrite,
    threads_of,
)
from credwarp.workflow.forecast import Forecast, forecast, memory_mb, within
from credwarp.workflow.logs import logging_to
from credwarp.workflow.machine import compute_on
from credwarp.workflow.parting import draw_apart, join, warm_up
from credwarp.workflow.request import Request, Subject
from credwarp.workflow.scoring import Score, score
from credwarp.workflow.training import Files, Population, begin_training, complete_training
from credwarp.workflow.verifying import Check, verify

__all__ = [
    "NOT_CONVERGED",
    "Calibration",
    "Check",
    "Comparison",
    "Difference",
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
    "code_of",
    "compare",
    "complete",
    "compute_on",
    "complete_training",
    "diagnosis_of",
    "draw_apart",
    "forecast",
    "join",
    "known_pair",
    "lengthen",
    "logging_to",
    "memory_mb",
    "refuse_used",
    "removed_if_it_fails",
    "rewrite",
    "score",
    "threads_of",
    "warm_up",
    "verify",
    "within",
]
