"""The pages are spelt right, and what they name is there."""

import importlib
import re
from functools import cache
from pathlib import Path

import pytest
from spellchecker import SpellChecker

from pages import DOCS, FENCE, PAGES, ROOT, blocks

# Words of the field and of this project, one a line.
WORDS = DOCS / "words.txt"
READ = [*PAGES, *sorted(ROOT.glob("*.md"))]
CODE = re.compile(r"`[^`]*`|\$\$.*?\$\$|\$[^$\n]*\$|\]\([^)]*\)|https?:\S+|<[^>]+>|\w*[_/\d.]\w+", re.DOTALL)
ROOMS = (
    "kernels",
    "fields",
    "spectral",
    "transforms",
    "likelihoods",
    "priors",
    "samplers",
    "summaries",
    "register",
)


def named(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def prose(page: Path) -> str:
    """What is left of a page without its blocks, code, formulas and addresses."""
    text = page.read_text(encoding="utf-8")
    for block in blocks(page):
        text = text.replace(block.text, "")
    lines = [line for line in text.splitlines() if not FENCE.match(line)]
    return CODE.sub(" ", "\n".join(lines))


@cache
def dictionary() -> SpellChecker:
    known = SpellChecker(language="en")
    known.word_frequency.load_words(WORDS.read_text(encoding="utf-8").split())
    return known


def misspelt(text: str) -> set[str]:
    words = {re.sub("['’]s?$", "", word.lower()) for word in re.findall(r"[A-Za-z][A-Za-zéü'’]+", text)}
    return {word for word in dictionary().unknown(words) if len(word) > 2}


@pytest.mark.parametrize("page", READ, ids=named)
def test_every_word_is_english_or_in_docs_words_txt(page):
    assert misspelt(prose(page)) == set()


def test_a_misspelt_word_is_seen():
    assert misspelt("The registrtion of immages is credible.") == {"registrtion", "immages"}


def test_the_list_of_words_is_sorted_and_needed():
    words = WORDS.read_text(encoding="utf-8").split()
    assert words == sorted(set(words))
    english = SpellChecker(language="en")
    assert set(words) - english.unknown(words) == set()


@cache
def sources() -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_test_file_and_function_that_is_named_is_there(page):
    missing = []
    for code in re.findall(r"`([^`\n]+)`", page.read_text(encoding="utf-8")):
        dotted = code.split("(")[0]
        if re.fullmatch(r"test_\w+", code):
            missing += [] if f"def {code}(" in sources() else [code]
        elif re.match(r"(tests|validation|benchmarks|docs)/", code):
            missing += [] if (ROOT / code).exists() else [code]
        elif re.fullmatch(rf"({'|'.join(ROOMS)})(\.\w+)+", dotted):
            missing += [] if exists(f"credwarp.{dotted}") else [code]
    assert missing == []


def exists(dotted: str) -> bool:
    """Whether it is a module, or something in one."""
    home, _, name = dotted.rpartition(".")
    try:
        return hasattr(importlib.import_module(home), name) or bool(importlib.import_module(dotted))
    except ImportError:
        return False


def test_a_name_that_is_not_there_is_seen():
    assert exists("credwarp.kernels.standardise")
    assert exists("credwarp.register.curvature")
    assert not exists("credwarp.kernels.absent")
