"""Nothing is lost: runs killed at random moments end with the draws of a run that never was."""

import hashlib
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import zarr

from credwarp.files import write_volume
from credwarp.phantom import pair

KILLS = 20
SETTINGS = ["sampling.draws=400", "sampling.warmup=40", "optimisation.rounds=1", "sampling.chunk=5"]


def credwarp(*words) -> list[str]:
    return [sys.executable, "-m", "credwarp", "--quiet", *map(str, words)]


def environment() -> dict[str, str]:
    return {**os.environ, "OMP_NUM_THREADS": "1"}


def draws_of(run: Path) -> str:
    """A digest of every velocity and every number tracked."""
    digest = hashlib.sha256()
    store = zarr.open_group(run / "draws.zarr", mode="r")
    for name, values in sorted(store["posterior"].arrays()):
        digest.update(name.encode())
        digest.update(np.ascontiguousarray(values[...]).tobytes())
    return digest.hexdigest()


@pytest.fixture(scope="module")
def images(tmp_path_factory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("images")
    heads = pair((32, 32, 32), 0)
    paths = folder / "fixed.nii.gz", folder / "moving.nii.gz"
    for path, scan in zip(paths, (heads.fixed, heads.moving), strict=True):
        write_volume(scan.image, path)
    return paths


def words(images, run) -> list[str]:
    settings = [word for setting in SETTINGS for word in ("--set", setting)]
    return credwarp("register", *images, "-o", run, "--init", "header", "--threads", 1, *settings)


@pytest.fixture(scope="module")
def whole(images, tmp_path_factory) -> tuple[str, float]:
    """The digest of a run that was left in peace, and how long it took."""
    run, since = tmp_path_factory.mktemp("whole") / "run", time.perf_counter()
    assert subprocess.run(words(images, run), env=environment()).returncode in (0, 4)
    return draws_of(run), time.perf_counter() - since


def test_the_same_run_again_has_the_same_draws(images, whole, tmp_path):
    assert subprocess.run(words(images, tmp_path / "run"), env=environment()).returncode in (0, 4)
    assert draws_of(tmp_path / "run") == whole[0]


def test_killed_at_random_moments_it_resumes_to_the_same_draws(images, whole, tmp_path):
    run, chance, command, kills = tmp_path / "run", random.Random(0), words(images, tmp_path / "run"), 0
    while True:
        process = subprocess.Popen(command, env=environment())
        try:
            code = process.wait(chance.uniform(0.05, 0.5) * whole[1] if kills < KILLS else None)
            if kills < KILLS and code in (0, 4):
                # It came to its end in spite of all; begin anew, so that as many kills are seen.
                run = tmp_path / f"run{kills}"
                command = words(images, run)
                continue
            break
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            kills += 1
            begun = (run / "plan.toml").exists()
            command = credwarp("resume", run, "--threads", 1) if begun else words(images, run)
    assert code in (0, 4)
    print(f"killed {kills} times; the draws are {draws_of(run)[:16]}…, left in peace {whole[0][:16]}…")
    assert draws_of(run) == whole[0]


def test_interrupted_it_stops_within_five_seconds_and_can_be_resumed(images, whole, tmp_path):
    run = tmp_path / "run"
    process = subprocess.Popen(words(images, run), env=environment())
    while not (run / "draws.zarr").exists():
        time.sleep(0.05)
    time.sleep(1)
    since = time.perf_counter()
    process.send_signal(signal.SIGINT)
    assert process.wait(10) == 130
    assert time.perf_counter() - since < 5
    command = credwarp("resume", run, "--threads", 1)
    assert subprocess.run(command, env=environment()).returncode in (0, 4)
    assert draws_of(run) == whole[0]
