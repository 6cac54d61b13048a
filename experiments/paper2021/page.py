"""The page of results: what was run, the verdicts, then each experiment's figures and tables."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from credwarp.files import write_text
from experiments.paper2021.cells import Scale
from experiments.paper2021.claims import claims
from experiments.paper2021.results import Finished, Result
from experiments.paper2021.sections import SECTIONS, beyond
from experiments.paper2021.tables import Table

DPI = 110
# Stages that runs of one pair and law share.
SHARED = ("optimum", "approximation")
INTRODUCTION = """
# The paper's experiments

The five experiments of [Grzech et al. 2021](https://www.melba-journal.org/papers/2021:016.html) and its
table of run times, on data that everyone has. `make paper` runs them and writes this page; every number is
read from the folders of its runs, but for those called *paper*.
"""


def write_page(found: Sequence[Finished], scale: Scale, folder: Path) -> Path:
    """`index.md`, with its figures beside it as PNG and SVG."""
    folder.mkdir(parents=True, exist_ok=True)
    mpl.rcParams.update({"svg.hashsalt": "credwarp", "svg.fonttype": "none"})

    def draw(name: str, figure: Figure, caption: str) -> str:
        figure.savefig(folder / f"{name}.png", dpi=DPI, metadata={"Software": None})
        figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
        return f"![{caption}]({name}.png)\n\n*{caption}* ([SVG]({name}.svg))\n"

    parts = [INTRODUCTION, circumstances(found, scale).markdown(), _verdicts(found)]
    for finished in found:
        experiment = finished.experiment
        parts += [f"## {experiment.title}", f"*The paper: {experiment.shows}.*", _readme(finished)]
        parts += SECTIONS[experiment.name](finished, draw)
    parts += ["## What none of the published tables has", *beyond(found, draw)]
    write_text(folder / "index.md", "\n\n".join(part.strip() for part in parts) + "\n")
    return folder / "index.md"


def circumstances(found: Sequence[Finished], scale: Scale) -> Table:
    """Hardware, data, seeds and time of everything on the page."""
    results = [result for finished in found for result in finished.results]
    known = [result.measured for result in results]
    made = [result.provenance for result in results]
    spacing = " × ".join(f"{h:.2f}" for h in known[0]["spacing"])
    minutes = total_seconds(results) / 60
    rows = (
        ("scale", scale.name),
        ("data", _each(m["source"] for m in known)),
        ("pairs", _each(f"{r.cell.pair}: {r.measured['images']}" for r in results)),
        ("grid", f"{known[0]['voxels']} voxels of {spacing} mm"),
        ("processor", _each(f"`{m['processor']}`" for m in known)),
        ("threads", _each(p["threads"] for p in made)),
        ("credwarp, PyTorch", _each(f"{p['credwarp']}, {p['packages']['torch']}" for p in made)),
        ("seed", _each(r.plan.seed for r in results)),
        ("the paper's VI", _each(_iterations(r) for r in results if _is_papers(r))),
        ("SGLD", _each(_counts(r) for r in results if _is_sgld(r))),
        ("inference", f"{minutes:.1f} minutes for {len({r.folder for r in results})} runs"),
    )
    return Table("How this was run", ("", ""), rows)


def total_seconds(results: Sequence[Result]) -> float:
    """Of all stages; those that runs share count once."""
    spent = {}
    for result in results:
        stem = result.folder.name.rsplit("-", 1)[0]
        for stage, seconds in result.measured["seconds"].items():
            spent[(stem if stage in SHARED else result.folder.name, stage)] = seconds
    return sum(spent.values())


def _verdicts(found: Sequence[Finished]) -> str:
    judged = claims({finished.experiment.name: finished for finished in found})
    rows = tuple((claim.says, f"**{claim.word}**", claim.measured) for claim in judged)
    table = Table("Claims, and what was measured", ("claim", "verdict", "measurement"), rows)
    return f"## What the paper says\n\n{table.markdown()}"


def _readme(found: Finished) -> str:
    """What the experiment's own page says, without its heading."""
    return (found.experiment.folder / "README.md").read_text(encoding="utf-8").split("\n", 1)[1]


def _each(values: Iterable[object]) -> str:
    return "; ".join(dict.fromkeys(str(value) for value in values))


def _is_papers(result: Result) -> bool:
    return result.plan.variational.kind == "diagonal_low_rank"


def _is_sgld(result: Result) -> bool:
    return result.plan.method == "mcmc" and result.plan.sampler.kind == "sgld"


def _iterations(result: Result) -> str:
    return f"at most {result.plan.variational.iterations} iterations"


def _counts(result: Result) -> str:
    sampling = result.plan.sampling
    return (
        f"{sampling.chains} chains, {sampling.warmup} transitions each before draws are kept and "
        f"{result.transitions} after, one in {sampling.thin} kept"
    )
