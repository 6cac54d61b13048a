"""Pairs from a BIDS folder: everybody onto one image, or every later session onto the first."""

import re
from collections.abc import Iterable
from pathlib import Path

from credwarp.batch.cases import Row, shown
from credwarp.errors import InputError

IMAGES = (".nii.gz", ".nii")
MASK, LABELS = "desc-brain_mask", "dseg"
ENTITY = re.compile(r"(?:^|_)(sub|ses)-([A-Za-z0-9]+)(?=_|$)")
DESCRIPTION = re.compile(r"_desc-[A-Za-z0-9]+")


def rows_of(folder: Path, suffix: str, fixed: Path | None) -> list[Row]:
    """A row per image whose name ends in `_suffix`; masks and labels of the same entities come along."""
    found = sorted(_images(folder, suffix))
    if not found:
        raise InputError(
            f"{folder} has no image sub-*_{shown(suffix)}.nii.gz; choose another --suffix, such as T1w or "
            "desc-preproc_T1w."
        )
    if fixed is not None:
        beside = _beside(fixed, suffix)
        rows = [_row(folder, "fixed", fixed, beside, one, suffix) for one in found if one != fixed]
    else:
        rows = [
            _row(folder, "fixed", sessions[0], _beside(sessions[0], suffix), later, suffix)
            for sessions in _by_subject(found)
            for later in sessions[1:]
        ]
    if not rows:
        raise InputError(
            f"{folder} has one image sub-*_{shown(suffix)}.nii.gz per subject and nothing to register it "
            "to; name an image with --fixed."
        )
    return rows


def entities(name: str) -> dict[str, str]:
    """Subject and session of a file's name."""
    return dict(ENTITY.findall(name.split(".")[0]))


def _images(folder: Path, suffix: str) -> Iterable[Path]:
    for end in IMAGES:
        for path in folder.glob(f"sub-*/**/sub-*{end}"):
            if path.name.endswith(f"_{suffix}{end}"):
                yield path


def _by_subject(found: Iterable[Path]) -> list[list[Path]]:
    subjects: dict[str, list[Path]] = {}
    for path in found:
        subjects.setdefault(entities(path.name).get("sub", path.name), []).append(path)
    return list(subjects.values())


def _row(folder: Path, side: str, fixed: Path, beside: dict[str, Path], moving: Path, suffix: str) -> Row:
    cells = {side: fixed, "moving": moving}
    cells |= {f"{side}_{part}": path for part, path in beside.items()}
    cells |= {f"moving_{part}": path for part, path in _beside(moving, suffix).items()}
    return Row(
        moving.relative_to(folder).as_posix(),
        {name: str(path) for name, path in cells.items()} | {"id": _name(moving, fixed, suffix)},
    )


def _beside(image: Path, suffix: str) -> dict[str, Path]:
    """The mask and the labels that share the image's entities but its description."""
    stem = DESCRIPTION.sub("", _stem(image).removesuffix(f"_{suffix}"))
    found = {}
    for part, ending in (("mask", MASK), ("labels", LABELS)):
        for end in IMAGES:
            path = image.with_name(f"{stem}_{ending}{end}")
            if path.exists():
                found[part] = path
    return found


def _name(moving: Path, fixed: Path, suffix: str) -> str:
    """The moving image's entities, and the fixed one's session or what it is called."""
    here, there = entities(moving.name), entities(fixed.name)
    onto = there["ses"] if there.get("sub") == here.get("sub") and "ses" in there else _plain(fixed)
    return f"{_stem(moving).removesuffix(f'_{suffix}')}_to-{onto}"


def _plain(path: Path) -> str:
    """A file's name without what BIDS separates by."""
    return re.sub(r"[^A-Za-z0-9]", "", _stem(path)) or "fixed"


def _stem(path: Path) -> str:
    return path.name.removesuffix(".gz").removesuffix(".nii")
