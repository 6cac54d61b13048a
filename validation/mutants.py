"""Do tests see a wrong sign, factor or index? Mutants of the numerical core, planted one at a time.

usage: python -m validation.mutants [FIRST [LAST]]   numbers in the table, all without

Each mutant is a copy of the sources with one piece of text replaced; the tests beside it have to fail there.
"""

import multiprocessing
import os
import shutil
import sys
import tempfile
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
TABLE = Path(__file__).with_suffix(".toml")
PATIENCE = 240.0
# What every test imports and no mutant touches: loaded once, and there in each fork.
SHARED = [
    "torch",
    "scipy.stats",
    "SimpleITK",
    "nibabel",
    "numba",
    "pydantic",
    "pytest",
    "hypothesis",
    "beartype",
]
CAUGHT, SURVIVED = 1, 0


@dataclass(frozen=True)
class Mutant:
    """One wrong piece of text, and the arguments for pytest of the tests that have to see it."""

    file: str
    old: str
    new: str
    tests: tuple[str, ...]


def mutants() -> list[Mutant]:
    """All of the table, in its order."""
    planted = tomllib.loads(TABLE.read_text(encoding="utf-8"))["planted"]
    return [
        Mutant(group["file"], old, new, tuple(group["tests"]))
        for group in planted
        for old, new in group["changes"]
    ]


def main(first: int = 1, last: int | None = None) -> None:
    """Plant the mutants of these numbers, and say of each what became of it."""
    os.environ["OMP_NUM_THREADS"] = "1"
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(SHARED)
    chosen = list(enumerate(mutants(), start=1))[first - 1 : last]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        unharmed = [
            Mutant("__init__.py", "", "", tests) for tests in dict.fromkeys(m.tests for _, m in chosen)
        ]
        for mutant, (code, _) in zip(unharmed, pool.map(lambda m: timed(m, context), unharmed), strict=True):
            if code != SURVIVED:
                raise SystemExit(f"without a mutant too these tests fail: {' '.join(mutant.tests)}")
        outcomes = pool.map(lambda numbered: timed(numbered[1], context), chosen)
        survivors = []
        for (number, mutant), (code, seconds) in zip(chosen, outcomes, strict=True):
            said = {CAUGHT: "caught", SURVIVED: "SURVIVED"}.get(code, f"UNCLEAR ({code})")
            print(
                f"{number:3} {said:8} {seconds:5.1f} s  {mutant.file}: {mutant.old} → {mutant.new}",
                flush=True,
            )
            survivors += [number] if code != CAUGHT else []
    caught = len(chosen) - len(survivors)
    share = 100 * caught / len(chosen)
    print(f"{caught} of {len(chosen)} caught, {share:.0f} %; not: {survivors or 'none'}")


def timed(mutant: Mutant, context: multiprocessing.context.ForkServerContext) -> tuple[int, float]:
    """The exit code of the mutant's tests, and the seconds they took."""
    since = time.perf_counter()
    return tried(mutant, context), time.perf_counter() - since


def tried(mutant: Mutant, context: multiprocessing.context.ForkServerContext) -> int:
    """The exit code of the mutant's tests: 1 where one failed, 0 where none did."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        planted(mutant, folder)
        process = context.Process(target=tests_fail, args=(folder, mutant.tests))
        process.start()
        process.join(PATIENCE)
        if process.is_alive():
            process.kill()
            process.join()
            return CAUGHT  # a test that never ends does not pass
        return int(process.exitcode or 0)


def planted(mutant: Mutant, folder: Path) -> None:
    """A copy of sources and tests with the mutant in it."""
    for part in ("src", "tests"):
        shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    path = folder / "src" / "credwarp" / mutant.file
    text = path.read_text(encoding="utf-8")
    if mutant.old and text.count(mutant.old) != 1:
        raise SystemExit(f"{mutant.file} has {text.count(mutant.old)} times: {mutant.old}")
    path.write_text(text.replace(mutant.old, mutant.new) if mutant.old else text, encoding="utf-8")


def tests_fail(folder: Path, tests: tuple[str, ...]) -> None:
    """Run the tests there, silently, and end with their code."""
    import pytest

    os.chdir(folder)
    sys.path[:0] = [str(folder / "src"), str(folder / "tests")]
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    sys.exit(
        int(pytest.main(["-x", "-q", "-n0", "-p", "no:cacheprovider", "--rootdir", str(folder), *tests]))
    )


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
