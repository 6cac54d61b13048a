"""What a person sees: results on standard output, everything else on standard error, a line each."""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager

STYLES = {logging.WARNING: "\x1b[33m", logging.ERROR: "\x1b[31m"}


class _Lines(logging.Handler):
    """Log records as plain lines, warnings marked."""

    def emit(self, record: logging.LogRecord) -> None:
        text = " ".join(record.getMessage().split())
        if record.levelno >= logging.WARNING:
            text = f"warning: {text}"
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


def error(sentence: str) -> None:
    """The one line in which a command fails."""
    print(_coloured(f"credwarp: {' '.join(sentence.split())}", logging.ERROR), file=sys.stderr)


def _coloured(text: str, level: int) -> str:
    style = STYLES.get(level, "")
    return f"{style}{text}\x1b[0m" if style and sys.stderr.isatty() else text
