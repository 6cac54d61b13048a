"""What a person sees: results on standard output, everything else on standard error, a line each."""

import logging
import sys

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


def error(sentence: str) -> None:
    """The one line in which a command fails."""
    print(_coloured(f"credwarp: {' '.join(sentence.split())}", logging.ERROR), file=sys.stderr)


def _coloured(text: str, level: int) -> str:
    style = STYLES.get(level, "")
    return f"{style}{text}\x1b[0m" if style and sys.stderr.isatty() else text
