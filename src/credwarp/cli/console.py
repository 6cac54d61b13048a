"""What a person sees: results on standard output, everything else on standard error, a line each."""

import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from credwarp.register import Progress as Seen
    from credwarp.register import Watch

SILENCE = 10.0
STYLES = {logging.WARNING: "\x1b[33m", logging.ERROR: "\x1b[31m"}


class _Lines(logging.Handler):
    """Log records as plain lines, warnings marked."""

    def emit(self, record: logging.LogRecord) -> None:
        text = " ".join(record.getMessage().split())
        if record.levelno >= logging.WARNING:
            text = f"{record.levelname.lower()}: {text}"
        print(_coloured(text, record.levelno), file=sys.stderr)


def listen(quiet: bool) -> None:
    """Show what the package logs: all, or nothing but errors."""
    log = logging.getLogger("credwarp")
    log.handlers = [_Lines()]
    log.setLevel(logging.ERROR if quiet else logging.INFO)
    log.propagate = False


@contextmanager
def undone_at_the_end() -> Iterator[None]:
    """Whatever `listen` changes is as before at the end, for a program that runs commands itself."""
    log = logging.getLogger("credwarp")
    before = (log.handlers, log.level, log.propagate)
    try:
        yield
    finally:
        log.handlers, log.propagate = before[0], before[2]
        log.setLevel(before[1])


@contextmanager
def working(doing: str) -> Iterator[None]:
    """What is being done: a spinner with the time it takes on a terminal, a line elsewhere."""
    log = logging.getLogger("credwarp")
    if not log.isEnabledFor(logging.INFO):
        yield
        return
    if not sys.stderr.isatty():
        log.info(doing)
        yield
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        progress.add_task(doing, total=None)
        yield


@contextmanager
def following() -> Iterator["Watch"]:
    """Shows how far a run is: a bar a stage on a terminal, a line now and then elsewhere."""
    log = logging.getLogger("credwarp")
    if not log.isEnabledFor(logging.INFO) or not sys.stderr.isatty():
        yield _Spoken()
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description:<13}"), BarColumn(30),
        TextColumn("{task.completed:>5.0f}/{task.total:.0f}"), TimeElapsedColumn(), TimeRemainingColumn(),
        TextColumn("{task.fields[figures]}"),
    )  # fmt: skip
    with Progress(*columns, console=Console(stderr=True)) as bars:
        tasks: dict[str, Any] = {}

        def show(seen: "Seen") -> None:
            if seen.stage not in tasks:
                tasks[seen.stage] = bars.add_task(seen.stage, total=seen.total, figures="")
            bars.update(tasks[seen.stage], completed=seen.done, figures=_figures(seen))

        yield show


class _Spoken:
    """A line at each stage's beginning, at its end, and every few seconds between."""

    def __init__(self) -> None:
        self.last = 0.0
        self.stage = ""

    def __call__(self, seen: "Seen") -> None:
        now = time.monotonic()
        if seen.stage == self.stage and seen.done < seen.total and now - self.last < SILENCE:
            return
        self.stage, self.last = seen.stage, now
        text = f"{seen.stage} {seen.done}/{seen.total} {_figures(seen)}".rstrip()
        logging.getLogger("credwarp").info(text)


def _figures(seen: "Seen") -> str:
    return ", ".join(f"{name} {value:.4g}" for name, value in seen.figures.items())


def error(sentence: str) -> None:
    """The one line in which a command fails."""
    print(_coloured(f"credwarp: {' '.join(sentence.split())}", logging.ERROR), file=sys.stderr)


def _coloured(text: str, level: int) -> str:
    style = STYLES.get(level, "")
    return f"{style}{text}\x1b[0m" if style and sys.stderr.isatty() else text
