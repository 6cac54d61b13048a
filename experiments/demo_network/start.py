"""Chains that start from a network's output against chains that start as usual: the same posterior?

python -m experiments.demo_network.start --model demo.safetensors [--draws 400]
"""

import argparse
import logging
import statistics
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table

from credwarp.affine import align
from credwarp.files import read_network
from credwarp.networks import Network
from credwarp.phantom import pair
from credwarp.plan import Plan
from credwarp.register import Memory, Run, diagnose, keep_network, register
from credwarp.register.targets import bound
from credwarp.register.track import Tracker
from credwarp.space import Pair, prepare
from experiments.demo_network.__main__ import FIRST_PAIR, SIZE

WAYS = {
    "usual, 2 starts": (),
    "usual, 1 start": ("optimisation.starts=1",),
    "network": ("optimisation.start=network",),
}
USUAL, OURS = "usual, 2 starts", "network"


def main() -> None:
    """One pair, three ways, a row each; then the distance of the first and the last."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--model", type=Path, default=Path("demo.safetensors"))
    words.add_argument("--draws", type=int, default=400)
    given = words.parse_args()
    logging.getLogger("credwarp").setLevel(logging.WARNING)
    heads = pair((SIZE,) * 3, FIRST_PAIR)
    images = prepare(heads.fixed, heads.moving, align(heads.fixed.image, heads.moving.image).affine)
    network = read_network(given.model)
    runs = {way: chains(images, network, settings, given.draws) for way, settings in WAYS.items()}
    table = Table(
        "start", "gradients of the search", "search (s)", "optimum's log-density", "R-hat", "least ESS"
    )
    for way, run in runs.items():
        facts, mixing = run.facts["optimum"], diagnosis(run)[0]
        table.add_row(
            way, str(facts["gradients"]), f"{facts['seconds']:.1f}", f"{facts['log_densities'][0]:.1f}",
            f"{float(mixing.rhat.max()):.3f}", f"{float(mixing.ess_bulk.min()):.0f}",
        )  # fmt: skip
    Console(width=120).print(table)
    compared(runs[USUAL], runs[OURS])


def chains(images: Pair, network: Network, settings: tuple[str, ...], draws: int) -> Run:
    """Four chains."""
    keeper = Memory()
    keep_network(keeper, network)
    return register(images, Plan().with_settings([f"sampling.draws={draws}", *settings]), keeper)


def diagnosis(run: Run) -> tuple:
    """How functionals mixed, and their means over all draws."""
    tracker = Tracker.of(bound(run.pair, run.plan), run.hyper.prior, run.pair, run.plan.seed)
    found = diagnose(run.series, tracker.names, run.plan.quality)
    values = torch.cat([run.series[kind].to(torch.float64) for kind in found.kinds], dim=2)
    return found.mixing, values.mean(dim=(0, 1)), values.std(dim=(0, 1)), found.names


def compared(usual: Run, ours: Run) -> None:
    """Means of the displacements, structures and modes both track, apart by how many standard errors."""
    (mixing, mean, sd, names), (other, there, _, _) = diagnosis(usual), diagnosis(ours)
    where = torch.tensor([n.startswith(("displacement", "structure", "mode")) for n in names])
    error = (mixing.mean_error.square() + other.mean_error.square()).sqrt()
    scores = ((mean - there) / error)[where]
    apart = ((mean - there).abs() / sd)[where]
    squared = float(scores.square().mean())
    Console().print(
        f"{int(where.sum())} means: rms distance {squared**0.5:.2f} Monte-Carlo standard errors (1 if the "
        f"posterior is the same), {100 * float((scores.abs() > 3).double().mean()):.1f} % beyond 3; "
        f"{statistics.median(apart.tolist()):.3f} posterior SDs typically."
    )
    facts = ours.facts["optimum"]
    least = usual.facts["optimum"]["gradients"]
    Console().print(
        f"gradients of the search: {facts['gradients']} from the network, {least} as usual, "
        f"{least - facts['gradients']} saved (forecast: {facts['gradients_saved']})."
    )


if __name__ == "__main__":
    main()
