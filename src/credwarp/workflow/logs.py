"""The log of a run: what the package says while it is at work, a JSON object a line."""

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from credwarp.errors import InputError


@contextmanager
def logging_to(path: Path) -> Iterator[None]:
    """What the package logs meanwhile also goes to a file, behind what is there."""
    log = logging.getLogger("credwarp")
    try:
        handler = logging.FileHandler(path, encoding="utf-8")
    except OSError as failure:
        raise InputError(f"{path} cannot be written ({failure.strerror}); name another folder.") from None
    handler.setFormatter(_Json())
    handler.handleError = lambda record: None  # type: ignore[method-assign]  # a full disk is told elsewhere
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)
        with suppress(OSError):
            handler.close()


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        said = {"time": record.created, "level": record.levelname.lower(), "message": record.getMessage()}
        if record.exc_info:
            said["traceback"] = self.formatException(record.exc_info)
        return json.dumps(said)
