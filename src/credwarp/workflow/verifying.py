"""A finished run checked again: are its inputs, its plan and its files those that it was made of and made."""

import importlib.metadata
import platform
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from credwarp.errors import CredwarpError, InputError
from credwarp.files import RunFolder, digest, digests, open_run, read, read_transform
from credwarp.plan import Plan
from credwarp.workflow.begin import PACKAGES

State: TypeAlias = Literal["ok", "differs", "wrong"]
# Some voxels and draws stand for all, so a figure of theirs may be a little off the one in `qc.json`.
SLACK_MM, EVERY = 0.01, 3


@dataclass(frozen=True)
class Check:
    """What was looked at, how it is, and a word on that; what merely `differs` spoils nothing."""

    what: str
    state: State
    said: str


def verify(folder: Path) -> list[Check]:
    """Hashes of inputs, plan and files, versions, and whether the files still say what they should."""
    place = RunFolder(folder)
    provenance = place.provenance()
    if "files" not in provenance:
        raise InputError(f"{folder} is not finished; let it go on with `credwarp resume {folder}`.")
    checks = [*_inputs(provenance), *_versions(provenance), *_files(folder, provenance["files"])]
    for what, look in (("draws", _draws), ("transforms", _transforms), ("labels", _labels), ("maps", _maps)):
        try:
            checks.append(Check(what, "ok", look(place)))
        except (CredwarpError, OSError, KeyError, ValueError) as failure:
            checks.append(Check(what, "wrong", str(failure)))
    return checks


def _inputs(provenance: Mapping[str, Any]) -> Iterator[Check]:
    for name, facts in provenance.items():
        if not isinstance(facts, dict) or "sha256" not in facts:
            continue
        path, what = Path(facts["path"]), f"input {name.replace('_', ' ')}"
        if not path.exists():
            yield Check(what, "wrong", f"{path} is not there any more")
        elif digest(path) != facts["sha256"]:
            yield Check(what, "wrong", f"{path} has changed since")
        else:
            yield Check(what, "ok", str(path))


def _versions(provenance: Mapping[str, Any]) -> Iterator[Check]:
    now = {name: importlib.metadata.version(name) for name in ("credwarp", *PACKAGES)}
    now["python"] = platform.python_version()
    then = {**provenance["packages"], "credwarp": provenance["credwarp"], "python": provenance["python"]}
    apart = [f"{name} {then[name]}, now {now[name]}" for name in now if now[name] != then.get(name)]
    if apart:
        yield Check("versions", "differs", f"made by {'; '.join(apart)}: draws made anew may differ")
    else:
        yield Check("versions", "ok", f"credwarp {now['credwarp']}, torch {now['torch']} and the others")


def _files(folder: Path, listed: Mapping[str, str]) -> Iterator[Check]:
    found = digests(folder)
    gone = [name for name in listed if name not in found]
    changed = [name for name in listed if name in found and found[name] != listed[name]]
    for names, said in ((gone, "is not there any more"), (changed, "has changed since")):
        yield from (
            Check("plan" if name == "plan.toml" else "file", "wrong", f"{name} {said}") for name in names
        )
    if "plan.toml" not in (*gone, *changed):
        Plan.from_toml((folder / "plan.toml").read_text(encoding="utf-8"))
        yield Check("plan", "ok", "plan.toml is the one that was followed")
    if not gone and not changed:
        yield Check("files", "ok", f"all {len(listed)} are as they were written")


def _draws(place: RunFolder) -> str:
    run, said = open_run(place.path), place.quality()["draws"]
    if run.total != said:
        raise ValueError(f"there are {run.total} draws, but qc.json counts {said}")
    for chain, draw in run.places(min(EVERY, run.total)):
        if not bool(run.draws.parameters(chain, draw).isfinite().all()):
            raise ValueError(f"draw {draw} of chain {chain} is not finite")
    return f"{run.total} of {run.draws.chains} chains can be read"


def _transforms(place: RunFolder) -> str:
    there, back = read_transform(place.to_fixed), read_transform(place.to_moving)
    points = open_run(place.path).pair.grid.points()[::EVERY, ::EVERY, ::EVERY].reshape(-1, 3)
    away = float(np.quantile(np.linalg.norm(back(there(points)) - points, axis=1), 0.99))
    said = place.quality()["inverse_error_mm"]
    if away > 1.5 * said + SLACK_MM:
        raise ValueError(f"they undo each other to {away:.3f} mm only, but qc.json says {said:.3f} mm")
    return f"they undo each other to {away:.3f} mm"


def _labels(place: RunFolder) -> str:
    paths = sorted(place.labels.glob("probability_*.nii.gz"))
    if not paths:
        return "none were carried"
    total = sum(np.asarray(read(path).data, dtype=np.float64) for path in paths)
    off = float(np.abs(total - 1).max())
    if off > 1e-3:
        raise ValueError(f"probabilities of {len(paths)} labels do not sum to 1: they are off by {off:.3g}")
    return f"probabilities of {len(paths)} labels, background included, sum to 1"


def _maps(place: RunFolder) -> str:
    names = ("warped", "displacement_sd", "radius95", "jacobian_mean", "jacobian_sd", "fold_probability")
    maps = {name: read(place.map(name)) for name in names}
    broken = [name for name, volume in maps.items() if not bool(volume.data.isfinite().all())]
    apart = [name for name, volume in maps.items() if not volume.grid.matches(maps["warped"].grid)]
    if broken or apart:
        raise ValueError(
            f"{(broken or apart)[0]} {'has voxels without a number' if broken else 'lies elsewhere'}"
        )
    return f"{len(maps)} are finite and on one grid"
