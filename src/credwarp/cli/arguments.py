"""What several commands take in the same way, checked before any work is done."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from credwarp.errors import InputError, PlanError
from credwarp.files import RunFolder, Transform, describe, read_plan, read_transform, refuse_unwritable
from credwarp.files.images import extension
from credwarp.plan import Plan
from credwarp.space import Grid, Warp


def plan_from(file: Path | None, settings: Iterable[str] | None) -> Plan:
    """The default plan or a file's, with changes."""
    plan = Plan() if file is None else read_plan(file)
    return plan.with_settings(settings or ())


def grid_from(path: Path | None) -> Grid | None:
    """An image's grid."""
    return None if path is None else describe(path).grid


def transform_from(source: Path, to: str, fixed: Grid | None, moving: Grid | None) -> Transform:
    """A run's map that resamples onto the `to` side, or the transform in a file as it is."""
    if source.is_dir():
        run = RunFolder(source)
        return read_transform(run.to_fixed if to == "fixed" else run.to_moving)
    return read_transform(source, fixed, moving)


def target_grid(source: Path, to: str, chosen: Grid | None, transform: Transform | None) -> Grid:
    """Where a resampled image lies: the grid that was named, the run's, or the warp's own."""
    if chosen is not None:
        return chosen
    if source.is_dir():
        return RunFolder(source).grid(to)
    if isinstance(transform, Warp):
        return transform.grid
    raise InputError(f"{source} does not say on which voxels the result lies; name an image with --grid.")


def new_file(path: Path, endings: Sequence[str]) -> Path:
    """A file to be written, refused before the work rather than after it."""
    if extension(path) not in endings:
        raise InputError(f"{path} ends in none of {', '.join(endings)}; name it after the format you want.")
    refuse_unwritable(path)
    return path


def new_table(path: Path) -> Path:
    """A list of points to be written, refused before the work."""
    if not path.name.lower().endswith((".csv", ".mrk.json")):
        raise InputError(f"{path} ends in neither .csv nor .mrk.json; name it after the format you want.")
    refuse_unwritable(path)
    return path


def new_folder(path: Path) -> Path:
    """A folder for results, made before the work rather than after it."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{path} cannot be made a folder ({error.strerror}); name another.") from None
    return path


def use_machine(device: str, threads: int | None) -> None:
    """Compute on so many threads; refuse a device that is not there."""
    import torch

    from credwarp.workflow import compute_on

    if device not in ("auto", "cpu", "cuda"):
        raise PlanError(f"the device {device!r} is not known; choose auto, cpu or cuda.")
    if device == "cuda" and not torch.cuda.is_available():
        raise PlanError("there is no CUDA device here; use --device auto or cpu.")
    if threads is not None:
        compute_on(threads)


def device_from(device: str) -> str:
    """The device itself, where `auto` leaves it open."""
    import torch

    return "cuda" if device != "cpu" and torch.cuda.is_available() else "cpu"


def seconds_from(text: str) -> float:
    """A duration such as 90s, 10min, 1.5h."""
    units = {"s": 1.0, "sec": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
    found = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([a-z]*)\s*", text.lower())
    if found is None or found[2] not in {*units, ""} or float(found[1]) <= 0:
        raise PlanError(f"the budget {text!r} is no duration; write one such as 90s, 10min or 2h.")
    return float(found[1]) * units.get(found[2], 1.0)
