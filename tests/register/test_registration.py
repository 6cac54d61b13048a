"""A registration goes through its stages, every choice of its plan works, and stopping it changes nothing."""

from dataclasses import dataclass, field, replace

import pytest
import torch

from credwarp import kernels
from credwarp.errors import InputError, PlanError
from credwarp.files import PAIR, FolderKeeper, open_run, write_pair, write_text
from credwarp.plan import Plan
from credwarp.register import Memory, diagnose, register, reopen
from credwarp.register.targets import bound
from credwarp.register.track import Tracker
from pairs import smooth_noise, textured

SMALL = [
    "optimisation.levels=[2, 1]",
    "optimisation.rounds=1",
    "optimiser.iterations=5",
    "variational.iterations=3",
    "metric.size=81",
    "sampling.chains=2",
    "sampling.draws=12",
    "sampling.thin=2",
    "sampling.warmup=6",
    "sampling.chunk=2",
]
PAPER = [
    "coordinates.kind=smoothed",
    "variational.kind=diagonal_low_rank",
    "variational.iterations=6",
    "variational.window=2",
    "sampler.kind=sgld",
    "prior.kind=lognormal",
    "hyper.kind=saem",
    *(s for s in SMALL if not s.startswith("variational")),
]


def pair(sides: int = 12):
    """A texture and the same moved by up to a voxel, with two labels."""
    shape = (sides, sides, sides)
    image = smooth_noise(shape, 1.5, 0, torch.float32)
    warp = 0.6 * smooth_noise((1, 3, *shape), 3.0, 5, torch.float32)
    fixed = kernels.warp(image[None], warp)[0, 0] + 0.1 * smooth_noise(shape, 0.0, 6, torch.float32)
    labels = torch.zeros(shape, dtype=torch.int64)
    labels[3:6, 3:9, 3:9], labels[6:9, 3:9, 3:9] = 7, 3
    return replace(textured(shape, torch.float32), fixed=fixed, moving=image, fixed_labels=labels)


def small(*settings: str) -> Plan:
    return Plan().with_settings([*SMALL, *settings])


@dataclass(eq=False)
class Failing(Memory):
    """Ends the run when something is kept for the n-th time, before it is kept."""

    left: int = 0
    saved: list[str] = field(default_factory=list)

    def save(self, stage, kept):
        if self.left == 0:
            raise KeyboardInterrupt
        self.left -= 1
        self.saved.append(stage)
        super().save(stage, kept)


def velocities(run) -> torch.Tensor:
    return torch.stack(
        [run.draws.parameters(c, d)[0] for c in range(run.draws.chains) for d in range(run.draws.draws)]
    )


@pytest.mark.parametrize("method", ["map", "vi", "mcmc"])
def test_every_method_gives_a_run_with_draws(method):
    run = register(pair(), small(f"method={method}"))
    assert run.total == (1 if method == "map" else 12)
    assert bool(torch.isfinite(velocities(run)).all())
    assert set(run.facts) >= {"optimum", "draws"}
    assert run.series["displacement"].shape == (run.draws.chains, run.draws.draws, 300)
    assert run.series["structure"].shape[2] == 6


@pytest.mark.parametrize(
    "settings",
    [
        ["metric.kind=rough"],
        ["metric.kind=full"],
        ["sampler.kind=sgld"],
        ["sampler.kind=hmc"],
        ["transform.kind=bspline"],
        ["likelihood.kind=gaussian"],
        ["optimiser.kind=newton", "optimiser.iterations=2"],
        ["hyper.kind=evidence", "hyper.iterations=2"],
        ["sampling.start=identity"],
        ["sampling.start=noise"],
        ["prior.kind=gaussian"],
        ["prior.kind=lognormal", "hyper.kind=saem"],
        ["prior.kind=gamma", "hyper.kind=saem"],
    ],
    ids=" ".join,
)
def test_every_choice_of_the_plan_runs(settings):
    run = register(pair(), small(*settings))
    assert run.total == 12
    assert bool(torch.isfinite(velocities(run)).all())


@pytest.mark.parametrize("start", ["approximation", "identity", "noise"])
def test_the_papers_own_inference_runs_from_each_of_its_starts(start):
    run = register(pair(), Plan().with_settings([*PAPER, f"sampling.start={start}"]))
    assert run.total == 12
    found = velocities(run)
    assert bool(torch.isfinite(found).all())
    assert bool((found.diff(dim=0) != 0).flatten(1).any(dim=1).all())


def test_the_hyperparameters_stay_where_they_are_once_draws_are_kept():
    run = register(pair(), small("hyper.kind=saem", "sampling.warmup=20", "prior.kind=lognormal"))
    start = bound(run.pair, run.plan).init(torch.zeros((1, 3, 6, 6, 6)))
    assert not torch.allclose(
        run.hyper.chain(0).likelihood["log_precision"], start.likelihood["log_precision"]
    )
    again = Memory()
    assert register(pair(), run.plan, again).hyper.likelihood["alpha"] == run.hyper.likelihood["alpha"]


def test_the_same_plan_gives_the_same_draws_bit_for_bit_and_another_seed_others():
    first, second = (velocities(register(pair(), small())) for _ in range(2))
    assert torch.equal(first, second)
    assert not torch.equal(first, velocities(register(pair(), small("seed=1"))))


@pytest.mark.parametrize("stopped", range(6))
def test_a_run_that_was_stopped_anywhere_goes_on_to_the_same_draws(stopped):
    whole = register(pair(), small())
    keeper = Failing(left=stopped)
    with pytest.raises(KeyboardInterrupt):
        register(pair(), small(), keeper)
    keeper.left = 100
    assert torch.equal(velocities(register(pair(), small(), keeper)), velocities(whole))


@pytest.mark.parametrize("stopped", [2, 3])
def test_variational_draws_go_on_too(stopped):
    whole = register(pair(), small("method=vi"))
    keeper = Failing(left=stopped)
    with pytest.raises(KeyboardInterrupt):
        register(pair(), small("method=vi"), keeper)
    keeper.left = 100
    assert torch.equal(velocities(register(pair(), small("method=vi"), keeper)), velocities(whole))


def test_more_draws_go_on_from_the_last_one():
    keeper = Memory()
    register(pair(), small(), keeper)
    more = register(pair(), small("sampling.draws=20"), keeper)
    whole = register(pair(), small("sampling.draws=20"))
    assert torch.equal(velocities(more), velocities(whole))


def test_a_folder_keeps_a_run_as_memory_does(tmp_path):
    (tmp_path / "state").mkdir()
    plan, images = small(), pair()
    write_text(tmp_path / "plan.toml", plan.to_toml())
    write_pair(tmp_path / PAIR, images)
    held = register(images, plan)
    stored = register(images, plan, FolderKeeper(tmp_path))
    opened = open_run(tmp_path)
    assert torch.equal(velocities(stored), velocities(held))
    assert torch.equal(velocities(opened), velocities(held))
    assert opened.transform.squarings == held.transform.squarings
    assert opened.plan == plan
    for name, values in held.series.items():
        assert torch.equal(opened.series[name], values), name
    for name in ("fixed", "moving", "fixed_mask", "fixed_labels"):
        assert torch.equal(getattr(opened.pair, name), getattr(images, name))


def test_draws_on_disk_open_as_arviz_lays_them_out(tmp_path):
    import xarray

    (tmp_path / "state").mkdir()
    register(pair(), small(), FolderKeeper(tmp_path))
    tree = xarray.open_datatree(tmp_path / "draws.zarr", engine="zarr", consolidated=False)
    velocity = tree["posterior"]["velocity"]
    assert velocity.dims[:2] == ("chain", "draw")
    assert velocity.shape == (2, 6, 3, 6, 6, 6)
    assert velocity.dtype == "float16"
    assert tree["sample_stats"]["lp"].shape == (2, 6)
    assert list(tree["posterior"]["draw"].values) == list(range(6))


def test_a_run_without_draws_says_so():
    with pytest.raises(InputError, match="no draws yet"):
        reopen(pair(), small(), Memory())


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (["coordinates.kind=smoothed"], "variational.kind"),
        (["coordinates.kind=smoothed", "variational.kind=diagonal_low_rank"], "sampler.kind"),
        (["hyper.kind=evidence", "prior.kind=lognormal"], "lognormal"),
    ],
)
def test_choices_that_do_not_go_together_are_one_sentence(settings, words):
    with pytest.raises(PlanError, match=words):
        register(pair(), Plan().with_settings(settings))


def test_the_verdict_is_that_of_the_worst_functional():
    run = register(pair(), small("sampling.draws=40"))
    tracker = Tracker.of(bound(run.pair, run.plan), run.hyper.prior, run.pair, run.plan.seed)
    series = dict(run.series)
    found = diagnose(series, tracker.names, run.plan.quality)
    assert len(found.names) == found.mixing.rhat.numel() == 300 + 6 + 50 + 2
    assert not found.converged
    still = torch.randn((4, 400, 300), generator=torch.Generator().manual_seed(0))
    good = diagnose({"displacement": still}, tracker.names, run.plan.quality)
    assert good.converged
    still[0, :, 5] += 2
    bad = diagnose({"displacement": still}, tracker.names, run.plan.quality)
    assert not bad.converged
    assert bad.worst == "displacement[5]"
