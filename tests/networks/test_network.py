"""A network has the shape it says, survives its file, and a file that is not one is refused in a sentence."""

import io
import json
import pickle
from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.torch import load, save

from credwarp.errors import InputError, PlanError
from credwarp.files import read_network, write_network, write_pair
from credwarp.networks import Network, Placed, Recipe, Unet
from credwarp.space import Grid
from credwarp.transforms import DenseSvf
from pairs import smooth_noise, textured

SMALL = Unet(channels=(4, 6))
GRID = Grid.isotropic((16, 12, 8), 2.0)


def network(architecture=SMALL, grid=GRID, atlas=None, scale=1.0) -> Network:
    weights = dict(architecture.init(torch.Generator().manual_seed(0)))
    for name in ("mean0.kernel", "mean1.kernel"):
        weights[name] = scale * weights[name]
    return Network(architecture, grid, (0.0, 0.0, 0.0), weights, atlas, {"mode": "pairwise", "images": 3})


def images(shape=GRID.shape) -> torch.Tensor:
    return smooth_noise((2, *shape), 1.0, 0, torch.float32).abs().clamp(max=1.0)


@pytest.mark.parametrize("coarsening", [1, 2])
def test_an_untrained_network_predicts_next_to_nothing_with_the_papers_variance(coarsening):
    law = network(replace(SMALL, coarsening=coarsening)).predict(*images())
    assert law.mean.shape == (1, 3, *(n // coarsening for n in GRID.shape))
    assert float(law.mean.abs().max()) < 0.05
    assert law.sd.square() == pytest.approx(torch.full_like(law.mean, 0.01), rel=0.1)


def test_every_voxel_of_both_images_is_seen():
    seen = images()
    before = network(scale=100).predict(*seen).mean
    for which in (0, 1):
        for place in ((0, 0, 0), (1, 0, 1), (15, 11, 7), (8, 5, 2)):
            other = seen.clone()
            other[(which, *place)] += 1
            assert not torch.equal(network(scale=100).predict(*other).mean, before)


def test_the_velocity_moves_with_the_images():
    """Convolutions know no places, but for the border: what is shifted by a block shifts the prediction."""
    grid = Grid.isotropic((48, 8, 8), 1.0)
    seen = torch.zeros((2, *grid.shape))
    seen[0, 20:24, 2:6, 2:6], seen[1, 22:26, 2:6, 2:6] = 1.0, 1.0
    shifted = seen.roll(4, dims=1)
    here, there = (network(grid=grid, scale=100).predict(*pair).mean[0] for pair in (seen, shifted))
    assert torch.allclose(here[:, 6:16], there[:, 8:18], atol=1e-5)
    assert float(here[:, 6:16].std()) > 1e-3


def test_a_network_survives_its_file(tmp_path):
    path = tmp_path / "model.safetensors"
    held = network(atlas=images()[0])
    write_network(path, held)
    found = read_network(path)
    assert found.grid == held.grid
    assert found.architecture == held.architecture
    assert found.facts == held.facts
    assert torch.equal(found.atlas, held.atlas)
    assert torch.equal(found.predict(*images()).mean, held.predict(*images()).mean)
    again = tmp_path / "again.safetensors"
    write_network(again, found)
    assert again.read_bytes() == path.read_bytes()


def test_a_header_whose_length_begins_like_a_pickle_is_none(tmp_path):
    path = tmp_path / "model.safetensors"
    for blanks in range(256):
        write_network(path, replace(network(), facts={"mode": " " * blanks}))
        assert read_network(path).facts["mode"] == " " * blanks
        if path.read_bytes()[0] == 0x80:
            return
    pytest.fail("no header had that length.")


def spoiled(path, how: str) -> None:
    write_network(path, network())
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    facts = json.loads(json.loads(content[8 : 8 + length])["__metadata__"]["facts"])
    if how == "pickle":
        path.write_bytes(pickle.dumps({"weights": [1.0]}))
    elif how == "torch":
        buffer = io.BytesIO()
        torch.save({"weights": torch.zeros(3)}, buffer)
        path.write_bytes(buffer.getvalue())
    elif how == "truncated":
        path.write_bytes(content[:-100])
    elif how == "flipped":
        path.write_bytes(content[:-100] + bytes([content[-100] ^ 1]) + content[-99:])
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "missing":
        path.unlink()
    elif how == "another":
        facts["architecture"] = {"kind": "transformer", "heads": 8}
        path.write_bytes(save(load(content), {"facts": json.dumps(facts)}))
    elif how == "wider":
        facts["architecture"]["channels"] = [8, 12]
        path.write_bytes(save(load(content), {"facts": json.dumps(facts)}))
    elif how == "future":
        facts["format"] = "credwarp network 2"
        path.write_bytes(save(load(content), {"facts": json.dumps(facts)}))
    elif how == "foreign":
        path.write_bytes(save({"layer.weight": torch.zeros(3)}))
    else:
        write_pair(path, textured(dtype=torch.float32))


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("pickle", "is a pickle"),
        ("torch", "is a pickle"),
        ("truncated", "damaged"),
        ("flipped", "not the ones that were written"),
        ("empty", "damaged"),
        ("missing", "cannot be read"),
        ("another", "'transformer'"),
        ("wider", "not those of the architecture"),
        ("future", "credwarp network 2"),
        ("foreign", "no network"),
        ("a run's pair", "no network"),
    ],
)
def test_what_is_no_network_is_refused_in_one_sentence(tmp_path, how, words):
    path = tmp_path / "model.safetensors"
    spoiled(path, how)
    with pytest.raises(InputError, match=words) as caught:
        read_network(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def moved(grid: Grid, millimetres=(0.0, 0.0, 0.0), spacing=2.0) -> Grid:
    finer = grid.with_spacing(spacing)
    affine = finer.affine.copy()
    affine[:3, 3] += millimetres
    return Grid(finer.shape, affine)


def on(grid: Grid):
    """A pair with one bright ball each."""
    away = grid.points() - grid.centre
    ball = torch.from_numpy(np.exp(-((away / 5) ** 2).sum(-1))).float()
    everywhere = torch.ones(grid.shape, dtype=torch.bool)
    return replace(
        textured(grid.shape, torch.float32),
        grid=grid,
        fixed=ball,
        moving=ball,
        fixed_mask=everywhere,
        moving_mask=everywhere,
    )


def test_a_pair_on_the_networks_voxels_is_not_resampled_wherever_it_lies():
    placed = Placed.over(on(moved(GRID, (50.0, -20.0, 3.0))), network())
    assert placed.exact
    velocity = images((8, 6, 4))[:1].expand(3, -1, -1, -1).contiguous()
    assert torch.equal(placed.carried(velocity, DenseSvf().bind(placed.pair.grid)), velocity)


def test_another_pair_is_resampled_with_its_content_in_place_and_the_log_says_so(caplog, monkeypatch):
    import logging

    monkeypatch.setattr(logging.getLogger("credwarp"), "propagate", True)
    with caplog.at_level(logging.INFO, logger="credwarp"):
        placed = Placed.over(on(moved(GRID, (50.0, -20.0, 3.0), spacing=1.5)), network())
    assert not placed.exact
    assert "resampled to the network's voxels (16×12×8 at 2.00, 2.00, 2.00 mm)" in caplog.text
    assert np.abs(placed.network.grid.centre - placed.pair.grid.centre).max() < 0.2


def test_voxels_of_the_same_size_coincide_whatever_the_images_sides():
    wide = moved(Grid.isotropic((20, 14, 12), 2.0), (11.0, 5.0, -2.0))
    placed = Placed.over(on(wide), network())
    shift = wide.to_voxels(placed.network.grid.to_world(np.zeros(3)))
    assert shift == pytest.approx(2 * np.round(shift / 2), abs=1e-6)
    velocity = images((8, 6, 4))[:1].expand(3, -1, -1, -1).contiguous()
    found = placed.carried(velocity, DenseSvf().bind(wide))
    x, y, z = (int(n) for n in np.round(shift / 2))
    assert torch.allclose(found[:, x : x + 8, y : y + 6, z : z + 4], velocity, atol=1e-5)


def test_a_velocity_is_brought_back_in_millimetres():
    """A linear one is exact between voxels; on voxels half as long it has twice as many of them."""
    cube = Grid.isotropic((24, 24, 24), 2.0)
    placed = Placed.over(on(moved(cube, (1.3, 0.4, -0.7), spacing=1.0)), network(grid=cube))
    transform = DenseSvf().bind(placed.pair.grid)
    slope = np.array([[0.02, 0.01, 0.0], [0.0, -0.03, 0.01], [0.01, 0.0, 0.02]])

    def field(grid: Grid, unit: float) -> torch.Tensor:
        return torch.from_numpy((grid.points() @ slope.T / unit).transpose(3, 0, 1, 2).copy()).float()

    found = placed.carried(field(placed.network.transform.parameters, 2.0), transform)
    wanted = field(transform.parameters, 1.0)
    # A cubic spline mirrors at the ends, where it is linear only some voxels away.
    inner = (slice(None), *(slice(6, -6),) * 3)
    assert torch.allclose(found[inner], wanted[inner], atol=0.01)
    assert float(wanted[inner].abs().max()) > 0.1


def test_a_network_for_an_atlas_refuses_another_fixed_image():
    pair = on(GRID)
    with pytest.raises(InputError, match="atlas"):
        Placed.over(pair, network(atlas=images()[0]))
    assert Placed.over(pair, network(atlas=pair.fixed)).exact


def test_a_recipe_survives_its_settings_and_names_what_is_wrong():
    recipe = Recipe().with_settings(
        ["objective.similarity.kind=ssd", "architecture.channels=[4, 8]", "seed=3"]
    )
    assert recipe.objective.similarity.kind == "ssd"
    assert recipe.architecture.channels == (4, 8)
    assert Recipe.from_dict(recipe.to_dict()) == recipe
    for setting in (
        "epochs=0",
        "objective.smoothness.strength=-1",
        "nowhere=1",
        "seed.of=1",
        "seed",
        "architecture.depth=3",
    ):
        with pytest.raises(PlanError):
            Recipe().with_settings([setting])
