"""What is to be done, in which order, how often: the tasks of a cohort, whoever does them."""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from credwarp.batch.cases import Case
from credwarp.batch.work import Kind

TRIES = 3
# From the mildest to the worst: done, not converged, flagged, interrupted, input, plan, memory, a defect.
WORSE = (0, 4, 6, 130, 3, 2, 5, 1)


@dataclass(frozen=True)
class Task:
    """A pair, or a part of one, and how often it has failed."""

    case: Case
    kind: Kind
    chain: int = 0
    failures: int = 0

    @property
    def memory_mb(self) -> float:
        """What it takes at most."""
        return self.case.chain_mb if self.kind == "chain" else self.case.memory_mb


@dataclass(frozen=True)
class Outcome:
    """How a pair ended: `done`, `not converged`, `flagged`, `seen` or `failed`, and its figures."""

    case: Case
    status: str
    code: int
    sentence: str
    attempts: int
    seconds: float
    figures: Mapping[str, Any] = field(default_factory=dict)


@dataclass(eq=False)
class Agenda:
    """Tasks that wait, and outcomes. A pair's chains wait for its warmup, what joins them for all of them."""

    waiting: deque[Task]
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    chains_left: dict[str, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, cases: Sequence[Case], first: Kind) -> "Agenda":
        """Every pair, beginning with a task of that kind."""
        return cls(deque(Task(case, first) for case in cases))

    def next(self, room_mb: float) -> Task | None:
        """The first task that fits into so much memory."""
        for task in self.waiting:
            if task.memory_mb <= room_mb:
                self.waiting.remove(task)
                return task
        return None

    def refuse_larger(self, largest_mb: float) -> None:
        """End the pairs that fit nowhere."""
        too_large = [task for task in self.waiting if task.memory_mb > largest_mb]
        if too_large:
            self.waiting = deque(task for task in self.waiting if task.memory_mb <= largest_mb)
        for task in too_large:
            self._end(
                task,
                {
                    "status": "failed",
                    "code": 5,
                    "sentence": f"it needs about {task.memory_mb:,.0f} MB of memory, the largest worker has "
                    f"{largest_mb:,.0f}; use a larger one, fewer --workers, or --set preparation.spacing.",
                },
            )

    def put_back(self, task: Task) -> None:
        """Not done, and through no fault of its own."""
        self.waiting.appendleft(task)

    def note(self, task: Task, result: Mapping[str, Any]) -> None:
        """What became of a task, and what follows from that."""
        name = task.case.folder
        self.seconds[name] = self.seconds.get(name, 0.0) + result.get("seconds", 0.0)
        if name in self.outcomes:
            return
        if result["status"] == "abandoned":
            self.put_back(task)
        elif result["status"] == "failed" and result["again"] and task.failures + 1 < TRIES:
            self.waiting.append(replace(task, failures=task.failures + 1))
        elif result["status"] == "part":
            self._go_on(task, result)
        else:
            self._end(task, result)

    @property
    def code(self) -> int:
        """The worst of all."""
        codes = {outcome.code for outcome in self.outcomes.values()}
        return max(codes, key=WORSE.index, default=0)

    def _go_on(self, task: Task, result: Mapping[str, Any]) -> None:
        """Parts of pairs that were begun come first: a pair in hand is worth more than one not begun."""
        name = task.case.folder
        if task.kind == "warm":
            self.chains_left[name] = result["chains"]
            following = [Task(task.case, "chain", chain) for chain in range(result["chains"])]
        else:
            self.chains_left[name] -= 1
            following = [] if self.chains_left[name] else [Task(task.case, "join")]
        self.waiting.extendleft(reversed(following))

    def _end(self, task: Task, result: Mapping[str, Any]) -> None:
        name = task.case.folder
        if task.kind == "chain":
            self.waiting = deque(other for other in self.waiting if other.case.folder != name)
        self.outcomes[name] = Outcome(
            task.case,
            result["status"],
            result["code"],
            result["sentence"],
            task.failures + 1,
            self.seconds.get(name, 0.0),
            result.get("figures", {}),
        )
