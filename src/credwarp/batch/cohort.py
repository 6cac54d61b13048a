"""What a cohort leaves: a table, the same as JSON, and a page; each pair once, whatever happened."""

import csv
import io
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from credwarp import __version__
from credwarp.batch.agenda import Outcome
from credwarp.batch.cases import Case, plain
from credwarp.batch.figures import COLUMNS
from credwarp.batch.page import render
from credwarp.batch.places import inside
from credwarp.files import write_text

FIRST = ("id", "status", "code", "sentence", "folder", "fixed", "moving", "attempts", "seconds")


@dataclass(frozen=True)
class Cohort:
    """Every pair of a table in its order, and how far each is."""

    out: Path
    source: str
    cases: Sequence[Case]

    def write(self, outcomes: Iterable[Outcome]) -> None:
        """All three files, whole or not at all; a pair without outcome is `waiting`."""
        known = {outcome.case.folder: outcome for outcome in outcomes}
        rows = [_row(case, known.get(case.folder)) for case in self.cases]
        facts = {
            "credwarp": __version__,
            "table": self.source,
            "pairs": len(rows),
            "by_status": {
                s: sum(r["status"] == s for r in rows) for s in sorted({r["status"] for r in rows})
            },
        }
        write_text(inside(self.out, "cohort.csv"), _csv(rows))
        write_text(inside(self.out, "cohort.json"), json.dumps({**facts, "rows": rows}, indent=1) + "\n")
        write_text(inside(self.out, "cohort.html"), render(facts, rows))


def describe_dataset(out: Path) -> None:
    """What BIDS wants to know of a folder of derivatives."""
    said = {
        "Name": "credwarp registrations",
        "BIDSVersion": "1.10.0",
        "DatasetType": "derivative",
        "GeneratedBy": [{"Name": "credwarp", "Version": __version__}],
    }
    write_text(inside(out, "dataset_description.json"), json.dumps(said, indent=2) + "\n")


def _row(case: Case, outcome: Outcome | None) -> dict[str, Any]:
    first = {
        "id": plain(case.name),
        "status": "waiting" if outcome is None else outcome.status,
        "code": None if outcome is None else outcome.code,
        "sentence": "" if outcome is None else plain(outcome.sentence),
        "folder": case.folder,
        "fixed": str(case.fixed.image),
        "moving": str(case.moving.image),
        "attempts": 0 if outcome is None else outcome.attempts,
        "seconds": None if outcome is None else round(outcome.seconds, 1),
    }
    figures = {} if outcome is None else outcome.figures
    return first | {name: figures.get(name) for name in COLUMNS}


def _csv(rows: Iterable[dict[str, Any]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow((*FIRST, *COLUMNS))
    for row in rows:
        writer.writerow([_cell(row[name]) for name in (*FIRST, *COLUMNS)])
    return out.getvalue()


def _cell(value: Any) -> object:
    """A spreadsheet takes what begins with one of these for a formula."""
    if isinstance(value, float):
        return f"{value:.6g}"
    text = " ".join(value) if isinstance(value, list) else value
    return f"'{text}" if isinstance(text, str) and text[:1] in "=+-@" and text else text
