"""Files in, a run's folder out: read, align, register, summarise, write, report."""

from credwarp.workflow.begin import begin, refuse_used
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

__all__ = [
    "Forecast",
    "Outcome",
    "Request",
    "Subject",
    "begin",
    "complete",
    "diagnosis_of",
    "forecast",
    "lengthen",
    "refuse_used",
    "rewrite",
    "threads_of",
    "within",
]
