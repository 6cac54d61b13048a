"""Many pairs: a table or a BIDS folder in, a run per pair and a cohort's page out."""

import logging
import re
from collections import Counter
from dataclasses import dataclass, replace
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from credwarp.cli.examine import Settings
from credwarp.errors import InputError, PlanError

if TYPE_CHECKING:
    from credwarp.batch.agenda import Agenda
    from credwarp.batch.cases import Case
    from credwarp.batch.checks import Choices
    from credwarp.batch.machines import Certificates, Where
    from credwarp.batch.run import Source

log = logging.getLogger("credwarp")


class Split(StrEnum):
    """What one task is."""

    pairs = "pairs"
    chains = "chains"


class Queue(StrEnum):
    """Whose jobs."""

    slurm = "slurm"
    pbs = "pbs"
    sge = "sge"
    lsf = "lsf"
    oar = "oar"


MACHINES, QUEUE, SAFETY = "Machines", "Queueing system", "Safety"
File = Path | None


def batch(
    pairs: Annotated[Path, typer.Argument(help="A table of pairs (CSV or TSV), or a BIDS folder.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The cohort's folder; a run's folder each.")],
    plan: Annotated[File, typer.Option(help="A plan for pairs whose row has none.")] = None,
    settings: Settings = None,
    model: Annotated[File, typer.Option(help="The network of plans that need one.")] = None,
    suffix: Annotated[str, typer.Option(help="BIDS: how names of images end.")] = "T1w",
    fixed: Annotated[File, typer.Option(help="BIDS: what all go onto; else the first session.")] = None,
    bids: Annotated[bool, typer.Option("--bids", help="Name runs sub-…/ses-…/…, as BIDS does.")] = False,
    split: Annotated[Split, typer.Option(help="A task is a pair, or a chain of one.")] = Split.pairs,
    strict: Annotated[bool, typer.Option("--strict", help="A raised flag counts as 6.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Look at every pair, do none.")] = False,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Pairs at once; else as fit.", rich_help_panel=MACHINES)
    ] = None,
    threads: Annotated[
        int | None, typer.Option(min=1, help="Threads of each; draws depend on it.", rich_help_panel=MACHINES)
    ] = None,
    scheduler: Annotated[
        str | None, typer.Option(help="A dask scheduler that runs: tcp://…", rich_help_panel=MACHINES)
    ] = None,
    slurm: Annotated[
        bool, typer.Option("--slurm", help="Same as --queue slurm.", rich_help_panel=QUEUE)
    ] = False,
    queue: Annotated[
        Queue | None, typer.Option(help="Submit workers as jobs.", rich_help_panel=QUEUE)
    ] = None,
    memory: Annotated[
        str | None, typer.Option(help="Of a job, as 8GB; else as forecast.", rich_help_panel=QUEUE)
    ] = None,
    walltime: Annotated[str, typer.Option(help="Of a job.", rich_help_panel=QUEUE)] = "04:00:00",
    partition: Annotated[str | None, typer.Option(help="Where jobs go.", rich_help_panel=QUEUE)] = None,
    account: Annotated[str | None, typer.Option(help="Who pays.", rich_help_panel=QUEUE)] = None,
    directive: Annotated[
        list[str] | None,
        typer.Option(help="A line more for the job's head; repeatable.", rich_help_panel=QUEUE),
    ] = None,
    interface: Annotated[
        str | None, typer.Option(help="The network by which jobs reach this machine.", rich_help_panel=QUEUE)
    ] = None,
    root: Annotated[
        list[Path] | None,
        typer.Option(
            help="A folder the table may point into besides its own; repeatable.", rich_help_panel=SAFETY
        ),
    ] = None,
    tls_ca: Annotated[File, typer.Option(help="Authority, PEM.", rich_help_panel=SAFETY)] = None,
    tls_cert: Annotated[File, typer.Option(help="Certificate, PEM.", rich_help_panel=SAFETY)] = None,
    tls_key: Annotated[File, typer.Option(help="Its key, PEM.", rich_help_panel=SAFETY)] = None,
) -> None:
    """Register many pairs, on this machine or a cluster; repeat the command to go on where it stopped.

    Example: credwarp batch pairs.csv -o cohort
    """
    _refuse_without_dask()
    from credwarp.batch.checks import Choices
    from credwarp.batch.cohort import Cohort
    from credwarp.batch.engine import Order
    from credwarp.batch.places import Roots
    from credwarp.batch.run import Source, begin_folder, run
    from credwarp.cli.arguments import plan_from
    from credwarp.cli.board import watching

    certificates = _certificates(tls_ca, tls_cert, tls_key)
    roots = Roots.of(
        pairs if pairs.is_dir() else pairs.parent, [*(root or ()), *([fixed.parent] if fixed else ())]
    )
    choices = Choices(plan_from(plan, settings), tuple(settings or ()), roots, bids, model)
    members = _checked(Source(pairs, suffix, fixed), choices)
    parted = split is Split.chains
    size = _Size(workers, threads, memory, parted)
    kind = Queue.slurm if slurm else queue
    job = _Job(walltime, interface, partition, account, tuple(directive or ()))
    where = _where(members, scheduler, kind, size, job, certificates)
    if not dry_run:
        begin_folder(output, bids)
    order = Order(output.absolute(), getattr(where, "threads", None) or threads or 1, strict)
    first: Literal["look", "warm", "whole"] = "look" if dry_run else "warm" if parted else "whole"
    with where.opened() as machines, watching(len(members)) as show:
        log.info("%d pairs; dashboard: %s", len(members), machines.dashboard)
        agenda = run(Cohort(output, pairs.name, members), first, order, machines, show)
    _told(agenda, output, dry_run)


@dataclass(frozen=True)
class _Size:
    """Of the workers."""

    workers: int | None
    threads: int | None
    memory: str | None
    parted: bool


@dataclass(frozen=True)
class _Job:
    """What a queueing system wants to know."""

    walltime: str
    interface: str | None
    partition: str | None
    account: str | None
    directives: tuple[str, ...]


def _checked(source: "Source", choices: "Choices") -> "list[Case]":
    """All pairs, or every problem there is and nothing done."""
    members, problems = source.checked(choices)
    for problem in problems:
        log.error("%s", problem)
    if problems:
        rows = len({problem.where for problem in problems})
        raise InputError(
            f"{source.path} has {len(problems)} problems in {rows} of {rows + len(members)} rows; mend them "
            "and repeat the command: nothing was done."
        )
    return members


def _where(
    members: "list[Case]",
    scheduler: str | None,
    queue: Queue | None,
    size: _Size,
    job: _Job,
    certificates: "Certificates | None",
) -> "Where":
    from credwarp.batch.machines import Existing, Jobs
    from credwarp.batch.run import local

    if scheduler is not None and queue is not None:
        raise PlanError("a --scheduler has workers already; leave the queueing system out, or the scheduler.")
    if scheduler is not None:
        return Existing(scheduler, certificates)
    if queue is None:
        return replace(local(members, size.parted, size.workers, size.threads), certificates=certificates)
    if size.workers is None or job.interface is None:
        raise PlanError(
            f"{queue.value} needs --workers, how many jobs to submit, and --interface, the network by "
            "which they reach this machine, such as ib0 or eth0."
        )
    needed = 1.25 * max(case.chain_mb if size.parted else case.memory_mb for case in members)
    return Jobs(
        queue.value, size.workers, size.threads or 1, _megabytes(size.memory) if size.memory else needed,
        job.walltime, job.interface, job.partition, job.account, job.directives, certificates,
    )  # fmt: skip


def _certificates(authority: File, certificate: File, key: File) -> "Certificates | None":
    from credwarp.batch.machines import Certificates

    if authority is None and certificate is None and key is None:
        return None
    if authority is None or certificate is None or key is None:
        raise PlanError("TLS needs all three of --tls-ca, --tls-cert and --tls-key.")
    for path in (authority, certificate, key):
        if not path.is_file():
            raise InputError(f"{path} is no file; give certificates and keys as PEM.")
    return Certificates(authority, certificate, key)


def _told(agenda: "Agenda", output: Path, dry: bool) -> None:
    """The counts, the failures again, where to look; the exit code of the worst."""
    outcomes = agenda.outcomes.values()
    for outcome in outcomes:
        if outcome.status == "failed":
            typer.echo(f"{outcome.case.name}: failed after {outcome.attempts} attempts: {outcome.sentence}")
    counts = Counter(outcome.figures.get("state", outcome.status) for outcome in outcomes)
    typer.echo(", ".join(f"{count} {status}" for status, count in sorted(counts.items())) + ".")
    if not dry:
        typer.echo(f"{output / 'cohort.html'}")
    if agenda.code:
        raise typer.Exit(agenda.code)


def _megabytes(text: str) -> float:
    found = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(MB|GB|MiB|GiB|M|G)\s*", text)
    if found is None:
        raise PlanError(f"the memory {text!r} is no size; write one such as 8GB.")
    units = {"M": 1.0, "MB": 1.0, "MiB": 1.048576, "G": 1e3, "GB": 1e3, "GiB": 1073.741824}
    return float(found[1]) * units[found[2]]


def _refuse_without_dask() -> None:
    missing = [name for name in ("distributed", "dask_jobqueue") if find_spec(name) is None]
    if missing:
        raise PlanError(
            f"credwarp batch needs dask, of which {' and '.join(missing)} is not installed; "
            "install it by `pip install 'credwarp[batch]'`."
        )
