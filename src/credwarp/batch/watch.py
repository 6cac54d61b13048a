"""While a worker is at a pair: what it tells, what its log has, and whether anybody still waits for it."""

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeAlias

from credwarp.register import Progress

log = logging.getLogger("credwarp")
Tell: TypeAlias = Callable[[Mapping[str, Any]], None]
SAID_EVERY = 5.0


class Abandoned(Exception):
    """Nobody waits for this task any more."""


class Watch:
    """Tells how far a run is, now and then, and ends it when nobody wants it any more."""

    def __init__(self, name: str, tell: Tell, wanted: Callable[[], bool]) -> None:
        self.name, self.tell, self.wanted = name, tell, wanted
        self.stage, self.last = "", -SAID_EVERY

    def __call__(self, seen: Progress) -> None:
        """As every stage of a registration calls it."""
        self.refuse_unwanted()
        now = time.monotonic()
        if seen.stage == self.stage and now - self.last < SAID_EVERY:
            return
        self.stage, self.last = seen.stage, now
        log.info("%s %d/%d", seen.stage, seen.done, seen.total)
        self.tell({"name": self.name, "stage": seen.stage, "done": seen.done, "total": seen.total})

    def refuse_unwanted(self) -> None:
        """Stop here: what is kept stays, and whoever comes next goes on from it."""
        if not self.wanted():
            raise Abandoned


@contextmanager
def telling() -> Iterator[None]:
    """The package's log at work: down to what is worth knowing, and not on the worker's own output."""
    before = log.level, log.propagate
    log.setLevel(logging.INFO)
    log.propagate = False
    try:
        yield
    finally:
        log.level, log.propagate = before
