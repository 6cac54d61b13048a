"""The house keeps its own rules: layers, devices, words."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import credwarp

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "credwarp"
SOURCES = sorted(PACKAGE.rglob("*.py"))
ON_THE_CPU = ("kernels/cpu", "files/")


def name(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_nothing_leaves_its_device(path):
    if name(path).startswith(ON_THE_CPU):
        return
    assert re.findall(r"\.(?:numpy|cpu|cuda)\(", path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_every_module_starts_with_its_sentence(path):
    first = path.read_text(encoding="utf-8").splitlines()[0]
    assert first.startswith('"""')
    assert first[3:4].isupper() or first[3] in "`κ"


def lint_imports(folder: Path) -> subprocess.CompletedProcess:
    command = [str(Path(sys.executable).parent / "lint-imports"), "--no-cache"]
    paths = {"PYTHONPATH": str(folder / "src")}
    return subprocess.run(command, cwd=folder, env=paths, capture_output=True, encoding="utf-8")


def test_the_layers_hold_and_a_planted_violation_is_seen(tmp_path):
    shutil.copytree(PACKAGE, tmp_path / "src" / "credwarp", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    assert lint_imports(tmp_path).returncode == 0
    planted = tmp_path / "src" / "credwarp" / "space" / "grid.py"
    planted.write_text(
        planted.read_text(encoding="utf-8") + "\nfrom credwarp import posterior\n", encoding="utf-8"
    )
    broken = lint_imports(tmp_path)
    assert broken.returncode == 1
    assert "credwarp.space is not allowed to import credwarp.posterior" in broken.stdout


def test_strategies_of_a_room_that_know_each_other_are_seen(tmp_path):
    shutil.copytree(PACKAGE, tmp_path / "src" / "credwarp", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    planted = tmp_path / "src" / "credwarp" / "priors" / "gamma.py"
    planted.write_text(
        planted.read_text(encoding="utf-8") + "\nfrom credwarp.priors import sobolev\n", encoding="utf-8"
    )
    broken = lint_imports(tmp_path)
    assert broken.returncode == 1
    assert "priors" in broken.stdout


def test_the_version_is_the_same_everywhere():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {credwarp.__version__}\n" in citation
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert "## Unreleased" in changes or f"## {credwarp.__version__}" in changes


def test_importing_the_package_is_quick_and_loads_nothing_heavy():
    """Counted in processor seconds: a busy machine makes everything late."""
    code = (
        "import sys, time; start = time.process_time(); import credwarp; spent = time.process_time() - start;"
        "sys.exit(spent > 1.5 or 'torch' in sys.modules or 'numpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0


def test_every_mutant_still_has_its_place():
    table = tomllib.loads((ROOT / "validation" / "mutants.toml").read_text(encoding="utf-8"))
    for group in table["planted"]:
        text = (PACKAGE / group["file"]).read_text(encoding="utf-8")
        assert [old for old, _ in group["changes"] if text.count(old) != 1] == [], group["file"]
        assert all((ROOT / word).exists() for word in group["tests"] if word.startswith("tests/"))
