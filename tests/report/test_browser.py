"""The report in a browser without a network: it opens, draws, and answers pointer and keyboard."""

from dataclasses import replace

import pytest

import browser
from credwarp.report import render
from findings import flagged, whole

LEFT_KEY, PAGE_UP = "\ue012", "\ue00e"
UNCERTAINTY = "document.getElementById('viewer-uncertainty')"
COLOURS = """
const canvases = [...{viewer}.querySelectorAll('canvas')];
return canvases.map(canvas => {{
  const image = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  return new Set(new Uint32Array(image.data.buffer)).size;
}});"""


@pytest.fixture(scope="module")
def window():
    if not browser.available():
        pytest.skip(
            "chromium and chromedriver are not installed; tests/install_chromium.sh does that on Debian."
        )
    with browser.chromium() as opened:
        opened.offline()
        yield opened


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(render(whole()), encoding="utf-8")
    return path


@pytest.fixture(params=[1400, 400], ids=["desktop", "phone"])
def opened(window, report, request):
    window.resize(request.param, 900)
    window.complaints()  # of tests before
    window.open(report)
    window.run(f"{UNCERTAINTY}.scrollIntoView({{behavior: 'instant', block: 'center'}});")
    window.wait(f"{UNCERTAINTY}.dataset.drawn")
    return window


def readout(window) -> str:
    return window.run(f"return {UNCERTAINTY}.querySelector('.readout').textContent;")


def place(window) -> list[float]:
    """The cross-hair in RAS+ millimetres."""
    letters = readout(window).split(" mm")[0].split()
    return [
        float(v) * (1 if way in "RAS" else -1) for way, v in zip(letters[::2], letters[1::2], strict=True)
    ]


def settled(window) -> None:
    window.run("await new Promise(done => requestAnimationFrame(() => setTimeout(done, 60)));")


def test_it_opens_from_a_file_without_network_or_complaint(opened):
    assert opened.run("return location.protocol;") == "file:"
    assert opened.run("return performance.getEntriesByType('resource').length;") == 0
    assert opened.complaints() == []


def test_the_viewer_draws_in_all_planes(opened):
    assert min(opened.run(COLOURS.format(viewer=UNCERTAINTY))) > 100


def test_verdict_figures_and_tables_are_there(opened):
    assert opened.run("return document.querySelector('.sentence').textContent;").startswith("Converged")
    assert opened.run("return document.querySelectorAll('.figures .value').length;") >= 6
    assert opened.run("return [...document.querySelectorAll('svg.chart')].every(c => c.clientHeight > 80);")
    assert opened.run("return document.querySelectorAll('#labels tbody tr').length;") == 2
    assert opened.run("return document.querySelectorAll('#landmarks tbody tr').length;") == 2


def test_nothing_is_wider_than_the_window(opened):
    assert opened.run("return document.documentElement.scrollWidth <= innerWidth;")


def test_a_click_moves_the_cross_hair_of_every_viewer(opened):
    box = opened.run(
        f"const b = {UNCERTAINTY}.querySelector('canvas').getBoundingClientRect();"
        "return [b.left, b.top, b.width, b.height];"
    )
    before = opened.run(COLOURS.format(viewer=UNCERTAINTY))
    opened.click(box[0] + 0.2 * box[2], box[1] + 0.3 * box[3])
    settled(opened)
    right, front, _ = place(opened)
    # The patient's right is on the left, the front on top.
    assert right > 5
    assert front > 5
    assert opened.run(COLOURS.format(viewer=UNCERTAINTY)) != before
    opened.run("document.getElementById('viewer-jacobian').scrollIntoView({behavior: 'instant'});")
    opened.wait("document.getElementById('viewer-jacobian').dataset.drawn")
    other = opened.run("return document.querySelector('#viewer-jacobian .readout').textContent;")
    assert other.split(" mm")[0] == readout(opened).split(" mm")[0]


def test_keys_move_the_cross_hair_and_the_slice_by_a_voxel(opened):
    start = place(opened)
    opened.run(f"{UNCERTAINTY}.querySelector('canvas').focus({{preventScroll: true}});")
    opened.press(LEFT_KEY)
    opened.press(PAGE_UP)
    settled(opened)
    moved = [b - a for a, b in zip(start, place(opened), strict=True)]
    assert moved == pytest.approx([2.0, 0.0, 2.0], abs=0.11)


def test_the_slider_shows_plausible_warps_and_keys_step_through_them(opened):
    opened.run(
        f"const r = {UNCERTAINTY}.querySelector('[data-role=warp]'); r.value = 3;"
        "r.dispatchEvent(new Event('input'));"
    )
    opened.wait(f"{UNCERTAINTY}.dataset.drawn === 'warp2'")
    opened.run(f"{UNCERTAINTY}.querySelector('canvas').focus({{preventScroll: true}});")
    opened.press("n")
    opened.wait(f"{UNCERTAINTY}.dataset.drawn === 'warp0'")
    assert "Plausible warp 1" in readout(opened)


def test_another_map_and_no_map_change_the_picture(opened):
    with_map = opened.run(COLOURS.format(viewer=UNCERTAINTY))
    opened.run(
        f"const s = {UNCERTAINTY}.querySelector('[data-role=overlay]'); s.value = '';"
        "s.dispatchEvent(new Event('change'));"
    )
    settled(opened)
    grey = opened.run(COLOURS.format(viewer=UNCERTAINTY))
    assert max(grey) < min(with_map)
    assert opened.run(f"return {UNCERTAINTY}.querySelector('.colourbar').hidden;")


def test_flicker_alternates_and_stops(opened):
    compare = "document.getElementById('viewer-compare')"
    opened.run(
        f"{compare}.scrollIntoView({{behavior: 'instant'}}); {compare}.querySelector('canvas').focus();"
    )
    opened.wait(f"{compare}.dataset.drawn === 'after'")
    opened.press("f")
    opened.wait(f"{compare}.dataset.drawn === 'fixed'")
    opened.wait(f"{compare}.dataset.drawn === 'after'")
    opened.press("f")
    assert opened.run(f"return {compare}.querySelector('[data-role=flicker]').ariaPressed;") == "false"


def test_a_landmark_s_name_leads_to_it(opened):
    opened.run("document.querySelectorAll('[data-go]')[1].click();")
    settled(opened)
    assert place(opened) == pytest.approx([4, 4, 4], abs=1.1)


def test_magnified_the_cross_hair_stays_where_it_was(opened):
    opened.run(f"{UNCERTAINTY}.querySelector('canvas').focus({{preventScroll: true}});")
    before, at = opened.run(COLOURS.format(viewer=UNCERTAINTY)), place(opened)
    opened.press("z")
    settled(opened)
    assert place(opened) == at
    assert opened.run(COLOURS.format(viewer=UNCERTAINTY)) != before


def test_dark_is_dark_and_paper_is_white(opened):
    shade = "return getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number);"
    opened.dark(False)
    assert min(opened.run(shade)) > 240
    opened.dark(True)
    assert max(opened.run(shade)) < 40
    opened.devtools("Emulation.setEmulatedMedia", media="print")
    assert min(opened.run(shade)) > 240
    still = "return getComputedStyle(document.querySelector('.still')).display;"
    assert opened.run(still) == "block"
    opened.devtools("Emulation.setEmulatedMedia", media="")
    assert opened.run(still) == "none"


def test_a_bad_registration_says_so_on_the_first_screen(window, tmp_path):
    path = tmp_path / "bad.html"
    bad = replace(whole(), qc=flagged("misfit", "not_converged", converged=False))
    path.write_text(render(bad), encoding="utf-8")
    window.resize(400, 800)
    window.open(path)
    first = "const s = document.querySelector('.sentence');"
    assert "do not match" in window.run(f"{first} return s.innerText;")
    assert window.run(f"{first} return s.getBoundingClientRect().bottom < innerHeight;")
