"""The loop between an agenda and dask: as many tasks at once as there is room for, nothing waits in dask."""

import logging
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from distributed import Future

from credwarp import __version__
from credwarp.batch.agenda import Agenda, Task
from credwarp.batch.machines import Machines
from credwarp.batch.remote import MEMORY, PAIR, TOPIC, run_task
from credwarp.batch.work import DEFECT, Result
from credwarp.errors import Interrupted

log = logging.getLogger("credwarp")
TICK, LOOK_EVERY, NOBODY = 0.5, 2.0, 30.0


@dataclass(frozen=True)
class Order:
    """What every task is told: where results go, on how many threads to compute, what counts as failed."""

    out: Path
    threads: int
    strict: bool

    def of(self, task: Task) -> dict[str, Any]:
        """As plain values."""
        return {
            "case": task.case.to_dict(),
            "kind": task.kind,
            "chain": task.chain,
            "out": str(self.out),
            "threads": self.threads,
            "strict": self.strict,
            "version": __version__,
        }


@dataclass(frozen=True)
class News:
    """What a watcher is told: the stage of a pair, or that something has ended."""

    agenda: Agenda
    running: int
    workers: int
    stage: Mapping[str, Any] | None = None


Show = Callable[[News], None]


def carry_out(agenda: Agenda, order: Order, machines: Machines, show: Show) -> None:
    """Every task of the agenda, until each pair has an outcome."""
    loop = _Loop(agenda, order, machines, show)
    # What goes wrong is told here, in sentences; dask's own remarks would stand between them.
    logging.getLogger("distributed").setLevel(logging.CRITICAL + 1)
    machines.prepare()
    machines.client.subscribe_topic(TOPIC, loop.told)
    try:
        while agenda.waiting or loop.running:
            loop.turn()
    finally:
        with suppress(Exception):
            machines.client.cancel([future for future, _ in loop.running.values()])


@dataclass(eq=False)
class _Loop:
    """Tasks under way by key, and the mail about them: keys of those that ended, stages of the others."""

    agenda: Agenda
    order: Order
    machines: Machines
    show: Show
    running: dict[str, tuple[Future[Result], Task]] = field(default_factory=dict)
    mail: "SimpleQueue[str | Mapping[str, Any]]" = field(default_factory=SimpleQueue)
    nowhere: set[str] = field(default_factory=set)
    workers: int = 0
    looked: float = -LOOK_EVERY
    since: float = field(default_factory=time.monotonic)
    number: int = 0

    def told(self, event: tuple[float, Mapping[str, Any]]) -> None:
        """A worker tells of a stage."""
        self.mail.put(event[1])

    def turn(self) -> None:
        """Start what can start, then wait a moment for news."""
        if self.machines.client.status != "running":
            self._reconnected()
        self._look()
        while len(self.running) < self.workers and (task := self.agenda.next(self._room())) is not None:
            self._start(task)
        with suppress(Empty):
            found = self.mail.get(timeout=TICK)
            if isinstance(found, str):
                self._end(found)
            self._tell(None if isinstance(found, str) else found)

    def _start(self, task: Task) -> None:
        self.number += 1
        key = f"{task.kind}-{self.number}-{time.time_ns()}"
        future = self.machines.client.submit(
            run_task, self.order.of(task), key=key, pure=False, resources={PAIR: 1, MEMORY: task.memory_mb}
        )
        self.running[key] = (future, task)
        future.add_done_callback(lambda done: self.mail.put(done.key))

    def _end(self, key: str) -> None:
        if key not in self.running:
            return
        future, task = self.running[key]
        result = _result(future)
        if result is None and self.machines.client.status != "running":
            return  # lost with the scheduler: `_reconnected` sees to it
        del self.running[key]
        self.agenda.note(task, _LOST if result is None else result)

    def _look(self) -> None:
        """Count the workers, and end what none of them can hold."""
        now = time.monotonic()
        if now - self.looked < LOOK_EVERY:
            return
        self.looked = now
        with suppress(OSError, RuntimeError, TimeoutError):
            memory = self.machines.ready()
            self.workers = len(memory)
            if memory:
                self.agenda.refuse_larger(min(max(memory), self.machines.room_mb))
                self._rescue()
        if self.workers == 0 and now - self.since > NOBODY:
            self.since = now
            log.warning("no worker has come yet; start some by `dask worker %s`.", self.machines.address)

    def _rescue(self) -> None:
        """Take back tasks that no worker has: dask gives them to none that came before it was prepared."""
        somewhere = self.machines.at_work()
        nowhere = {
            key
            for key, (future, _) in self.running.items()
            if future.status == "pending" and key not in somewhere
        }
        for key in nowhere & self.nowhere:
            future, task = self.running.pop(key)
            self.machines.client.cancel([future])
            self.agenda.put_back(task)
        self.nowhere = nowhere - self.nowhere

    def _room(self) -> float:
        taken = sum(task.memory_mb for _, task in self.running.values())
        return self.machines.room_mb - taken

    def _reconnected(self) -> None:
        """The client looks for its scheduler for a while; what ran there was lost and is to be done again."""
        for _, task in self.running.values():
            self.agenda.put_back(task)
        self.running.clear()
        log.warning("the scheduler is gone; waiting for it to come back.")
        while self.machines.client.status == "connecting":
            time.sleep(TICK)
        if self.machines.client.status != "running":
            raise Interrupted(
                f"the scheduler at {self.machines.address} is gone; start it again and repeat the command: "
                f"{len(self.agenda.outcomes)} pairs are done, the others go on from where they were."
            )
        self.machines.prepare()
        self.machines.client.subscribe_topic(TOPIC, self.told)

    def _tell(self, stage: Mapping[str, Any] | None) -> None:
        self.show(News(self.agenda, len(self.running), self.workers, stage))


_LOST: Result = {
    "status": "failed",
    "code": DEFECT,
    "sentence": "the workers that did it died again and again, perhaps for want of memory.",
    "again": True,
}


def _result(future: Future[Result]) -> Result | None:
    """What a task gave; nothing if its workers died or its scheduler is gone."""
    if future.status != "finished":
        return None
    try:
        return future.result(timeout=60)
    except Exception:  # noqa: BLE001  the scheduler went between the two lines, in whatever way
        return None
