"""What a pair's folder holds already, told by provenance: the inputs' hashes, the plan, the version."""

import json
from pathlib import Path
from typing import Any, Literal, TypeAlias

from credwarp import __version__
from credwarp.batch.cases import Case
from credwarp.errors import InputError
from credwarp.files import digest

State: TypeAlias = Literal["new", "begun", "finished"]
LANDMARKS = "landmarks.csv"


class OtherRun(InputError):
    """A folder holds the run of something else, which is not written over."""


def recognised(case: Case, folder: Path) -> State:
    """How far the pair is; refused where the folder holds a run of other files, another plan or version."""
    try:
        plan = (folder / "plan.toml").read_text(encoding="utf-8")
    except FileNotFoundError:
        return "new"
    facts = _json(folder / "provenance.json")
    differing = [what for what, same in _compared(case, plan, facts).items() if not same]
    if differing:
        raise OtherRun(
            f"{folder} holds a run of {' and '.join(differing)}; move it away, or give the pair another id."
        )
    return "finished" if _finished(case, folder) else "begun"


def is_whole(folder: Path) -> bool:
    """Whether a run has come to its end: figures and report are what it writes last."""
    return all((folder / name).exists() for name in ("plan.toml", "qc.json", "report.html"))


def landmarks_mark(path: Path) -> str:
    """What is written beside carried landmarks, by which they are known again."""
    return f"points of fixed ({path.name}, SHA-256 {digest(path)}) in the moving image"


def _compared(case: Case, plan: str, facts: Any) -> dict[str, bool]:
    """By what makes a run another one."""
    then = {
        f"{side}_{part}": facts.get(side if part == "image" else f"{side}_{part}", {}).get("sha256")
        for side in ("fixed", "moving")
        for part in ("image", "mask", "labels")
    }
    now = {
        f"{side}_{part}": digest(path)
        for side, subject in (("fixed", case.fixed), ("moving", case.moving))
        for part, path in subject.files.items()
    }
    return {
        "other images, masks or labels": now == {name: mark for name, mark in then.items() if mark},
        "another plan": plan == case.plan.to_toml(),
        "another network": (None if case.network is None else digest(case.network))
        == facts.get("network", {}).get("sha256"),
        f"another version ({facts.get('credwarp')}, here {__version__})": facts.get("credwarp")
        == __version__,
    }


def _finished(case: Case, folder: Path) -> bool:
    if not is_whole(folder):
        return False
    if case.landmarks is None:
        return True
    try:
        said = (folder / LANDMARKS).read_text(encoding="utf-8")
    except OSError:
        return False
    return landmarks_mark(case.landmarks) in said


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
