"""Rows made cases, all of them before anything runs: every problem is found, none stops the search."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeVar

from credwarp.batch.bids import entities
from credwarp.batch.cases import Case, Problem, Row, plain, shown
from credwarp.batch.places import Roots, folder_name
from credwarp.batch.tables import FILES
from credwarp.errors import CredwarpError, InputError, PlanError
from credwarp.files import grid_of, read_network, read_plan, read_points
from credwarp.plan import Plan
from credwarp.register import refuse_contradictions
from credwarp.space import Grid, working_grid
from credwarp.workflow import Subject, memory_mb

Found = TypeVar("Found")


@dataclass(frozen=True)
class Choices:
    """What holds for all rows: the plan where a row has none, changes to every plan, folders, BIDS' names.

    `network` is that of every plan which needs one.
    """

    plan: Plan
    settings: tuple[str, ...]
    roots: Roots
    bids: bool = False
    network: Path | None = None


def cases(rows: Sequence[Row], choices: Choices) -> tuple[list[Case], list[Problem]]:
    """The rows that are in order, and everything that is wrong with the others."""
    look, names = _Look(choices), _Names()
    # Ids that were given come before names that are made up, whichever row is first.
    for row in sorted(rows, key=lambda row: "id" not in row.cells):
        look.tried(row, partial(names.take, row, choices.bids))
    good = [case for row in rows if (case := look.case(row, names.of.get(row.where, ""))) is not None]
    order = {row.where: place for place, row in enumerate(rows)}
    return good, sorted(look.problems, key=lambda problem: order[problem.where])


@dataclass(eq=False)
class _Names:
    """Which row has which folder; folders that differ in capitals only are the same on some disks."""

    of: dict[str, str] = field(default_factory=dict)
    taken: dict[str, str] = field(default_factory=dict)

    def take(self, row: Row, bids: bool) -> None:
        """The folder of the row's id, or of its files' names, marked where another row has those too."""
        folder = folder_name(row.cells.get("id") or f"{_stem(row, 'moving')}_to_{_stem(row, 'fixed')}")
        if "id" not in row.cells and folder.casefold() in self.taken:
            mark = "\n".join(row.cells.get(name, "") for name in ("fixed", "moving", "plan"))
            folder = f"{folder}-{hashlib.sha256(mark.encode()).hexdigest()[:8]}"
        other = self.taken.setdefault(folder.casefold(), row.where)
        if other != row.where:
            said = f"the id '{shown(row.cells['id'])}'" if "id" in row.cells else "the row"
            raise InputError(
                f"{said} has the folder {folder}, which {other} has already; give it another id."
            )
        self.of[row.where] = f"{_bids_folder(row)}/{folder}" if bids else folder


@dataclass(eq=False)
class _Look:
    """Files that were looked at, each once however many rows name it, and what was found wrong."""

    choices: Choices
    problems: list[Problem] = field(default_factory=list)
    wrong: set[str] = field(default_factory=set)
    seen: dict[tuple[str, Path], object] = field(default_factory=dict)
    sizes: dict[tuple[object, ...], tuple[float, float]] = field(default_factory=dict)

    def case(self, row: Row, folder: str) -> Case | None:
        """The row as a case, if nothing is wrong with it."""
        plan = self.tried(row, lambda: self._plan(row))
        paths = {name: self.tried(row, partial(self._file, row, name)) for name in FILES}
        fixed, moving = paths["fixed"], paths["moving"]
        if plan is None or fixed is None or moving is None:
            return None
        network = self.tried(row, lambda: self._network(plan))
        memory = self.tried(row, lambda: self._memory(fixed, plan))
        if memory is None or row.where in self.wrong:
            return None
        return Case(
            name=row.cells.get("id", folder.rsplit("/", 1)[-1]),
            folder=folder,
            fixed=Subject(fixed, paths["fixed_mask"], paths["fixed_labels"]),
            moving=Subject(moving, paths["moving_mask"], paths["moving_labels"]),
            landmarks=paths["landmarks"],
            plan=plan,
            memory_mb=memory[0],
            chain_mb=memory[1],
            network=network,
        )

    def tried(self, row: Row, work: Callable[[], Found]) -> Found | None:
        """What the work finds, or nothing and a problem more."""
        try:
            return work()
        except CredwarpError as failure:
            self.problems.append(Problem(row.where, plain(str(failure))))
            self.wrong.add(row.where)
            return None

    def _file(self, row: Row, name: str) -> Path | None:
        if name not in row.cells:
            if name in ("fixed", "moving"):
                raise InputError(f"has no {name} image; name its file.")
            return None
        try:
            path = self.choices.roots.find(row.cells[name])
            self._once(name, path, read_points if name == "landmarks" else grid_of)
        except CredwarpError as failure:
            raise InputError(f"{name}: {failure}") from None
        return path

    def _plan(self, row: Row) -> Plan:
        if "plan" not in row.cells:
            return self.choices.plan
        try:
            return self._once("plan", self.choices.roots.find(row.cells["plan"]), self._changed)
        except CredwarpError as failure:
            raise PlanError(f"plan: {failure}") from None

    def _changed(self, path: Path) -> Plan:
        plan = read_plan(path).with_settings(self.choices.settings)
        refuse_contradictions(plan)
        return plan

    def _network(self, plan: Plan) -> Path | None:
        path = self.choices.network
        if not plan.needs_network:
            return None
        if path is None:
            raise PlanError("plan: it needs a trained network; name its file with --model.")
        self._once("network", path, read_network)
        return path.absolute()

    def _memory(self, fixed: Path, plan: Plan) -> tuple[float, float]:
        """Of all chains in one process, and of one chain alone."""
        grid: Grid = self._once("fixed", fixed, grid_of)
        key = (grid.shape, grid.spacing, id(plan))
        if key not in self.sizes:
            spacing = None if plan.preparation.spacing == "fixed" else plan.preparation.spacing
            working = working_grid(grid, spacing)
            self.sizes[key] = (
                memory_mb(working, plan, plan.sampling.chains),
                memory_mb(working, plan, 1),
            )
        return self.sizes[key]

    def _once(self, kind: str, path: Path, look: Callable[[Path], Found]) -> Found:
        """What looking at a file gives, the failure too."""
        key = (look.__name__, path)
        if key not in self.seen:
            try:
                self.seen[key] = look(path)
            except CredwarpError as failure:
                self.seen[key] = failure
        found = self.seen[key]
        if isinstance(found, CredwarpError):
            raise found
        return found  # type: ignore[return-value]


def _stem(row: Row, side: str) -> str:
    name = row.cells.get(side, "").replace("\\", "/").rsplit("/", 1)[-1]
    return name.split(".")[0] or side


def _bids_folder(row: Row) -> str:
    found = entities(Path(row.cells.get("moving", "")).name)
    if "sub" not in found:
        raise InputError(
            "the moving image's name has no sub- entity; name it as BIDS does, or leave --bids out."
        )
    session = f"/ses-{found['ses']}" if "ses" in found else ""
    return f"sub-{found['sub']}{session}"
