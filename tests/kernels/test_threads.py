"""Kernels on threads: concurrent callers, errors, forked children, and who chooses how many."""

import ast
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import torch

from credwarp import kernels
from credwarp.kernels import cpu, threads
from credwarp.kernels.compiled import cache_folder


@pytest.fixture(autouse=True)
def restored(monkeypatch):
    monkeypatch.setattr(threads, "_chosen", None)


def gradient(u):
    leaf = u.clone().requires_grad_()
    kernels.exponential(leaf, 4).square().sum().backward()
    return leaf.grad


def test_callers_on_threads_of_their_own_get_what_they_would_alone():
    threads.use(2)
    generator = torch.Generator().manual_seed(0)
    inputs = [torch.randn((1, 3, 20, 21, 22), generator=generator) for _ in range(4)]
    wanted = [gradient(u) for u in inputs]
    found: list[list[bool]] = [[] for _ in inputs]

    def call(index):
        for _ in range(25):
            found[index].append(torch.equal(gradient(inputs[index]), wanted[index]))

    callers = [threading.Thread(target=call, args=(index,)) for index in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert found == [[True] * 25] * 4


def test_all_tasks_are_done_once_by_the_threads_there_are():
    threads.use(3)
    who: list[int] = []
    lock = threading.Lock()
    meeting = threading.Barrier(3, timeout=30)

    def kernel(claims, tasks):
        done = 0
        meeting.wait()
        while True:
            with lock:
                task = int(claims[0])
                claims[0] += 1
            if task >= tasks:
                return done
            who.append(task)
            done += 1

    threads.launch(kernel, 100)
    assert sorted(who) == list(range(100))


def test_a_helper_that_comes_late_stalls_nobody():
    threads.use(2)
    busy = threading.Event()
    threads._hire(1)
    for _ in threads._crew:
        threads._jobs.put(lambda: busy.wait(30))
    try:
        assert torch.equal(kernels.square(torch.zeros(1, 3, 4, 5, 6)), torch.zeros(1, 3, 4, 5, 6))
    finally:
        busy.set()


def test_an_error_on_a_helper_is_raised_where_the_kernel_was_launched():
    threads.use(2)
    started = threading.Event()

    def kernel(claims, tasks):
        if threading.current_thread().name == "credwarp-kernels":
            started.set()
            raise MemoryError("no room")
        assert started.wait(30)
        return 0

    with pytest.raises(MemoryError, match="no room"):
        threads.launch(kernel, 2)


def test_as_many_threads_as_torch_uses_unless_chosen():
    assert threads.count() == torch.get_num_threads()
    threads.use(7)
    layer = threads.layer()
    assert (layer.name, layer.threads, layer.cache) == ("own threads", 7, cache_folder())


FORK = """
import os, sys, torch
from credwarp import kernels
from credwarp.kernels import threads
threads.use(2)
u = torch.randn(1, 3, 40, 20, 20)
wanted = kernels.exponential(u, 3)
child = os.fork()
if child == 0:
    os._exit(0 if torch.equal(kernels.exponential(u, 3), wanted) and len(threads._crew) == 1 else 1)
_, status = os.waitpid(child, 0)
sys.exit(os.waitstatus_to_exitcode(status))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork.")
def test_a_forked_child_computes_too():
    assert subprocess.run([sys.executable, "-c", FORK], timeout=120).returncode == 0


def test_a_kernel_counts_its_tasks():
    from credwarp.kernels.cpu.memory import _copy

    nowhere = ((0, 0, 0, 0, 0), (0, 0, 0, 0, 0))
    assert _copy(np.zeros(1, np.int64), 5, nowhere, (0, 5, 0, 0), 1.0, 0) == 5


def made_by_numpy(function):
    """The names that a kernel gives to arrays of its own."""
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            calls = [call for call in ast.walk(node.value) if isinstance(call, ast.Call)]
            if any(ast.unparse(call.func) in ("np.empty", "np.zeros") for call in calls):
                yield node.targets[0].id


def test_kernels_hold_their_scratch_memory_while_they_claim_tasks():
    """numba frees an array after its last use; with only its address in use, another thread gets it."""
    seen = 0
    for path in sorted(Path(cpu.__file__).parent.glob("*.py")):
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not (
                isinstance(function, ast.FunctionDef)
                and "kernel" in map(ast.unparse, function.decorator_list)
            ):
                continue
            (loop,) = (node for node in function.body if isinstance(node, ast.While))
            inside = {node.id for node in ast.walk(loop) if isinstance(node, ast.Name)}
            for array in made_by_numpy(function):
                assert array in inside, f"{path.name}: {function.name} lets go of {array}"
                seen += 1
    assert seen >= 4
