"""Links inside the documentation lead somewhere."""

import re
from pathlib import Path

import pytest

from pages import GENERATED, PAGES, ROOT, blocks

LINK = re.compile(r"\]\((?!https?:|mailto:)([^)\s]+)\)")
HEADING = re.compile(r"^#{1,6} +(.*)$", re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """The names under which headings can be reached, made as GitHub makes them."""
    text = page.read_text(encoding="utf-8")
    for block in blocks(page):
        text = text.replace(block.text, "")
    plain = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in HEADING.findall(text))
    return {heading.strip().replace(" ", "-") for heading in plain}


def broken(page: Path) -> list[str]:
    found = []
    for link in LINK.findall(page.read_text(encoding="utf-8")):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if GENERATED in target.parents:
            continue  # made when the documentation is built, whose warnings are errors
        if not target.exists() or (anchor and anchor not in anchors(target)):
            found.append(link)
    return found


@pytest.mark.parametrize(
    "page", [*PAGES, *sorted(ROOT.glob("*.md"))], ids=lambda path: path.relative_to(ROOT).as_posix()
)
def test_every_link_leads_to_a_file_and_a_heading(page):
    assert broken(page) == []


def test_a_link_that_leads_nowhere_is_seen(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Here\n[a](absent.md) [b](#there) [c](page.md#here)\n", encoding="utf-8")
    assert broken(page) == ["absent.md", "#there"]
