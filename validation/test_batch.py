"""Cohorts on dask: nothing lost to `kill -9`, the pace of two workers, memory, ten thousand rows."""

import os
import shutil
import signal
import subprocess
import threading
import time
from pathlib import Path

import psutil
import pytest
from rich.console import Console

from cohorts import (
    SCHEDULER,
    WORKER,
    cohort,
    command,
    dask,
    family,
    free_port,
    gone,
    rows_of,
    same,
    until,
    without_dask,
    words,
)
from credwarp import cli
from credwarp.batch.checks import Choices
from credwarp.batch.machines import Certificates, Existing, Local
from credwarp.batch.places import Roots
from credwarp.batch.run import Source
from credwarp.errors import InputError
from credwarp.files import write_volume
from credwarp.phantom import pair
from credwarp.plan import Plan

PAIRS, SIDE = 12, 32
LONGER = ("sampling.warmup=20", "sampling.draws=40", "metric.size=81", "optimiser.iterations=6")


@pytest.fixture(scope="module")
def heads(tmp_path_factory) -> Path:
    """Twelve of the built-in pairs, with labels."""
    folder = tmp_path_factory.mktemp("heads")
    rows = ["fixed,moving,fixed_labels,moving_labels,id"]
    for number in range(PAIRS):
        made = pair((SIDE,) * 3, number)
        for side, scan in (("f", made.fixed), ("m", made.moving)):
            write_volume(scan.image, folder / f"{side}{number}.nii.gz")
            write_volume(scan.labels, folder / f"{side}{number}_labels.nii.gz")
        rows.append(
            f"f{number}.nii.gz,m{number}.nii.gz,f{number}_labels.nii.gz,m{number}_labels.nii.gz,p{number:02d}"
        )
    table = folder / "pairs.csv"
    table.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return table


@pytest.fixture(scope="module")
def serial(heads) -> Path:
    """What the cohort gives without dask."""
    out = heads.parent / "serial"
    with pytest.MonkeyPatch.context() as patch:
        without_dask(patch)
        assert (
            cli.run(["--quiet", "batch", str(heads), "-o", str(out), "--threads", "1", *words(*LONGER)]) == 4
        )
    return out


def done(out: Path) -> int:
    return len(list(out.glob("p*/report.html")))


def test_a_worker_and_then_the_scheduler_are_killed_and_nothing_is_lost(heads, serial, tmp_path):
    out, port = tmp_path / "out", free_port()
    address = f"tcp://127.0.0.1:{port}"
    line = ("batch", heads, "-o", out, "--scheduler", address, "--threads", 1, *words(*LONGER))
    worker = (WORKER, address, "--nthreads", 1, "--local-directory", tmp_path)
    with dask(SCHEDULER, "--port", port) as scheduler, dask(*worker) as one, dask(*worker) as two:
        started = command(*line)
        until(lambda: done(out) >= 2, 300)
        victim = next(p for p in family(one) if "spawn_main" in " ".join(p.cmdline()))
        os.kill(victim.pid, signal.SIGKILL)
        until(lambda: done(out) >= 5, 300)
        everybody = [*family(one), *family(two)]
        scheduler.kill()
        said, _ = started.communicate(timeout=120)
        assert started.returncode == 130, said
        assert "is gone" in said
        for process in (one, two):
            process.wait(60)
        until(lambda: gone(everybody), 60)
    after_the_crash = done(out)
    assert 5 <= after_the_crash < PAIRS
    with dask(SCHEDULER, "--port", port), dask(*worker) as one, dask(*worker) as two:
        again = command(*line)
        said, _ = again.communicate(timeout=580)
        everybody = [*family(one), *family(two)]
    assert again.returncode == 4, said
    assert gone(everybody)
    assert [row["id"] for row in rows_of(out)] == [f"p{number:02d}" for number in range(PAIRS)]
    assert {row["status"] for row in rows_of(out)} == {"not converged"}
    assert same(out, serial)
    assert not list(out.rglob(".????????-*"))
    Console().print(
        f"{PAIRS} pairs: worker killed after 2, scheduler after 5; {after_the_crash} were done when "
        "the command was repeated; all done, each once, draws identical to a serial run's."
    )


def test_two_workers_on_two_cores_are_nearly_twice_as_fast_as_one(heads, tmp_path):
    seconds = {}
    for workers in (1, 2):
        since = time.perf_counter()
        started = command(
            "batch",
            heads,
            "-o",
            tmp_path / str(workers),
            "--workers",
            workers,
            "--threads",
            1,
            *words(*LONGER),
        )
        started.communicate(timeout=580)
        seconds[workers] = time.perf_counter() - since
    ratio = seconds[1] / seconds[2]
    Console().print(
        f"{PAIRS} pairs of {SIDE}³ voxels: {seconds[1]:.1f} s with one worker, {seconds[2]:.1f} s with two, "
        f"{ratio:.2f} × (start-up included; load {os.getloadavg()[0]:.1f})"
    )
    assert ratio >= 1.6


def test_the_schedulers_memory_stays_flat_over_two_thousand_queued_pairs(tmp_path):
    cohort(tmp_path, 1)
    table, port, seen = tmp_path / "many.csv", free_port(), []
    lines = [f"s0.nii.gz,s1.nii.gz,p{number:04d}" for number in range(2000)]
    table.write_text("\n".join(["fixed,moving,id", *lines]), encoding="utf-8")
    address = f"tcp://127.0.0.1:{port}"
    with dask(SCHEDULER, "--port", port) as scheduler, dask(WORKER, address, "--nthreads", 1) as worker:
        started = command(
            "batch", table, "-o", tmp_path / "out", "--scheduler", address, "--dry-run", *words()
        )
        watching = threading.Event()
        process = psutil.Process(scheduler.pid)

        def watch() -> None:
            while not watching.wait(0.5):
                seen.append(process.memory_info().rss / 1e6)

        since = time.perf_counter()
        thread = threading.Thread(target=watch)
        thread.start()
        said, _ = started.communicate(timeout=300)
        took = time.perf_counter() - since
        watching.set()
        thread.join()
        assert worker.poll() is None
    assert started.returncode == 0, said
    assert "2000 new" in said
    quarters = [seen[place * (len(seen) - 1) // 4] for place in range(1, 5)]
    held = ", ".join(f"{one:.0f}" for one in quarters)
    Console().print(f"2,000 dry pairs in {took:.0f} s: the scheduler held {held} MB after each quarter")
    # Dask's logs of transitions grow until they are as long as its configuration lets them.
    assert quarters[3] - quarters[0] <= 30
    assert quarters[3] - quarters[1] <= 15


def test_ten_thousand_rows_are_checked_within_twenty_seconds(tmp_path):
    cohort(tmp_path, 1)
    data, rows = (tmp_path / "s0.nii.gz").read_bytes(), ["fixed,moving,id"]
    for number in range(10_000):
        for side in "fm":
            (tmp_path / f"{side}{number}.nii.gz").write_bytes(data)
        rows.append(f"f{number}.nii.gz,m{number}.nii.gz,p{number}")
    table = tmp_path / "many.csv"
    table.write_text("\n".join(rows), encoding="utf-8")
    since = time.perf_counter()
    good, problems = Source(table).checked(Choices(Plan(), (), Roots.of(tmp_path)))
    took = time.perf_counter() - since
    Console().print(f"10,000 rows of 20,000 images checked and planned in {took:.1f} s")
    assert len(good) == 10_000
    assert problems == []
    assert took <= 20


SBATCH = """#!/bin/sh
sh "$1" >> {log} 2>&1 &
echo "Submitted batch job $!"
"""


def test_workers_come_as_jobs_of_slurm(tmp_path, monkeypatch):
    table = cohort(tmp_path, 2)
    (tmp_path / "bin").mkdir()
    for name, text in (
        ("sbatch", SBATCH.format(log=tmp_path / "jobs.log")),
        ("scancel", '#!/bin/sh\npkill -P "$1"; kill "$1"\n'),
    ):
        (tmp_path / "bin" / name).write_text(text)
        (tmp_path / "bin" / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    out = tmp_path / "out"
    started = command(
        "batch", table, "-o", out, "--slurm", "--workers", 1, "--interface", "lo", "--memory", "4GB",
        *words("method=map"),
    )  # fmt: skip
    said, _ = started.communicate(timeout=150)
    assert started.returncode == 0, said + (tmp_path / "jobs.log").read_text()
    assert {row["status"] for row in rows_of(out)} == {"done"}


def test_a_cluster_with_certificates_runs_and_refuses_whoever_has_none(tmp_path):
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed, so there are no certificates to show.")
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    subject = ("-subj", "/CN=credwarp", "-days", "2", "-nodes", "-newkey", "rsa:2048")
    files = ("-keyout", str(key), "-out", str(certificate))
    subprocess.run(["openssl", "req", "-x509", *subject, *files], check=True, capture_output=True)
    table = cohort(tmp_path, 1)
    shown = ("--tls-ca", certificate, "--tls-cert", certificate, "--tls-key", key)
    said, _ = command(
        "batch", table, "-o", tmp_path / "out", "--workers", 1, "--dry-run", *shown
    ).communicate()
    assert "1 new." in said, said
    with Local(1, 1, 4000.0, Certificates(certificate, certificate, key)).opened() as machines:
        assert machines.address.startswith("tls://127.0.0.1")
        with pytest.raises(InputError, match="no scheduler answers"), Existing(machines.address).opened():
            pass
