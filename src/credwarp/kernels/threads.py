"""The threads on which compiled kernels run: tasks are claimed one by one, so a late thread stalls nobody.

numba's own layers are not used: `workqueue` breaks under concurrent callers, `omp` stalls for several
milliseconds a launch on a busy machine and ends a forked child, and `tbb` is rarely installed.
"""

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import numpy as np
import torch

Work = Callable[[], None]

_chosen: int | None = None
_jobs: "SimpleQueue[Work]" = SimpleQueue()
_crew: list[threading.Thread] = []
_hiring = threading.Lock()


@dataclass(frozen=True)
class Layer:
    """How kernels run here: on which kind of threads, on how many, and where their machine code is kept."""

    name: str
    threads: int
    cache: Path | None


def layer() -> Layer:
    """What `credwarp doctor` shows."""
    from credwarp.kernels.compiled import cache_folder  # numba takes a second to import

    return Layer("own threads", count(), cache_folder())


def use(threads: int) -> None:
    """Run kernels on this many threads from now on, whatever torch does."""
    global _chosen
    _chosen = threads


def count() -> int:
    """The threads a kernel may use: those chosen by `use`, or torch's."""
    return _chosen if _chosen is not None else torch.get_num_threads()


def launch(kernel: Callable[..., int], tasks: int, *arguments: Any) -> None:
    """Run a kernel over `tasks` tasks; it claims them from its first argument and returns how many it did."""
    claims = np.zeros(1, np.int64)
    helpers = min(count(), tasks) - 1
    if helpers <= 0:
        kernel(claims, tasks, *arguments)
        return
    reports: SimpleQueue[int | BaseException] = SimpleQueue()

    def work() -> None:
        try:
            reports.put(kernel(claims, tasks, *arguments))
        except BaseException as error:  # noqa: BLE001  it is raised again where the kernel was launched
            reports.put(error)

    _hire(helpers)
    for _ in range(helpers):
        _jobs.put(work)
    done = kernel(claims, tasks, *arguments)
    # Only tasks that were claimed are waited for: a helper that has not woken up yet will find none.
    while done < tasks:
        report = reports.get()
        if isinstance(report, BaseException):
            raise report
        done += report


def _hire(helpers: int) -> None:
    with _hiring:
        while len(_crew) < helpers:
            thread = threading.Thread(target=_serve, args=(_jobs,), name="credwarp-kernels", daemon=True)
            thread.start()
            _crew.append(thread)


def _serve(jobs: "SimpleQueue[Work]") -> None:
    while True:
        jobs.get()()


def _forget_crew() -> None:
    """A forked child has none of its parent's threads."""
    global _jobs, _hiring
    _jobs, _hiring = SimpleQueue(), threading.Lock()
    _crew.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_crew)
