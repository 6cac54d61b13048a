"""How often a known truth is covered: the model's own pairs, real images warped, and the paper's methods."""

import os

import pytest
from rich.console import Console
from rich.table import Table

from cohort import DATA, needs_data
from credwarp.files import read
from credwarp.phantom import population
from credwarp.plan import Plan
from credwarp.space import resample
from credwarp.workflow import Calibration, calibrate

PAIRS = int(os.environ.get("PAIRS", "32"))
SIDES = 28
NOISE = 0.2
DRAWS = ["sampling.draws=400", "optimisation.starts=1"]
METHODS = {
    "default sampler": [*DRAWS, "sampling.thin=4", "sampling.warmup=150"],
    "structured VI": [*DRAWS, "method=vi"],
}
PAPER = [
    *DRAWS, "coordinates.kind=smoothed", "variational.kind=diagonal_low_rank", "variational.iterations=256",
    "sampler.kind=sgld", "sampling.thin=4", "sampling.warmup=150",
]  # fmt: skip
PAPERS = {"the paper's SGLD": PAPER, "the paper's VI": [*PAPER, "method=vi"]}
MODELS = {
    "dense, Mixture": [],
    "dense, Gaussian": ["likelihood.kind=gaussian"],
    "B-spline, Mixture": ["transform.kind=bspline"],
    "B-spline, Gaussian": ["transform.kind=bspline", "likelihood.kind=gaussian"],
}
BOUNDS = ((0.45, 0.55), (0.85, 0.93), (0.91, 0.97))


def held(images, settings: list[str]) -> Calibration:
    return calibrate(images, Plan().with_settings(settings), NOISE, lambda number, score: None)


def show(name: str, found: Calibration) -> None:
    table = Table(title=name)
    for nominal in found.nominal:
        table.add_column(f"{nominal:g}")
    table.add_column("error / SD")
    cells = [f"{c:.3f} ± {e:.3f}" for c, e in zip(found.coverage, found.error, strict=True)]
    table.add_row(*cells, f"{found.ratio:.2f}")
    Console().print(table)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("method", METHODS)
def test_intervals_hold_truths_drawn_from_the_model_as_often_as_they_say(method, model):
    heads = (subject.scan.image for subject in population(PAIRS, (SIDES,) * 3))
    found = held(heads, METHODS[method] + MODELS[model])
    show(f"{method}, {model}, {PAIRS} pairs of {SIDES}³", found)
    for (low, high), coverage, error in zip(BOUNDS, found.coverage, found.error, strict=True):
        assert low - 2 * error <= coverage <= high + 2 * error


@pytest.mark.parametrize("method", PAPERS)
def test_the_papers_methods_at_the_same_budget_are_printed(method):
    heads = (subject.scan.image for subject in population(PAIRS, (SIDES,) * 3))
    found = held(heads, PAPERS[method])
    show(f"{method}, dense, Mixture, {PAIRS} pairs of {SIDES}³", found)
    assert all(0 <= coverage <= 1 for coverage in found.coverage)


@needs_data
@pytest.mark.parametrize("method", METHODS)
def test_real_images_warped_by_known_draws_are_covered(method):
    paths = sorted((DATA / "cohort").glob("sub??.nii.gz"))[: max(2, PAIRS // 4)]
    images = (
        resample(image, image.grid.with_spacing([3.64] * 3)) for image in (read(path) for path in paths)
    )
    found = held(images, [*METHODS[method], "transform.coarsening=1"])
    show(f"{method}, {len(paths)} real brains at 3.64 mm", found)
    assert 0.85 <= found.coverage[1] <= 0.95
