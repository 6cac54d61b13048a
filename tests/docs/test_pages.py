"""Every block of every page does what the page says: commands run, Python runs, plans are plans."""

import contextlib
import io
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

import credwarp
from credwarp import cli
from credwarp.files import write_volume
from credwarp.plan import Plan
from credwarp.space import Grid, Volume
from pages import DOCS, PAGES, ROOT, Block, as_said, blocks, commands, run, with_little_work
from pairs import smooth_noise

# Not run: what Sphinx alone reads, output, and in `sh` what takes other machines (validation/test_batch.py
# has a scheduler, workers and a queue) or is the installation, which scripts/release_check.sh runs.
SILENT = {"{toctree}", "{image}", "{include}", "{csv-table}", "text", "sh"}
SPOKEN = {"console", "python", "toml", "json"}
# The blocks of extend/ are files of a tree, which tests/docs/test_extend.py makes.
READ = [*(p for p in PAGES if p.parent.name != "extend"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]


def image(name: str, grid: Grid, shift: float) -> tuple[Volume, Volume]:
    """A soft ball with texture in it, and its two labels."""
    places = grid.points() - np.array([shift, -shift, 0.0])
    distance = np.linalg.norm(places, axis=-1)
    texture = 8 * np.sin(places / 4).prod(axis=-1)
    values = 100 / (1 + np.exp((distance - 14) / 2)) + texture * (distance < 14)
    labels = 17 * (distance < 10) + 36 * (distance < 5)
    noise = 0.5 * smooth_noise(grid.shape, 0.5, len(name), torch.float32)
    return (
        Volume(grid, torch.from_numpy(values).float() + noise, name),
        Volume(grid, torch.from_numpy(labels).to(torch.int16), f"{name} labels"),
    )


@pytest.fixture(scope="session")
def example(tmp_path_factory) -> Path:
    """Two images on grids of their own, labels, masks, points, a dose, and a run of them."""
    folder = tmp_path_factory.mktemp("example")
    grids = {"fixed": Grid.isotropic((22, 20, 18), 2.0), "moving": Grid.isotropic((20, 22, 16), 2.2)}
    for (name, grid), shift in zip(grids.items(), (0.0, 2.0), strict=True):
        scan, labels = image(name, grid, shift)
        write_volume(scan, folder / f"{name}.nii.gz")
        write_volume(labels, folder / f"{name}_labels.nii.gz")
        write_volume(Volume(grid, scan.data > 5, "mask"), folder / f"{name}_mask.nii.gz")
    shutil.copy(folder / "moving.nii.gz", folder / "dose.nii.gz")
    shutil.copy(folder / "fixed.nii.gz", folder / "template.nii.gz")
    (folder / "subjects").mkdir()
    for number in range(5):
        scan, _ = image(f"subject {'x' * number}", grids["fixed"], number / 2)
        write_volume(scan, folder / "subjects" / f"{number}.nii.gz")
    (folder / "pairs.csv").write_text("fixed,moving\nfixed.nii.gz,moving.nii.gz\n", encoding="utf-8")
    (folder / "points.csv").write_text("name,x,y,z\ntip,3.0,-2.0,1.0\nedge,0.0,9.0,0.0\n", encoding="utf-8")
    for side in grids:
        text = f"# CoordinateSystem = RAS\n{(folder / 'points.csv').read_text(encoding='utf-8')}"
        (folder / f"{side}_points.csv").write_text(text, encoding="utf-8")
    sides = [f"{folder}/{side}.nii.gz" for side in grids]
    labels = [f"--{side}-labels={folder}/{side}_labels.nii.gz" for side in grids]
    assert cli.run(with_little_work(["register", *sides, *labels, "-o", f"{folder}/run"])) in (0, 4)
    return folder


def the_pages_folder(page: Path, example: Path, folder: Path) -> Path:
    """The example's files; its run too, unless the page makes that itself."""
    made = any("-o run" in command for block in blocks(page) for command, _ in commands(block))
    shutil.copytree(example, folder / "here", ignore=shutil.ignore_patterns("run") if made else None)
    return folder / "here"


def try_out(block: Block, folder: Path, names: dict[str, object]) -> None:
    """Run the block; a traceback names the page's line."""
    if block.language == "console":
        for command, said in commands(block):
            printed = run(command, folder)
            assert not said or as_said(said, printed), f"{command} prints\n{printed}"
    elif block.language == "python":
        with contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()):
            exec(compile("\n" * block.line + block.text, "the page", "exec"), names)
    elif block.language == "toml":
        Plan.from_toml(block.text)
    else:
        json.loads(block.text)


@pytest.mark.parametrize("page", READ, ids=lambda path: path.stem)
def test_every_block_of_the_page_works(page, example, tmp_path):
    folder, names = the_pages_folder(page, example, tmp_path), {"__name__": "page"}
    for block in blocks(page):
        if block.language in SILENT:
            continue
        assert block.language in SPOKEN, f"{page.name}:{block.line} is in {block.language or 'no language'}"
        try_out(block, folder, names)


def test_every_public_name_has_an_example():
    shown = "\n".join(block.text for block in blocks(DOCS / "python.md"))
    assert [name for name in credwarp.__all__ if f"credwarp.{name}" not in shown] == []
    assert len(credwarp.__all__) <= 20


def test_a_block_that_does_not_work_is_seen(example, tmp_path):
    shutil.copytree(example, tmp_path / "here")
    here = tmp_path / "here"
    for language, text in [
        ("console", "$ credwarp inspect absent.nii.gz"),
        ("console", "$ credwarp --version\ncredwarp 99"),
        ("console", "$ make nothing"),
        ("python", "import credwarp\ncredwarp.absent"),
        ("toml", "prior = 3"),
        ("json", "{"),
    ]:
        with pytest.raises(Exception, match="."):
            try_out(Block(language, "", text, 1), here, {})


def test_the_pages_are_where_they_are_looked_for():
    assert DOCS / "start.md" in PAGES
    assert len(PAGES) > 10
