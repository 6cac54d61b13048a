"""A run whose chains are drawn by several processes, stage by stage, in a folder that `begin` has filled."""

import shutil
from pathlib import Path

from credwarp.files import PAIR, FolderKeeper, read_pair, read_plan
from credwarp.plan import Plan
from credwarp.register import Watch, bring_together, draw_chain, unwatched, warmed
from credwarp.workflow.lock import alone


def warm_up(folder: Path, watch: Watch = unwatched) -> int:
    """Everything before the draws; how many chains can then be drawn apart, 0 if the run goes on in one."""
    plan, keeper = _plan(folder), FolderKeeper(folder)
    if plan.method != "mcmc" or keeper.load("draws") is not None:
        return 0
    with alone(folder):
        warmed(read_pair(folder / PAIR), plan, keeper, watch)
    return plan.sampling.chains


def draw_apart(folder: Path, chain: int, watch: Watch = unwatched) -> None:
    """One chain to its end, in a folder of its own inside the run's."""
    place = _part(folder, chain)
    (place / "state").mkdir(parents=True, exist_ok=True)
    with alone(place):
        pair = read_pair(folder / PAIR)
        draw_chain(pair, _plan(folder), chain, FolderKeeper(folder), FolderKeeper(place), watch)


def join(folder: Path) -> None:
    """All chains as the run's own draws; `complete` then has nothing left to draw."""
    plan, keeper = _plan(folder), FolderKeeper(folder)
    with alone(folder):
        if keeper.load("draws") is None:
            parts = [FolderKeeper(_part(folder, chain)) for chain in range(plan.sampling.chains)]
            bring_together(plan, parts, keeper)
        shutil.rmtree(folder / "state" / "chains", ignore_errors=True)


def _plan(folder: Path) -> Plan:
    return read_plan(folder / "plan.toml")


def _part(folder: Path, chain: int) -> Path:
    return folder / "state" / "chains" / str(chain)
