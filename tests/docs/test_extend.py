"""A prior, a similarity, a parametrisation, a sampler and a summary, added by doing what their pages say."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pages import DOCS, ROOT, Block, blocks, commands

PAGES = sorted((DOCS / "extend").glob("*.md"))
NEW = {
    "prior": "bending",
    "likelihood": "edges",
    "transform": "hat",
    "sampler": "averaged",
}
# What the rooms' contracts say of the new members.
ROOMS = (
    "tests/priors",
    "tests/transforms",
    "tests/likelihoods",
    "tests/samplers",
    "tests/summaries",
    "tests/report",
)
JOINED = "BendingEnergy or HatSvf or choices_above or Edges or averaged or farthest or words_for_every_choice"


def build(block: Block, tree: Path) -> None:
    """A new file, or lines of a file replaced by others."""
    path = tree / block.caption
    if block.language == "python":
        assert not path.exists(), f"{block.caption} is already there"
        path.write_text(block.text + "\n", encoding="utf-8")
        return
    old, new = ("\n".join(line[1:] for line in block.text.splitlines() if line[0] == sign) for sign in "-+")
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{block.caption} has {text.count(old)} times: {old}"
    path.write_text(text.replace(old, new), encoding="utf-8")


@pytest.fixture(scope="module")
def tree(tmp_path_factory) -> Path:
    """A copy of the sources in which every page has been followed."""
    copy = tmp_path_factory.mktemp("tree")
    for folder in ("src", "tests", "docs", "experiments", "validation", "benchmarks"):
        shutil.copytree(
            ROOT / folder, copy / folder, ignore=shutil.ignore_patterns("__pycache__", "_build", "generated")
        )
    shutil.copy(ROOT / "pyproject.toml", copy)
    for page in PAGES:
        for block in blocks(page):
            if block.caption:
                build(block, copy)
    return copy


def said(tree: Path, *words: str) -> str:
    paths = os.pathsep.join([str(tree / "src"), str(tree / "tests")])
    environment = {**os.environ, "PYTHONPATH": paths}
    command = [str(Path(sys.executable).parent / words[0]), *words[1:]]
    done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, f"{' '.join(words)}\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
    return done.stdout


def test_the_plan_and_its_schema_know_the_new_members(tree):
    settings = [
        shlex.split(command)[2:]
        for page in PAGES
        for block in blocks(page)
        if block.language == "console"
        for command, _ in commands(block)
        if command.startswith("credwarp plan")
    ]
    assert len(settings) == len(NEW)
    printed = said(tree, "python", "-m", "credwarp", "plan", *(word for words in settings for word in words))
    schema = json.loads(said(tree, "python", "-m", "credwarp", "plan", "--schema"))
    for section, kind in NEW.items():
        assert f'kind = "{kind}"' in printed
        assert kind in schema["properties"][section]["discriminator"]["mapping"]


def test_the_reference_has_a_row_for_each(tree):
    said(tree, "python", "docs/reference.py", "docs/generated")
    reference = tree / "docs" / "generated" / "reference"
    choices = (reference / "choices.md").read_text(encoding="utf-8")
    for kind in NEW.values():
        assert f"### `{kind}`" in choices
    assert "## BendingEnergy" in (reference / "priors.md").read_text(encoding="utf-8")


def test_they_keep_the_rooms_contracts_and_the_house(tree):
    found = said(tree, "pytest", "-n0", "-p", "no:cacheprovider", *ROOMS, "-k", JOINED)
    passed = int(re.search(r"(\d+) passed", found)[1])
    assert passed > 40
    assert "skipped" not in found
    said(tree, "ruff", "check", "--no-cache", "src", "tests")
    said(tree, "ruff", "format", "--no-cache", "--check", "src", "tests")
    said(tree, "lint-imports", "--no-cache")


def test_a_page_that_no_longer_fits_the_code_is_seen(tree):
    with pytest.raises(AssertionError, match="0 times"):
        build(Block("diff", "src/credwarp/priors/__init__.py", "-nowhere\n+somewhere", 1), tree)
    with pytest.raises(AssertionError, match="already there"):
        build(Block("python", "src/credwarp/priors/gamma.py", "", 1), tree)
