"""What a worker does for a pair: look, go on from where it is, say how it ended; plain values in and out."""

import json
import logging
import os
import socket
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias

from credwarp import __version__
from credwarp.batch.cases import Case
from credwarp.batch.figures import figures
from credwarp.batch.places import inside, refuse_links
from credwarp.batch.recognise import LANDMARKS, OtherRun, is_whole, landmarks_mark, recognised
from credwarp.batch.watch import Abandoned, Tell, Watch, telling
from credwarp.errors import Busy, CredwarpError, InputError, PlanError
from credwarp.files import Ellipsoids, open_run, read_points, write_points
from credwarp.propagate import points
from credwarp.report import verdict
from credwarp.workflow import (
    NOT_CONVERGED,
    begin,
    code_of,
    complete,
    compute_on,
    draw_apart,
    join,
    logging_to,
    threads_of,
    warm_up,
)

log = logging.getLogger("credwarp")

Kind: TypeAlias = Literal["look", "whole", "warm", "chain", "join"]
Result: TypeAlias = dict[str, Any]
OUT_OF_MEMORY, DEFECT = 5, 1
# How long a folder may be locked by a process that has lost its scheduler and not noticed yet.
PATIENCE, PAUSE = 90.0, 1.0


def attempt(task: Mapping[str, Any], tell: Tell, wanted: Callable[[], bool]) -> Result:
    """Do one task of a cohort; whatever goes wrong is a result with a sentence, and no exception.

    `tell` is given the stage now and then; the task ends as soon as it is no longer `wanted`.
    """
    since, case = time.monotonic(), Case.from_dict(task["case"])
    result: Result
    try:
        _refuse_another_version(task["version"])
        folder = inside(Path(task["out"]), case.folder)
        result = _look(case, folder) if task["kind"] == "look" else _work(task, case, folder, tell, wanted)
    except Abandoned:
        result = {"status": "abandoned", "code": DEFECT, "sentence": "nobody waits for it.", "again": False}
    except CredwarpError as failure:
        hopeless = isinstance(failure, OtherRun | PlanError)
        result = {
            "status": "failed",
            "code": failure.exit_code,
            "sentence": str(failure),
            "again": not hopeless,
        }
    except MemoryError:
        result = {
            "status": "failed",
            "code": OUT_OF_MEMORY,
            "sentence": "there was not enough memory.",
            "again": True,
        }
    except Exception as failure:  # noqa: BLE001  no traceback reaches a user: the pair's log has it
        said = " ".join(str(failure).split())[:300]
        sentence = f"a defect in credwarp: {type(failure).__name__}: {said}; its log has more."
        result = {"status": "failed", "code": DEFECT, "sentence": sentence, "again": True}
    where = f"{socket.gethostname()}:{os.getpid()}"
    return {"figures": {}, "sentence": ""} | result | {"seconds": time.monotonic() - since, "where": where}


def _look(case: Case, folder: Path) -> Result:
    """What there is, without touching it."""
    state = recognised(case, folder)
    if state == "finished":
        return _ended(folder, strict=False)
    return {
        "status": "seen",
        "code": 0,
        "sentence": f"{state}, {case.memory_mb:,.0f} MB of memory.",
        "figures": {"state": state},
    }


def _work(
    task: Mapping[str, Any], case: Case, folder: Path, tell: Tell, wanted: Callable[[], bool]
) -> Result:
    (folder / "state").mkdir(parents=True, exist_ok=True)
    refuse_links(folder)
    with logging_to(folder / "log.jsonl"), telling():
        watch = Watch(case.name, tell, wanted)
        until = time.monotonic() + PATIENCE
        while True:
            try:
                return _step(task, case, folder, watch)
            except Busy:
                if time.monotonic() > until:
                    raise
                watch.refuse_unwanted()
                time.sleep(PAUSE)


def _step(task: Mapping[str, Any], case: Case, folder: Path, watch: Watch) -> Result:
    kind: Kind = task["kind"]
    state = recognised(case, folder)
    if state == "finished":
        return _ended(folder, task["strict"])
    compute_on(task["threads"] if state == "new" else threads_of(folder))
    log.info("%s: %s by %s, process %d.", kind, state, socket.gethostname(), os.getpid())
    if state == "new":
        begin(case.request, case.plan, folder)
    if kind == "chain":
        draw_apart(folder, task["chain"], watch)
        return {"status": "part", "code": 0, "chains": 0}
    if kind == "warm":
        chains = warm_up(folder, watch)
        if chains > 1:
            return {"status": "part", "code": 0, "chains": chains}
    if kind == "join":
        join(folder)
    if not is_whole(folder):
        complete(folder, watch, task["strict"])
    if case.landmarks is not None:
        _carry(case.landmarks, folder)
    _sweep(folder)
    return _ended(folder, task["strict"])


def _ended(folder: Path, strict: bool) -> Result:
    """How a finished run turned out."""
    qc = json.loads((folder / "qc.json").read_text(encoding="utf-8"))
    code = code_of(qc, strict)
    status = "done" if code == 0 else "not converged" if code == NOT_CONVERGED else "flagged"
    return {"status": status, "code": code, "sentence": verdict(qc).sentence, "figures": figures(qc, folder)}


def _carry(landmarks: Path, folder: Path) -> None:
    """Points of the fixed image as all draws have them in the moving one."""
    named, run = read_points(landmarks), open_run(folder)
    clouds = points(run, named.positions, "fixed", named.names)
    found = Ellipsoids(clouds.mean, clouds.covariance, clouds.radius95)
    write_points(folder / LANDMARKS, named, found, landmarks_mark(landmarks))


def _sweep(folder: Path) -> None:
    """What processes that were killed had half written, under names that nothing reads."""
    for path in (*folder.rglob(".????????-*"), *folder.rglob("*.partial")):
        path.unlink(missing_ok=True)


def _refuse_another_version(wanted: str) -> None:
    if wanted != __version__:
        raise InputError(
            f"{socket.gethostname()} has credwarp {__version__}, the command {wanted}; install the same one."
        )
