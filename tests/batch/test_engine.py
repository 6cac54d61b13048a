"""The engine on dask's own processes: workers die, schedulers die, and every pair is done once."""

import os
import signal
from pathlib import Path

import psutil
import pytest

from cohorts import (
    cohort,
    command,
    family,
    free_port,
    gone,
    rows_of,
    same,
    until,
    without_dask,
    words,
    workers_of,
)
from credwarp import cli
from credwarp.batch.machines import QUEUES, Jobs, pools


@pytest.fixture(scope="module")
def serial(tmp_path_factory) -> tuple[Path, Path]:
    """A table, and what it gives without dask."""
    folder = tmp_path_factory.mktemp("serial")
    table = cohort(folder, 2)
    with pytest.MonkeyPatch.context() as patch:
        without_dask(patch)
        assert (
            cli.run(["--quiet", "batch", str(table), "-o", str(folder / "out"), "--threads", "1", *words()])
            == 4
        )
    return table, folder / "out"


def test_a_cohort_is_done_again_at_no_cost_and_says_what_it_looked_at(serial, capsys, monkeypatch):
    table, out = serial
    without_dask(monkeypatch)
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*.gz")}
    assert cli.run(["batch", str(table), "-o", str(out), "--threads", "1", *words(), "--dry-run"]) == 4
    assert "2 not converged." in capsys.readouterr().out
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*.gz")} == before
    assert cli.run(["batch", str(table), "-o", str(out / "other"), *words(), "--dry-run"]) == 0
    assert "2 new." in capsys.readouterr().out
    assert not (out / "other").exists()


def test_a_command_that_is_killed_and_repeated_loses_nothing_though_a_worker_dies_too(
    serial, tmp_path, monkeypatch
):
    # As many as a shell may ask for; `--threads` has to win.
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    table, out = serial[0], tmp_path / "out"
    workers = ("--workers", 2, "--threads", 1, "--split", "chains")
    first = command("batch", table, "-o", out, *workers, *words())
    until(lambda: list(out.glob("*/state/optimum.safetensors")))
    everybody = family(first)
    first.kill()
    first.communicate(timeout=30)
    until(lambda: gone(everybody))

    again = command("batch", table, "-o", out, *workers, *words())
    try:
        until(lambda: list(out.glob("*/state/chains/*/draws.zarr")))
        everybody = family(again)
        spawned = workers_of(again)
        assert len(spawned) == 2
        listening = [
            connection.laddr.ip
            for process in (psutil.Process(again.pid), *spawned)
            for connection in process.net_connections()
            if connection.status == psutil.CONN_LISTEN
        ]
        assert set(listening) == {"127.0.0.1"}
        assert all(spawned[0].environ()[name] == "1" for name in pools(1))
        os.kill(spawned[0].pid, signal.SIGKILL)
        said, _ = again.communicate(timeout=120)
    finally:
        again.kill()
    assert again.returncode == 4, said
    assert "dashboard: http://127.0.0.1:" in said
    assert [row["id"] for row in rows_of(out)] == ["pair1", "pair2"]
    assert same(out, serial[1])
    assert gone(everybody)
    assert not [path for path in out.rglob(".*") if path.is_file()]


def test_no_scheduler_is_a_sentence(serial, capsys):
    nobody = f"tcp://127.0.0.1:{free_port()}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("credwarp.batch.machines.PATIENCE", 1.0)
        assert cli.run(["batch", str(serial[0]), "-o", "unused", "--scheduler", nobody]) == 3
    assert "no scheduler answers" in capsys.readouterr().err


@pytest.mark.parametrize("queue", sorted(QUEUES))
def test_jobs_ask_for_what_they_were_told_to(queue, monkeypatch):
    jobs = Jobs(queue, 3, 4, 6000.0, "01:30:00", "lo", "long", "grant", ("--exclusive",))
    with jobs.cluster() as cluster:
        script = cluster.job_script()
    for word in (
        "long",
        "grant",
        "01:30",
        "--exclusive",
        "--nthreads 4",
        "--no-dashboard",
        "OMP_NUM_THREADS=4",
    ):
        assert word in script
    assert "5.59GiB" in script
    assert "127.0.0.1" in script


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--slurm"], "--interface"),
        (["--slurm", "--scheduler", "tcp://127.0.0.1:1"], "leave"),
        (["--tls-ca", "ca.pem"], "all three"),
        (["--slurm", "--workers", "1", "--interface", "lo", "--memory", "lots"], "8GB"),
        (["--set", "prior.strength=-1"], "strength"),
    ],
)
def test_choices_that_cannot_be_are_sentences(serial, arguments, said, capsys):
    assert cli.run(["batch", str(serial[0]), "-o", "unused", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_without_dask_the_command_says_how_to_get_it(serial, monkeypatch, capsys):
    monkeypatch.setattr("credwarp.cli.batching.find_spec", lambda name: None)
    assert cli.run(["batch", str(serial[0]), "-o", "unused"]) == 2
    assert "pip install 'credwarp[batch]'" in capsys.readouterr().err
