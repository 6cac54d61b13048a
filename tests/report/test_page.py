"""The page is whole, tells only what it was given, escapes it, and is the same each time."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from credwarp.report import LabelRow, Landmark, Structures, Tracked, first_screen, render
from findings import bare, flagged, quality, whole

ALWAYS = ["verdict", "compare", "uncertainty", "jacobian", "convergence", "fit", "methods", "provenance"]
SOMETIMES = ["labels", "landmarks", "calibration"]
EVIL = "</script><script>alert('x')</script><img src=x onerror=alert(1)>&\""


class Outline(HTMLParser):
    """Tags with their attributes, and the text outside scripts and styles."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict]] = []
        self.words: list[str] = []
        self.quiet = False
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.quiet = tag in ("script", "style")

    def handle_endtag(self, tag):
        self.quiet = False

    def handle_data(self, data):
        if not self.quiet:
            self.words.append(data)

    def sections(self) -> list[str]:
        return [attributes["id"] for tag, attributes in self.tags if tag == "section"]

    def of(self, tag: str) -> list[dict]:
        return [attributes for name, attributes in self.tags if name == tag]


@pytest.fixture(scope="module")
def page():
    return render(whole())


def test_everything_found_has_its_section_and_a_link_to_it(page):
    outline = Outline(page)
    assert set(outline.sections()) == {*ALWAYS, *SOMETIMES}
    links = [a["href"] for a in outline.of("a") if a["href"] != "#verdict"]
    assert links == [f"#{name}" for name in outline.sections()[1:]]


def test_the_verdict_comes_first(page):
    words = " ".join(Outline(page).words)
    assert words.index("Good to use") < words.index("Before and after", words.index("Good to use"))
    assert "Converged, and no flag was raised" in words


def test_a_run_without_draws_says_so_and_shows_no_empty_section():
    outline = Outline(render(bare(method="map")))
    words = " ".join(outline.words)
    assert outline.sections() == ALWAYS
    assert "no uncertainty to show" in words
    assert "no chains to converge" in words
    assert "Jacobians were not computed" in words
    assert "plausible" not in words.lower()


def test_unrelated_images_are_told_in_the_first_sentence():
    page = render(replace(bare(), qc=flagged("misfit", converged=False)))
    sentence = re.search(r'class="sentence">(.*?)<', page).group(1)
    assert "do not match" in sentence
    assert "Do not use" in page


def test_nothing_is_fetched(page):
    outline = Outline(page)
    assert not outline.of("link")
    assert all("src" not in script for script in outline.of("script"))
    assert all(image["src"].startswith("data:image/png;base64,") for image in outline.of("img"))
    assert "default-src 'none'" in page
    assert not re.search(r"https?://", page.replace("http-equiv", ""))
    assert "@import" not in page


def test_the_same_findings_make_the_same_page(page):
    assert render(whole()) == page


def test_what_users_wrote_is_text_and_nothing_else():
    found = whole()
    rows = (LabelRow(7, EVIL),)
    one = found.landmarks[0]
    names = tuple(f"{EVIL}{k}" for k in range(12))
    evil = replace(
        found,
        fixed_name=EVIL,
        moving_name=EVIL,
        plan=f'title = "{EVIL[:-2]}"\n',
        provenance={EVIL: {"path": EVIL}},
        qc=quality(warnings=[{"kind": EVIL, "sentence": EVIL}], device=EVIL, worst=EVIL),
        structures=Structures(rows, found.structures.most_probable, found.structures.probability),
        landmarks=(Landmark(EVIL, one.mean, one.covariance, 1.0),),
        tracked=Tracked(names, found.tracked.values, found.tracked.rhat, found.tracked.ess),
    )
    plain = Outline(render(found))
    for page in (render(evil), first_screen(evil)):
        outline = Outline(page)
        assert "alert('x')" not in re.sub(r"&[#\w]+;", "", page)
        assert not any("onerror" in attributes for _, attributes in outline.tags)
        assert len(outline.of("script")) in (0, len(plain.of("script")))


def test_the_report_fits_in_its_size(page):
    assert len(page.encode()) <= 15_000_000


def test_no_number_is_missing_or_undefined(page):
    words = " ".join(Outline(page).words)
    assert not re.search(r"\bnan\b|\binf\b|undefined|None", words)


def test_charts_and_pictures_say_what_they_show(page):
    outline = Outline(page)
    charts = [svg for svg in outline.of("svg") if svg.get("class") == "chart"]
    assert len(charts) == 4 * 2 + 2 + 1 + 2
    assert all(svg["role"] == "img" and svg["aria-label"] for svg in charts)
    assert all(len(image["alt"]) > 20 for image in outline.of("img"))
    assert all(canvas["aria-label"] for canvas in outline.of("canvas"))


def test_tables_have_a_row_for_each_structure_and_landmark(page):
    words = Outline(page).words
    for name in ("left thing", "label 9", "tip", "root", "place 11"):
        assert name in words
    assert "0.800" in words
    assert words.count("yes") >= 1
    assert "no" in words


def test_a_series_that_stands_still_can_be_drawn():
    found = whole()
    flat = Tracked(("flat",), np.zeros((2, 10, 1)), np.array([np.nan]), np.array([np.nan]))
    assert "flat" in render(replace(found, tracked=flat))


def test_a_notebook_sees_the_verdict_the_figures_and_a_picture():
    screen = first_screen(whole())
    outline = Outline(screen)
    assert "Good to use" in outline.words
    assert len(outline.of("img")) == 1
    assert not outline.of("script")
    assert ":root" not in screen
    assert not re.search(r"^(body|html|\*|a|table)\b", screen, re.MULTILINE)
    assert len(screen) < 1_000_000
