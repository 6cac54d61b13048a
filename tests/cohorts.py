"""Small cohorts on disk, and an engine without dask that does their tasks one after another."""

import csv
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import Mock

import psutil
import torch

from credwarp.batch.agenda import Agenda
from credwarp.batch.machines import Machines
from credwarp.batch.work import attempt
from credwarp.files import open_run, write_volume
from credwarp.space import Grid, Volume
from pairs import smooth_noise

SIDE = 12
SCHEDULER, WORKER = "distributed.cli.dask_scheduler", "distributed.cli.dask_worker"
TINY = [
    "prealignment.kind=header", "optimisation.levels=[1]", "optimisation.rounds=1", "optimisation.starts=1",
    "optimiser.iterations=3", "variational.iterations=1", "metric.size=24", "sampling.chains=2",
    "sampling.draws=16", "sampling.thin=1", "sampling.warmup=2", "sampling.chunk=4",
]  # fmt: skip


def words(*settings: str) -> list[str]:
    return [word for setting in (*TINY, *settings) for word in ("--set", setting)]


def cohort(folder: Path, count: int, labels: bool = False) -> Path:
    """Textured cubes, every one registered to the first; returns the table."""
    grid = Grid.isotropic((SIDE,) * 3, 2.0)
    names = []
    for number in range(count + 1):
        image = smooth_noise(grid.shape, 1.5, 0, torch.float32) + 0.3 * smooth_noise(
            grid.shape, 1.5, number + 1, torch.float32
        )
        names.append(f"s{number}.nii.gz")
        write_volume(Volume(grid, 100 * image, names[-1]), folder / names[-1])
        if labels:
            write_volume(Volume(grid, (image > 0.5).int() * 7, "labels"), folder / f"l{number}.nii.gz")
    header = "fixed,moving,id" + (",fixed_labels,moving_labels" if labels else "")
    rows = [
        f"{names[0]},{names[n]},pair{n}" + (f",l0.nii.gz,l{n}.nii.gz" if labels else "")
        for n in range(1, count + 1)
    ]
    table = folder / "pairs.csv"
    table.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return table


def in_turn(agenda: Agenda, order, machines, show) -> None:
    """The engine's place, without dask."""
    while (task := agenda.next(float("inf"))) is not None:
        agenda.note(task, attempt(order.of(task), lambda news: None, lambda: True))


def without_dask(monkeypatch) -> None:
    @contextmanager
    def opened(self):
        yield Mock(spec=Machines, dashboard="none")

    monkeypatch.setattr("credwarp.batch.run.carry_out", in_turn)
    monkeypatch.setattr("credwarp.batch.machines.Local.opened", opened)


def draws_of(folder: Path) -> torch.Tensor:
    run = open_run(folder)
    return torch.stack(
        [run.draws.parameters(c, d)[0] for c in range(run.draws.chains) for d in range(run.draws.draws)]
    )


def rows_of(out: Path) -> list[dict[str, str]]:
    with (out / "cohort.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def command(*arguments: object) -> subprocess.Popen:
    line = [sys.executable, "-m", "credwarp", *(str(word) for word in arguments)]
    return subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8")


def until(condition, seconds: float = 90.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come true"
        time.sleep(0.1)


def family(process: subprocess.Popen) -> list[psutil.Process]:
    return psutil.Process(process.pid).children(recursive=True)


def gone(processes: list[psutil.Process]) -> bool:
    return not any(one.is_running() and one.status() != psutil.STATUS_ZOMBIE for one in processes)


def workers_of(process: subprocess.Popen) -> list[psutil.Process]:
    """The processes that dask has spawned, without Python's own keeper of semaphores."""
    return [one for one in family(process) if "spawn_main" in " ".join(one.cmdline())]


def same(one: Path, other: Path) -> bool:
    names = [row["folder"] for row in rows_of(one)]
    return all(torch.equal(draws_of(one / name), draws_of(other / name)) for name in names)


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextmanager
def dask(module: str, *arguments: object):
    line = [
        sys.executable,
        "-m",
        module,
        "--host",
        "127.0.0.1",
        "--no-dashboard",
        *(str(a) for a in arguments),
    ]
    process = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(30)
