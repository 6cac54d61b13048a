"""Real pairs, chosen by how alike they are."""

import pytest
import torch

from credwarp.errors import InputError
from credwarp.files import read, write_volume
from credwarp.space import Grid, Volume
from experiments.paper2021 import subjects
from experiments.paper2021.cells import Scale

SMALL = Scale("smoke", 10.92, (16, 18, 16), 3, (), {})


@pytest.fixture
def cohort(tmp_path):
    """Four subjects: a cube that the second shares wholly, the third half, the fourth hardly."""
    folder = tmp_path / "cohort"
    folder.mkdir()
    grid = Grid.isotropic((8, 8, 8), 2.0)
    for name, shift in (("sub01", 0), ("sub02", 0), ("sub03", 2), ("sub04", 3)):
        labels = torch.zeros(grid.shape, dtype=torch.int16)
        labels[shift : shift + 4, 2:6, 2:6] = 10
        write_volume(Volume(grid, labels), folder / f"{name}_seg.nii.gz")
        write_volume(Volume(grid, labels.float()), folder / f"{name}.nii.gz")
    return tmp_path


def test_real_pairs_are_the_third_subject_the_least_alike_and_the_most(cohort):
    source = subjects.cohort(SMALL, cohort)
    assert source.settings == ("preparation.spacing=10.92",)
    found = {name: source.pairs[name]() for name in ("sample", "unlike", "alike")}
    assert {name: sitting.says for name, sitting in found.items()} == {
        "sample": "sub01 ← sub03",
        "unlike": "sub01 ← sub04",
        "alike": "sub01 ← sub02",
    }
    assert found["sample"].true_map() is None
    images, atlas = source.population()
    assert [path.name for path in images] == ["sub02.nii.gz", "sub04.nii.gz"]
    assert atlas.name == "sub01.nii.gz"
    assert read(found["sample"].request.fixed.image).grid.shape == (8, 8, 8)


def test_a_folder_without_the_cohort_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"holds no sub01.nii.gz"):
        subjects.cohort(SMALL, tmp_path)
