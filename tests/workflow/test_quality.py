"""Flags: each limit is explained where users look, and real runs of the wrong images raise theirs."""

import json
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.ndimage import gaussian_filter

from credwarp import cli
from credwarp.files import write_volume
from credwarp.phantom import subject
from credwarp.plan import Plan, Quality
from credwarp.propagate import summarise
from credwarp.register.targets import bound
from credwarp.space import Volume
from credwarp.workflow.quality import flags
from pairs import textured
from runs import smooth_run

PAGE = Path(__file__).parents[2] / "docs" / "quality.md"


def kinds(run, masked=False) -> set[str]:
    posterior = bound(run.pair, run.plan)
    run = replace(run, hyper=posterior.init(posterior.zeros(1)))
    return {flag.kind for flag in flags(run, summarise(run), None, masked)}


@pytest.mark.parametrize("limit", fields(Quality), ids=lambda limit: limit.name)
def test_every_limit_has_its_line_with_its_default(limit):
    (line,) = [
        row for row in PAGE.read_text(encoding="utf-8").splitlines() if row.startswith(f"| `{limit.name}` |")
    ]
    default = float(line.split("|")[2].split()[0])
    assert default == pytest.approx(getattr(Plan().quality, limit.name))
    assert len(line.split("|")[4].split()) > 8


def test_masks_that_part_under_the_warp_are_told_where_both_were_given():
    pair = textured((14, 14, 14), torch.float32)
    fixed, moving = torch.zeros((2, 14, 14, 14), dtype=torch.bool)
    fixed[2:9, 3:11, 3:11], moving[6:13, 3:11, 3:11] = True, True
    run = smooth_run(type(pair)(pair.grid, pair.fixed, pair.moving, fixed, moving, pair.initial), size=0.1)
    assert "masks_disagree" in kinds(run, masked=True)
    assert "masks_disagree" not in kinds(run)
    same = smooth_run(type(pair)(pair.grid, pair.fixed, pair.moving, fixed, fixed, pair.initial), size=0.1)
    assert "masks_disagree" not in kinds(same, masked=True)


def test_a_warp_that_folds_or_moves_the_border_is_told():
    pair = textured((14, 14, 14), torch.float32, spacing=2.0)
    assert not {"folds", "border_displacement", "implausible_jacobian"} & kinds(smooth_run(pair, size=0.1))
    assert {"folds", "border_displacement"} <= kinds(smooth_run(pair, size=9.0, draws=2))


@pytest.fixture(scope="module")
def unrelated(tmp_path_factory) -> Path:
    """A head, and a ball of texture that is none."""
    folder = tmp_path_factory.mktemp("unrelated")
    head = subject(0, (32, 32, 32)).scan.image
    noise = gaussian_filter(np.random.default_rng(0).normal(size=head.grid.shape), 1.5)
    inside = np.linalg.norm(head.grid.points(), axis=-1) < 60
    texture = np.where(inside, 100 * noise / noise.std() + 500, 0.0)
    write_volume(head, folder / "head.nii.gz")
    write_volume(Volume(head.grid, torch.from_numpy(texture).float()), folder / "texture.nii.gz")
    images = [str(folder / f"{name}.nii.gz") for name in ("head", "texture")]
    options = ("--method", "map", "--strict", "--set", "optimisation.starts=1")
    code = cli.run(["-q", "register", *images, "-o", str(folder / "run"), *options])
    assert code == 6
    return folder / "run"


def test_a_run_of_unrelated_images_says_so_in_the_report_s_first_sentence(unrelated):
    raised = json.loads((unrelated / "qc.json").read_text(encoding="utf-8"))["warnings"]
    assert "misfit" in {one["kind"] for one in raised}
    page = (unrelated / "report.html").read_text(encoding="utf-8")
    first = page.split('<p class="sentence">')[1].split("</p>")[0]
    assert first.startswith(
        "Do not use this registration: the images do not match, as if they were unrelated"
    )
