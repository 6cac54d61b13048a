"""`python -m experiments.paper2021`: run the experiments, then write the page of results."""

import argparse
import logging
import sys
from pathlib import Path

from credwarp.errors import CredwarpError, InputError
from experiments.paper2021 import cells, subjects
from experiments.paper2021.network import Trained, trained
from experiments.paper2021.page import write_page
from experiments.paper2021.results import Finished, Result
from experiments.paper2021.running import Desk


def main(arguments: list[str] | None = None) -> int:
    """The exit code."""
    chosen = _parser().parse_args(arguments)
    logging.getLogger("credwarp").setLevel(logging.ERROR)
    try:
        _run(chosen)
    except CredwarpError as error:
        _say(f"error: {error}")
        return error.exit_code
    return 0


def _run(chosen: argparse.Namespace) -> None:
    scale = cells.Scale.read(chosen.scale)
    output = Path(chosen.output)
    if chosen.data:
        source = subjects.cohort(scale, Path(chosen.data))
    else:
        source = subjects.demo(scale, output / "subjects")
    wanted = [e for e in cells.experiments(scale.also(source.settings)) if chosen.only in ("", e.number)]
    if not wanted:
        known = ", ".join(e.number for e in cells.experiments(scale))
        raise InputError(f"there is no experiment {chosen.only}; the experiments are {known}.")

    def network() -> Trained:
        return Trained(Path(chosen.model)) if chosen.model else trained(source, scale, output / "network")

    desk = Desk(output, source, network, _say)
    found = [Finished(e, tuple(Result(cell, desk.run(cell)) for cell in e.cells)) for e in wanted]
    page = write_page(found, scale, Path(chosen.page or output / "page"))
    _say(f"the results are in {page}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m experiments.paper2021", description=__doc__)
    parser.add_argument("--scale", choices=("full", "small", "smoke"), default="small")
    parser.add_argument("--output", required=True, help="folder of runs; what is there is not run again")
    parser.add_argument("--only", default="", metavar="N", help="one experiment: 1, 1b, 3, 4, 5 or runtime")
    parser.add_argument("--data", default="", help="folder with real pairs; generated heads without it")
    parser.add_argument(
        "--model", default="", help="a network of `credwarp train`; one is trained without it"
    )
    parser.add_argument("--page", default="", help="where the results page goes; OUTPUT/page without it")
    return parser


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
