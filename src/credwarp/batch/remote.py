"""What dask is given to run. It is light: a scheduler imports what it is told of, and needs no PyTorch."""

from collections.abc import Mapping
from typing import Any

from distributed import Status, Worker, get_worker
from distributed.diagnostics.plugin import WorkerPlugin

TOPIC = "credwarp"
PAIR, MEMORY = "credwarp-pair", "credwarp-MB"
MB = 1e6


def run_task(task: Mapping[str, Any]) -> dict[str, Any]:
    """On a worker: do it, as long as the scheduler waits for it."""
    from credwarp.batch.work import attempt

    worker = get_worker()
    key = worker.get_current_task()

    def wanted() -> bool:
        known = worker.state.tasks.get(key)
        at_work = worker.status in (Status.running, Status.paused)
        return at_work and known is not None and known.state in ("executing", "long-running")

    return attempt(task, lambda news: worker.log_event(TOPIC, dict(news)), wanted)


class OnePairAtATime(WorkerPlugin):
    """Gives a worker the resources that tasks ask for: one pair, and its memory or a share of it."""

    def __init__(self, memory_mb: float | None) -> None:
        self.memory_mb = memory_mb

    async def setup(self, worker: Worker) -> None:
        """At the worker's start, or when the plugin is registered."""
        from credwarp.files.memory import memory_available

        limit = worker.memory_manager.memory_limit
        own = limit / MB if limit else memory_available() / MB
        await worker.set_resources(**{PAIR: 1, MEMORY: own if self.memory_mb is None else self.memory_mb})
