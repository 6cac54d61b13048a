"""Compilation: how long it takes, where it is kept, and what happens where nothing can be."""

import os
import subprocess
import sys

import numpy as np
import pytest

from credwarp.kernels import compiled

FIRST_CALLS = """
import sys, time
import torch
from credwarp import kernels
assert "numba" not in sys.modules
import credwarp.kernels.cpu
from credwarp.kernels.compiled import cache_folder

u, image = torch.rand(1, 3, 3, 3, 3, requires_grad=True), torch.rand(1, 3, 3, 3, requires_grad=True)
law = torch.zeros(1, 2)
start = time.process_time()
results = [
    kernels.compose(u, u), kernels.square(u), kernels.exponential(u, 2), kernels.warp(image, u),
    kernels.slope(image, u.detach()), kernels.local_mean(u, 1), kernels.local_variance(u.detach(), 1),
    kernels.standardise(u, 1, 0.1), kernels.smooth(u, [0.5, 0.25]), kernels.inner(u, u),
    kernels.helmholtz(u, 0.1, (1.0, 1.0, 1.0)), kernels.expand(u, [torch.eye(3)] * 3),
    kernels.mixture_log_prob(u, image, law, law),
    *kernels.mixture_statistics(u.detach(), image.detach(), law, law),
]
sum(result.double().sum() for result in results).backward()
print(time.process_time() - start, cache_folder())
"""


def first_calls(**places):
    environment = {key: value for key, value in os.environ.items() if key != "NUMBA_CACHE_DIR"}
    environment |= {"OMP_NUM_THREADS": "1", **places}
    command = [sys.executable, "-c", FIRST_CALLS]
    ended = subprocess.run(command, env=environment, capture_output=True, encoding="utf-8", timeout=300)
    assert ended.returncode == 0, ended.stderr
    seconds, folder = ended.stdout.split()
    return float(seconds), folder


def test_all_kernels_compile_in_thirty_seconds_and_load_in_two(tmp_path):
    """In seconds of the processor, so neighbours do not count. The home is read-only, no folder is there."""
    places = {"HOME": "/proc", "XDG_CACHE_HOME": str(tmp_path / "not" / "yet")}
    compiling, folder = first_calls(**places)
    assert compiling <= 30
    assert folder.startswith(str(tmp_path))
    loading, same = first_calls(**places)
    assert same == folder
    assert loading <= 2


def test_with_a_read_only_home_the_system_s_own_folder_serves(tmp_path, monkeypatch):
    for name in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/proc")
    monkeypatch.setattr(compiled.tempfile, "gettempdir", lambda: str(tmp_path))
    compiled.cache_folder.cache_clear()
    try:
        assert compiled.cache_folder().is_relative_to(tmp_path)
    finally:
        compiled.cache_folder.cache_clear()


def double(value):
    return 2 * value


def test_where_nothing_can_be_kept_a_sentence_says_so_and_kernels_run(monkeypatch, caplog):
    monkeypatch.setattr(compiled, "_parents", lambda: [])
    compiled.cache_folder.cache_clear()
    try:
        kernel = compiled.kernel(double)
        assert compiled.cache_folder() is None
        assert kernel(21) == 42
    finally:
        compiled.cache_folder.cache_clear()
    assert "no folder can be written to keep compiled kernels" in caplog.text


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """Kernels kept in a folder of the test."""
    monkeypatch.setattr(compiled, "_parents", lambda: [tmp_path])
    compiled.cache_folder.cache_clear()
    yield compiled.cache_folder()
    compiled.cache_folder.cache_clear()


def test_a_torn_file_is_compiled_again(kept):
    assert compiled.kernel(double)(np.float32(3)) == 6
    files = [path for path in kept.rglob("*") if path.is_file()]
    assert files
    for path in files:
        path.write_bytes(path.read_bytes()[:40])
    assert compiled.kernel(double)(np.float32(3)) == 6


def test_a_full_disk_costs_the_cache_and_not_the_result(kept, monkeypatch, caplog):
    def full(*_):
        raise OSError(28, "No space left on device")

    kernel = compiled.kernel(double)
    monkeypatch.setattr(kernel._cache._within, "save_overload", full)
    assert kernel(np.int64(4)) == 8
    assert "No space left on device" in caplog.text


def test_a_folder_that_others_can_write_is_not_trusted(tmp_path):
    assert compiled._is_ours(tmp_path / "new")
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    assert not compiled._is_ours(shared)
    (tmp_path / "a file").touch()
    assert not compiled._is_ours(tmp_path / "a file" / "below")
