"""How far a cohort is: bars on a terminal, a line per pair and now and then elsewhere."""

import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from credwarp.batch.agenda import Outcome
    from credwarp.batch.engine import News

log = logging.getLogger("credwarp")
SILENCE = 15.0
WORDS = {"done": "done", "not converged": "done, but not converged", "flagged": "done, with flags"}


class Board:
    """Counts what ends, and reckons when all will have."""

    def __init__(self, total: int) -> None:
        self.total, self.since, self.last = total, time.monotonic(), time.monotonic()
        self.told: set[str] = set()
        self.stages: dict[str, str] = {}

    def note(self, news: "News") -> None:
        """Say what has ended since."""
        if news.stage is not None:
            self.stages[news.stage["name"]] = (
                f"{news.stage['stage']} {news.stage['done']}/{news.stage['total']}"
            )
        if len(news.agenda.outcomes) == len(self.told):
            return
        for folder, outcome in list(news.agenda.outcomes.items()):
            if folder not in self.told:
                self.told.add(folder)
                self.stages.pop(outcome.case.name, None)
                _say(outcome)

    def line(self, news: "News") -> str:
        """Everything in one line."""
        done, failed = len(news.agenda.outcomes), _failed(news)
        parts = [f"{done}/{self.total} pairs" + (f", {failed} failed" if failed else "")]
        parts.append(f"{news.running} at work on {news.workers} workers")
        hours = (time.monotonic() - self.since) / 3600
        if done:
            left = (self.total - done) * hours / done
            parts.append(f"{done / hours:,.1f} pairs an hour, {_duration(left)} left")
        return "; ".join(parts)

    def __call__(self, news: "News") -> None:
        """Without a terminal."""
        self.note(news)
        now = time.monotonic()
        if now - self.last < SILENCE:
            return
        self.last = now
        at_work = ", ".join(f"{name}: {stage}" for name, stage in list(self.stages.items())[:8])
        log.info("%s%s", self.line(news), f" ({at_work})" if at_work else "")


@contextmanager
def watching(total: int) -> Iterator[Any]:
    """What `run` shows its news to."""
    board = Board(total)
    if not log.isEnabledFor(logging.INFO) or not sys.stderr.isatty():
        yield board
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (BarColumn(30), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as bars:
        task = bars.add_task("", total=total)

        def show(news: "News") -> None:
            board.note(news)
            at_work = "".join(f"\n  {name}: {stage}" for name, stage in list(board.stages.items())[:12])
            bars.update(task, completed=len(news.agenda.outcomes), description=board.line(news) + at_work)

        yield show


def _say(outcome: "Outcome") -> None:
    if outcome.status in WORDS:
        log.info("%s: %s (%.0f s).", outcome.case.name, WORDS[outcome.status], outcome.seconds)
    elif outcome.status == "failed":
        log.warning("%s: failed: %s", outcome.case.name, outcome.sentence)


def _failed(news: "News") -> int:
    return sum(outcome.status == "failed" for outcome in news.agenda.outcomes.values())


def _duration(hours: float) -> str:
    return f"{60 * hours:.0f} min" if hours < 2 else f"{hours:.1f} h"
