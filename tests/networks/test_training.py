"""Training learns, shows each image its turn, and goes on after any end to the same weights bit for bit."""

import os
import signal
import struct
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
import torch

from credwarp import cli
from credwarp.errors import InputError
from credwarp.files import TrainingFolder, read_network, write_volume
from credwarp.files.scalars import checksum, write_scalars
from credwarp.networks import Augmentation, Examples, Network, Recipe, train
from credwarp.networks.examples import generator
from credwarp.space import Grid, Volume
from credwarp.transforms import DenseSvf
from pairs import smooth_noise

GRID = Grid.isotropic((16, 16, 16), 2.0)
RECIPE = Recipe().with_settings(
    ["architecture.channels=[4, 6]", "images=6", "epochs=4", "objective.similarity.kind=ssd", "memory=0.5"]
)

LEARNING = [
    "epochs=14",
    "images=12",
    "memory=0",
    "optimiser.step_size=0.003",
    "objective.similarity.precision=1000",
    "augmentation.motion=1",
    "augmentation.pose=0",
    "augmentation.contrast=0",
    "augmentation.bias=0",
]


class Shelf:
    """Noisy copies of one blob, each at a place of its own."""

    def __len__(self) -> int:
        return 8

    def image(self, number: int) -> torch.Tensor:
        away = torch.from_numpy(GRID.points() - 2.5 * np.random.default_rng(number).normal(size=3))
        blob = torch.exp(-(away / 7).square().sum(dim=-1)).float()
        return (blob + 0.02 * smooth_noise((16, 16, 16), 0.0, number, torch.float32)).clamp(min=0)


@dataclass(eq=False)
class Shop:
    """Keeps checkpoints, and ends the training before the n-th is kept."""

    left: int = 1000
    kept: tuple | None = None
    shown: list[Network] = field(default_factory=list)

    def load(self):
        return self.kept

    def save(self, tensors, facts):
        if self.left == 0:
            raise KeyboardInterrupt
        self.left -= 1
        self.kept = ({name: tensor.clone() for name, tensor in tensors.items()}, facts)

    def publish(self, network):
        self.shown.append(network)


def fresh(recipe: Recipe = RECIPE, atlas=None) -> Network:
    weights = recipe.architecture.init(generator(recipe.seed))
    return Network(recipe.architecture, GRID, (0.0, 0.0, 0.0), weights, atlas, {"images": 8})


def trained(recipe: Recipe = RECIPE, shop: Shop | None = None, atlas=None) -> Network:
    return train(recipe, fresh(recipe, atlas), Shelf(), shop or Shop(), lambda done, total, figures: None)


def alike(one: Network, other: Network) -> bool:
    return all(torch.equal(tensor, other.weights[name]) for name, tensor in one.weights.items())


@pytest.mark.parametrize("mode", ["pairwise", "atlas"])
def test_training_brings_the_held_out_loss_down(mode):
    shop = Shop()
    recipe = RECIPE.with_settings(LEARNING)
    network = trained(recipe, shop, Shelf().image(0) if mode == "atlas" else None)
    history = shop.kept[1]["history"]
    assert history[-1]["held_out"] < 0.7 * history[0]["held_out"]
    assert network.facts["held_out_loss"] == min(row["held_out"] for row in history)


def test_the_same_seed_gives_the_same_weights_and_another_one_others():
    first = trained()
    assert alike(first, trained())
    assert not alike(first, trained(RECIPE.with_settings(["seed=1"])))


@pytest.mark.parametrize("ended", [0, 2])
def test_a_training_that_was_stopped_goes_on_to_the_same_weights(ended):
    shop = Shop(left=ended)
    with pytest.raises(KeyboardInterrupt):
        trained(shop=shop)
    shop.left = 1000
    assert alike(trained(shop=shop), trained())


def test_more_epochs_go_on_from_the_last_one():
    shop = Shop()
    trained(RECIPE.with_settings(["epochs=2"]), shop)
    assert alike(trained(shop=shop), trained())


def test_training_ends_early_where_nothing_improves():
    recipe = RECIPE.with_settings(["epochs=30", "patience=2", "optimiser.step_size=1e-12"])
    shop = Shop()
    trained(recipe, shop)
    assert len(shop.kept[1]["history"]) < 30


def test_each_image_moves_once_a_lap_and_none_that_is_held_out():
    seen: list[int] = []

    class Listed(Shelf):
        def image(self, number: int) -> torch.Tensor:
            seen.append(number)
            return super().image(number)

    atlas = Shelf().image(0)
    examples = Examples.of(Listed(), atlas, 0, 0.25)
    transform = DenseSvf(squarings=4).bind(GRID)
    assert len(examples.held_out) == 2
    list(examples.stream(0, 12, Augmentation(), transform))
    assert sorted(seen[:6]) == sorted(seen[6:]) == sorted(examples.training)
    assert seen[:6] != seen[6:]
    assert not set(examples.training) & set(examples.held_out)


def test_a_stream_depends_on_the_position_alone():
    examples = Examples.of(Shelf(), None, 0, 0.25)
    transform = DenseSvf(squarings=4).bind(GRID)
    whole = list(examples.stream(0, 5, Augmentation(), transform))
    part = list(examples.stream(3, 5, Augmentation(), transform))
    assert all(torch.equal(one, other) for one, other in zip(whole[3:], part, strict=True))


def test_no_variation_leaves_a_pair_as_it_is_and_an_atlas_never_varies():
    pair = (Shelf().image(0), Shelf().image(1))
    transform = DenseSvf(squarings=4).bind(GRID)
    nothing = Augmentation(pose=0.0, motion=0.0, contrast=0.0, bias=0.0, noise=0.0)
    assert torch.allclose(nothing.vary(pair, transform, True, generator(0)), torch.stack(pair), atol=1e-5)
    varied = Augmentation().vary(pair, transform, False, generator(0))
    assert torch.equal(varied[0], pair[0])
    assert float((varied[1] - pair[1]).abs().mean()) > 0.01


def test_flows_are_as_long_as_is_said_and_do_not_fold():
    from credwarp.fields import jacobian_determinant

    grid = Grid.isotropic((32, 32, 32), 3.0)
    transform = DenseSvf(squarings=5).bind(grid)
    flows = [Augmentation(motion=4.0)._flow(transform, generator(n)) for n in range(12)]
    lengths = [3.0 * float(flow.norm(dim=0).mean()) for flow in flows]
    assert max(lengths) < 4.5
    assert sum(lengths) / 12 == pytest.approx(2.0, abs=0.8)
    assert all(float(jacobian_determinant(flow[None]).min()) > 0 for flow in flows)


def test_too_few_images_are_a_sentence():
    class Two(Shelf):
        def __len__(self) -> int:
            return 2

    with pytest.raises(InputError, match="at least 3"):
        Examples.of(Two(), None, 0, 0.2)
    assert len(Examples.of(Two(), Shelf().image(0), 0, 0.2).training) == 1


def test_the_checksum_is_castagnolis():
    assert checksum(b"123456789") == 0xE3069283


def test_scalars_are_records_of_steps_and_values(tmp_path):
    path = tmp_path / "events"
    write_scalars(path, [{"loss": 2.5}, {"loss": 1.25}])
    content, found = path.read_bytes(), []
    while content:
        (length,) = struct.unpack("<Q", content[:8])
        masked = [struct.unpack("<I", content[at : at + 4])[0] for at in (8, 12 + length)]
        data = content[12 : 12 + length]
        for value, part in zip(masked, (content[:8], data), strict=True):
            turned = (value - 0xA282EAD8) & 0xFFFFFFFF
            assert (turned << 15 | turned >> 17) & 0xFFFFFFFF == checksum(part)
        found.append(data)
        content = content[16 + length :]
    assert b"brain.Event:2" in found[0]
    assert [struct.unpack("<f", data[-4:])[0] for data in found[1:]] == [2.5, 1.25]
    assert all(b"loss" in data for data in found[1:])


TRAIN = ["train", "--population", "4", "--size", "16", "--epochs", "3", "--threads", "1"]
SMALL = ["--set", "architecture.channels=[4, 6]", "--set", "images=40"]


def test_a_killed_training_goes_on_to_the_same_file_bit_for_bit(tmp_path, capsys):
    whole, killed = tmp_path / "whole.safetensors", tmp_path / "killed.safetensors"
    assert cli.run(["--quiet", *TRAIN, *SMALL, "-o", str(whole)]) == 0
    assert "did best" in capsys.readouterr().out
    words = [sys.executable, "-m", "credwarp", "--quiet", *TRAIN, *SMALL, "-o", str(killed)]
    process = subprocess.Popen(words, env={**os.environ, "OMP_NUM_THREADS": "1"})
    checkpoint = tmp_path / "killed.training" / "state" / "checkpoint.safetensors"
    while not checkpoint.exists() and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert len(torch_history(checkpoint)) < 3
    assert cli.run(["--quiet", "train", "--resume", "-o", str(killed), "--threads", "1"]) == 0
    assert killed.read_bytes() == whole.read_bytes()
    assert "epoch" in (tmp_path / "whole.training" / "losses.csv").read_text()
    assert len(TrainingFolder(whole)) == 4
    assert read_network(whole).facts["mode"] == "pairwise"
    assert cli.run(["--quiet", *TRAIN, "-o", str(whole)]) == 3
    assert "--resume" in capsys.readouterr().err


def torch_history(checkpoint: Path) -> list:
    from credwarp.files.state import read_facts

    return read_facts(checkpoint)["history"]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["train", "-o", "m.safetensors"], 2),
        (["train", "a.nii", "--population", "4", "-o", "m.safetensors"], 2),
        (["train", "--resume", "-o", "m.safetensors"], 3),
        (["train", "--resume", "--seed", "1", "-o", "m.safetensors"], 2),
        (["train", "--population", "4", "-o", "m.pt"], 3),
        (["train", "missing.nii", "b.nii", "c.nii", "-o", "m.safetensors"], 3),
    ],
)
def test_wrong_words_are_one_sentence(words, code, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.run(["--quiet", *words]) == code
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_preparing_goes_on_too_and_takes_no_image_of_another_origin(tmp_path, monkeypatch):
    from credwarp.workflow import Population, begin_training

    made: list[int] = []
    volume = Population.volume

    def counted(self, number, grid):
        if len(made) == 2:
            raise KeyboardInterrupt
        made.append(number)
        return volume(self, number, grid)

    monkeypatch.setattr(Population, "volume", counted)
    model = tmp_path / "model.safetensors"
    with pytest.raises(KeyboardInterrupt):
        begin_training(Population(3, 16, 0), RECIPE, model)
    assert not TrainingFolder(model).has_begun
    made.clear()
    begin_training(Population(3, 16, 0), RECIPE, model)
    assert made == [2]
    with pytest.raises(InputError, match="--resume"):
        begin_training(Population(3, 16, 0), RECIPE, model)
    other = tmp_path / "other.safetensors"
    made.clear()
    with pytest.raises(KeyboardInterrupt):
        begin_training(Population(3, 16, 0), RECIPE, other)
    made.clear()
    with pytest.raises(KeyboardInterrupt):
        begin_training(Population(3, 16, 1), RECIPE, other)
    assert made == [0, 1]


@pytest.mark.parametrize(
    ("grid", "shape"),
    [
        (Grid.isotropic((16, 16, 16), 2.0), (16, 16, 16)),
        (Grid.isotropic((17, 30, 33), 1.0), (32, 32, 48)),
        (Grid((20, 20, 5), np.diag([1.0, 1.0, 8.0, 1.0])), (16, 16, 32)),
    ],
)
def test_a_grid_is_padded_round_its_centre_to_near_cubes(grid, shape):
    from credwarp.workflow.training import padded

    found = padded(grid, 16)
    assert found.shape == shape
    assert found.centre == pytest.approx(grid.centre)
    assert max(found.spacing) < 1.3 * min(found.spacing)
    extents = np.array(grid.shape) * grid.spacing, np.array(found.shape) * found.spacing
    assert bool(np.all(extents[1] >= extents[0] - 1e-6))


def test_files_of_several_sizes_train_for_an_atlas(tmp_path, capsys):
    """A ball at several places and resolutions, aligned with the atlas's; then a pair is registered."""
    names = []
    for number, (side, spacing) in enumerate([(16, 2.0), (20, 1.5), (14, 2.5)]):
        grid = Grid.isotropic((side, side, side), spacing)
        ball = np.exp(-((((grid.points() - [number, 0, 0]) / 6) ** 2).sum(-1)))
        names.append(tmp_path / f"{number}.nii.gz")
        write_volume(Volume(grid, torch.from_numpy(100 * ball).float(), "ball"), names[-1])
    model, out = tmp_path / "atlas.safetensors", tmp_path / "run"
    words = ["train", *names[1:], "--atlas", names[0], "-o", model, "--init", "header", "--epochs", "1"]
    assert cli.run(["--quiet", *map(str, words), *SMALL, "--set", "images=4"]) == 0
    network = read_network(model)
    assert network.facts["mode"] == "atlas"
    assert network.atlas.shape == (16, 16, 16)
    register = ["register", names[0], names[1], "-o", out, "--init", "header", "--method", "amortised"]
    assert cli.run(["--quiet", *map(str, [*register, "--model", model, "--draws", "8"])]) == 0
    noise = smooth_noise((16, 16, 16), 1.0, 0, torch.float32)
    write_volume(Volume(GRID, noise, "noise"), tmp_path / "noise.nii.gz")
    register[1], register[4] = tmp_path / "noise.nii.gz", tmp_path / "another"
    capsys.readouterr()
    code = cli.run(["--quiet", *map(str, [*register, "--model", model, "--draws", "8"])])
    assert code == 3
    assert "atlas" in capsys.readouterr().err
