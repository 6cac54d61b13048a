"""A cohort from its table to its page: checked whole, carried out, written down as it goes."""

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from credwarp.batch.agenda import Agenda
from credwarp.batch.bids import rows_of
from credwarp.batch.cases import Case, Problem
from credwarp.batch.checks import Choices, cases
from credwarp.batch.cohort import Cohort, describe_dataset
from credwarp.batch.engine import News, Order, Show, carry_out
from credwarp.batch.machines import Local, Machines
from credwarp.batch.remote import MB
from credwarp.batch.tables import read_rows
from credwarp.batch.work import Kind
from credwarp.errors import CredwarpError, InputError
from credwarp.files import memory_available

WRITE_EVERY = 20.0
# Of the memory that is free, what a cohort may fill.
SHARE = 0.9


@dataclass(frozen=True)
class Source:
    """A table of pairs, or a BIDS folder with the ending of its images' names and what they go onto."""

    path: Path
    suffix: str = "T1w"
    fixed: Path | None = None

    def checked(self, choices: Choices) -> tuple[list[Case], list[Problem]]:
        """Every pair that is in order, and every problem of the others."""
        if self.path.is_dir():
            return cases(rows_of(self.path.absolute(), self.suffix, self.fixed), choices)
        rows, problems = read_rows(self.path)
        good, more = cases(rows, choices)
        return good, [*problems, *more]


def local(members: Sequence[Case], split: bool, workers: int | None, threads: int | None) -> Local:
    """As many processes as cores, pairs and memory allow, which share the cores."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    room = SHARE * memory_available() / MB
    chains = max(case.plan.sampling.chains for case in members) if split else 1
    largest = max(case.chain_mb if split else case.memory_mb for case in members)
    most = min(cores, len(members) * chains, max(1, int(room // largest)))
    count = most if workers is None else workers
    return Local(count, threads or max(1, cores // count), room)


def begin_folder(out: Path, bids: bool) -> None:
    """The cohort's folder, made or found."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{out} cannot be made a folder ({error.strerror}); choose another.") from None
    if bids:
        describe_dataset(out)


def run(cohort: Cohort, first: Kind, order: Order, machines: Machines, show: Show) -> Agenda:
    """Every pair once; the cohort's files follow now and then, and say at the end what there is."""
    agenda = Agenda.of(cohort.cases, first)
    written = time.monotonic()

    def shown(news: News) -> None:
        nonlocal written
        show(news)
        if first != "look" and time.monotonic() - written > WRITE_EVERY:
            cohort.write(agenda.outcomes.values())
            written = time.monotonic()

    try:
        carry_out(agenda, order, machines, shown)
    except BaseException:
        with suppress(CredwarpError):
            _write(cohort, agenda, first)
        raise
    _write(cohort, agenda, first)
    return agenda


def _write(cohort: Cohort, agenda: Agenda, first: Kind) -> None:
    if first != "look":
        cohort.write(agenda.outcomes.values())
