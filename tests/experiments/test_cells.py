"""What is run: plans that are accepted, runs that are shared, the paper's settings and numbers."""

import ast
from pathlib import Path

import pytest

from credwarp.networks import Recipe
from credwarp.register import refuse_contradictions
from experiments.paper2021.anatomy import GROUPS, NAMES, columns, members
from experiments.paper2021.cells import HERE, Scale, experiments
from experiments.paper2021.network import PAPERS
from experiments.paper2021.sections import SECTIONS

SCALES = ("full", "small", "smoke")


def cells(scale: str) -> dict[tuple[str, str], object]:
    return {
        (e.number, cell.name): cell
        for e in experiments(Scale.read(scale))
        for cell in e.cells
        if cell.pair != "alike"
    }


@pytest.mark.parametrize("scale", SCALES)
def test_every_plan_is_accepted_and_every_experiment_has_its_section(scale):
    found = experiments(Scale.read(scale))
    assert [e.number for e in found] == ["1", "1b", "3", "4", "5", "runtime"]
    assert {e.name for e in found} == set(SECTIONS)
    for e in found:
        for cell in e.cells:
            refuse_contradictions(cell.plan)


def test_at_full_scale_the_papers_models_are_run_as_the_paper_says():
    """Its section on the setup, and the steps of its two chains."""
    found = cells("full")
    vi, sgld = found["3", "vi"].plan, found["3", "sgld"].plan
    assert (vi.transform.coarsening, vi.transform.squarings) == (1, 12)
    assert (vi.variational.rank, vi.variational.iterations, vi.variational.step_size) == (1, 1024, 0.01)
    assert (vi.variational.initial_sd, vi.variational.initial_factor) == (0.5, 0.1)
    assert (vi.coordinates.width, vi.coordinates.smoothing) == (7, 0.5)
    assert (vi.prior.eta, vi.prior.varsigma, vi.prior.unit) == (2.8, 5.0, 1.82)
    assert (sgld.sampling.chains, sgld.sampling.warmup, sgld.sampling.draws) == (2, 100_000, 500)
    assert sgld.sampling.each * sgld.sampling.thin == 1_000_000
    assert (sgld.sampler.step_size, found["5", "two"].plan.sampler.step_size) == (0.4, 0.05)


def test_the_network_is_that_of_the_papers_comparison():
    recipe = Recipe().with_settings([*PAPERS, *Scale.read("full").network])
    assert recipe.objective.similarity.kind == "ssd"
    assert recipe.objective.smoothness.strength == 10
    assert recipe.architecture.initial_variance == 0.01
    assert cells("full")["3", "voxelmorph"].plan.needs_network


def test_cells_compare_what_the_paper_compares():
    for e in experiments(Scale.read("full")):
        plans = {cell.name: cell.plan for cell in e.cells}
        if "fixed" in e.expected:
            assert [plans[name].prior.strength for name in ("weak", "strong")] == e.expected["fixed"]
            assert plans["proposed"].prior.strength == e.expected["lambda_init"]
        if "spacing" in e.expected:
            splines = [plans["two"], plans["four"]]
            assert [plan.transform.spacing for plan in splines] == e.expected["spacing"]
            assert [1.82 * n for n in e.expected["spacing"]] == pytest.approx(e.expected["spacing_mm"])
            assert {plan.sampler.step_size for plan in splines} == {e.expected["step_size"]}


@pytest.mark.parametrize("scale", SCALES)
def test_what_is_the_same_run_has_one_folder_and_what_shares_its_law_a_common_beginning(scale):
    found = {key: cell.folder for key, cell in cells(scale).items()}
    assert (
        found["3", "sgld"] == found["4", "approximation"] == found["5", "dense"] == found["runtime", "sgld"]
    )
    assert found["1", "proposed"] == found["3", "vi"] == found["runtime", "vi"]
    stems = {key: folder.rsplit("-", 1)[0] for key, folder in found.items()}
    assert stems["3", "vi"] == stems["3", "sgld"] == stems["4", "noise"]
    assert len({stems[key] for key in (("1", "weak"), ("1", "strong"), ("3", "vi"), ("5", "two"))}) == 4
    assert len({found[key] for key in (("3", "sgld"), ("3", "sgld_short"), ("4", "noise"))}) == 3


def test_the_papers_strengths_count_voxels_and_the_defaults_millimetres():
    found = cells("small")
    assert found["3", "vi"].plan.prior.unit == 3.64
    assert found["3", "default"].plan.prior.unit == 1.82


def test_the_groups_hold_the_fifteen_structures_once_each():
    labels = [label for group in GROUPS for label in members(group)]
    assert sorted(labels) == sorted(NAMES)
    assert len(labels) == 15
    assert columns((4, 10, 16), members("large")) == [2, 1]


@pytest.mark.parametrize("path", sorted(HERE.glob("*.py")), ids=lambda path: path.stem)
def test_experiments_use_public_names_only(path: Path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("credwarp"):
            assert node.module.count(".") <= 1
            assert not [name.name for name in node.names if name.name.startswith("_")]
