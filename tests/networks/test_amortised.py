"""A run whose law, or whose start, a network predicts: the same folder, fewer gradients, exact draws."""

import json
from dataclasses import replace

import pytest
import torch

from credwarp import cli, kernels
from credwarp.errors import InputError, PlanError
from credwarp.files import write_network, write_volume
from credwarp.networks import Network, Unet
from credwarp.networks.examples import generator
from credwarp.phantom import head_grid, pair
from credwarp.plan import Plan
from credwarp.register import Memory, keep_network, register
from credwarp.space import Grid
from pairs import smooth_noise, textured

SHAPE = (16, 16, 16)
SMALL = [
    "optimisation.rounds=2",
    "optimiser.iterations=5",
    "variational.iterations=3",
    "metric.size=81",
    "sampling.chains=2",
    "sampling.draws=12",
    "sampling.thin=2",
    "sampling.warmup=6",
    "sampling.chunk=2",
]


def network(grid: Grid, scale=30.0) -> Network:
    """Untrained, its predictions a few tenths of a voxel."""
    architecture = Unet(channels=(4, 6))
    weights = dict(architecture.init(generator(0)))
    for name in ("mean0.kernel", "mean1.kernel"):
        weights[name] = scale * weights[name]
    return Network(architecture, grid, (0.0, 0.0, 0.0), weights, None, {"mode": "pairwise", "images": 3})


def two():
    """A texture and the same moved by up to a voxel."""
    image = smooth_noise(SHAPE, 1.5, 0, torch.float32)
    warp = 0.6 * smooth_noise((1, 3, *SHAPE), 3.0, 5, torch.float32)
    fixed = kernels.warp(image[None], warp)[0, 0] + 0.1 * smooth_noise(SHAPE, 0.0, 6, torch.float32)
    return replace(textured(SHAPE, torch.float32), fixed=fixed, moving=image)


def given(model: Network | None = None) -> Memory:
    keeper = Memory()
    keep_network(keeper, model or network(two().grid))
    return keeper


def plan(*settings: str) -> Plan:
    return Plan().with_settings([*SMALL, *settings])


def velocities(run) -> torch.Tensor:
    return torch.cat(
        [run.draws.parameters(c, d) for c in range(run.draws.chains) for d in range(run.draws.draws)]
    )


def test_draws_are_of_the_networks_law():
    keeper = given()
    run = register(two(), plan("method=amortised", "sampling.draws=400"), keeper)
    kept = keeper.load("prediction")
    mean, sd = kept.tensors["mean"][0], torch.exp(kept.tensors["log_variance"][0] / 2)
    draws = velocities(run)
    assert float(mean.abs().max()) > 0.1
    # Six standard errors, and draws are kept in half precision.
    assert float(((draws.mean(dim=0) - mean) / sd).abs().max()) < 6 / 400**0.5 + 0.02
    assert float((draws.std(dim=0) / sd - 1).abs().max()) < 6 / 800**0.5 + 0.02
    assert run.facts["prediction"]["seconds"] > 0
    assert set(run.facts) == {"prediction", "draws"}


def test_a_stopped_run_goes_on_to_the_same_draws():
    whole = register(two(), plan("method=amortised"), given())
    keeper = given()
    register(two(), plan("method=amortised", "sampling.draws=4"), keeper)
    assert torch.equal(velocities(register(two(), plan("method=amortised"), keeper)), velocities(whole))


def test_a_finer_pair_gets_a_finer_run():
    images = two()
    finer = replace(images, grid=images.grid)
    coarse = Grid.isotropic((8, 8, 8), 2.0)
    run = register(finer, plan("method=amortised"), given(network(coarse)))
    assert velocities(run).shape[1:] == (3, 8, 8, 8)
    assert not run.facts["prediction"]["exact"]
    assert bool(torch.isfinite(velocities(run)).all())


@pytest.mark.parametrize("method", ["map", "vi", "mcmc"])
def test_every_method_can_start_from_a_network(method):
    whole = register(two(), plan(f"method={method}"))
    started = register(two(), plan(f"method={method}", "optimisation.start=network"), given())
    assert started.total == whole.total
    facts = started.facts["optimum"]
    assert facts["gradients"] < whole.facts["optimum"]["gradients"]
    assert facts["gradients_saved"] == facts["gradients_usual"] - facts["gradients"]


def test_a_search_from_a_perfect_network_ends_where_the_usual_one_does():
    """The network's law is put in place of its prediction: the optimum of the usual search."""
    whole = register(two(), plan("method=map", "optimiser.iterations=20"))
    keeper = given()
    first = plan("method=map", "optimisation.start=network", "optimiser.iterations=20")
    register(two(), first, keeper)
    kept = keeper.stages["prediction"]
    kept.tensors["mean"].copy_(whole.draws.parameters(0, 0))
    del keeper.stages["optimum"], keeper.stages["draws"]
    again = register(two(), first, keeper)
    best = whole.facts["optimum"]["log_densities"][0]
    assert again.facts["optimum"]["log_densities"][0] == pytest.approx(best, abs=2.0)


def test_a_plan_that_needs_a_network_and_has_none_says_so():
    with pytest.raises(InputError, match="--model"):
        register(two(), plan("method=amortised"))
    with pytest.raises(InputError, match="--start"):
        register(two(), plan("optimisation.start=network"))


@pytest.mark.parametrize("settings", [["transform.kind=bspline"], ["coordinates.kind=smoothed"]])
def test_a_network_is_refused_where_its_velocities_have_no_place(settings):
    with pytest.raises(PlanError, match="dense"):
        register(two(), plan("method=amortised", *settings), given())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("heads")
    heads = pair((24, 24, 24), 3)
    for side, scan in (("fixed", heads.fixed), ("moving", heads.moving)):
        write_volume(scan.image, path / f"{side}.nii.gz")
        write_volume(scan.labels, path / f"{side}_labels.nii.gz")
    write_network(path / "model.safetensors", network(head_grid((24, 24, 24)), scale=1.0))
    return path


def registered(folder, out, *words: str) -> int:
    names = ("fixed", "moving")
    labels = [w for side in names for w in (f"--{side}-labels", str(folder / f"{side}_labels.nii.gz"))]
    images = [str(folder / f"{side}.nii.gz") for side in names]
    settings = [w for setting in SMALL for w in ("--set", setting)]
    given_words = [*images, *labels, "-o", str(out), "--init", "header", *settings, *words]
    return cli.run(["--quiet", "register", *given_words])


def test_an_amortised_run_has_the_folder_of_any_other(folder, tmp_path, capsys):
    out, model = tmp_path / "run", str(folder / "model.safetensors")
    assert registered(folder, out, "--method", "amortised", "--model", model) == 0
    assert "approximation" in capsys.readouterr().out
    qc = json.loads((out / "qc.json").read_text())
    assert qc["method"] == "amortised"
    assert qc["gradients"] == 0
    assert len(qc["dice"]) > 5
    for name in ("report.html", "maps/radius95.nii.gz", "labels/labels.csv", "draws.zarr/zarr.json"):
        assert (out / name).exists(), name
    assert len(json.loads((out / "provenance.json").read_text())["network"]["sha256"]) == 64
    assert cli.run(["--quiet", "sample", str(out), "--draws", "20"]) == 0
    assert json.loads((out / "qc.json").read_text())["draws"] == 20


def test_a_started_run_says_what_was_saved(folder, tmp_path):
    out = tmp_path / "run"
    words = ["--method", "map", "--start", str(folder / "model.safetensors")]
    assert registered(folder, out, *words) == 0
    assert json.loads((out / "qc.json").read_text())["gradients_saved"] > 0


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--method", "amortised"], 2),
        (["--model", "MODEL"], 2),
        (["--model", "MODEL", "--start", "MODEL"], 2),
        (["--method", "amortised", "--model", "MODEL/../fixed.nii.gz"], 3),
    ],
)
def test_a_network_in_the_wrong_place_is_one_sentence_and_leaves_nothing(
    folder, tmp_path, words, code, capsys
):
    model = folder / "model.safetensors"
    named = [str(folder / "fixed.nii.gz") if "/.." in w else w.replace("MODEL", str(model)) for w in words]
    assert registered(folder, tmp_path / "run", *named) == code
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert not (tmp_path / "run").exists()


def test_a_cohort_can_be_registered_by_a_network(tmp_path):
    """Without dask: what a worker does for a pair."""
    from cohorts import TINY, cohort
    from credwarp import __version__
    from credwarp.batch.cases import Case
    from credwarp.batch.checks import Choices
    from credwarp.batch.places import Roots
    from credwarp.batch.recognise import OtherRun, recognised
    from credwarp.batch.run import Source
    from credwarp.batch.work import attempt

    source = Source(cohort(tmp_path, 1))
    chosen = Plan().with_settings([*TINY, "method=amortised"])
    good, problems = source.checked(Choices(chosen, (), Roots.of(tmp_path)))
    assert good == []
    assert "--model" in str(problems[0])
    model = tmp_path / "model.safetensors"
    write_network(model, network(Grid.isotropic((12, 12, 12), 2.0), scale=1.0))
    (case,), problems = source.checked(Choices(chosen, (), Roots.of(tmp_path), network=model))
    assert problems == []
    assert Case.from_dict(json.loads(json.dumps(case.to_dict()))) == case
    told = {"kind": "whole", "chain": 0, "threads": 1, "strict": False, "version": __version__}
    task = {"case": case.to_dict(), "out": str(tmp_path / "out"), **told}
    result = attempt(task, lambda news: None, lambda: True)
    assert (result["code"], result["figures"]["draws"]) == (0, 16)
    folder = tmp_path / "out" / case.folder
    assert recognised(case, folder) == "finished"
    write_network(model, network(Grid.isotropic((12, 12, 12), 2.0), scale=2.0))
    with pytest.raises(OtherRun, match="another network"):
        recognised(case, folder)
