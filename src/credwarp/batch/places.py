"""Where a cohort may read and write: names made safe, and nothing outside what the user named."""

import hashlib
import os
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from credwarp.batch.cases import shown
from credwarp.errors import InputError

LONGEST_NAME = 100
OWN = ("cohort.csv", "cohort.json", "cohort.html", "dataset_description.json")


@dataclass(frozen=True)
class Roots:
    """Where relative paths begin, and the folders, links followed, that a table may point into."""

    own: Path
    allowed: tuple[Path, ...]

    @classmethod
    def of(cls, own: Path, others: Iterable[Path] = ()) -> "Roots":
        """A table's own folder, and others that the user trusts it with."""
        return cls(Path(os.path.abspath(own)), tuple(folder.resolve() for folder in (own, *others)))

    def find(self, written: str) -> Path:
        """The path that was written, if it exists in one of the folders."""
        try:
            path = Path(os.path.abspath(self.own / written))
            real = path.resolve()
            if not any(real.is_relative_to(root) for root in self.allowed):
                raise InputError(
                    f"'{shown(written)}' is not in the table's folder, but in {shown(str(real.parent))}; "
                    "allow that folder by --root if you trust the table."
                )
            path.stat()
        except (OSError, RuntimeError, ValueError) as error:
            said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise InputError(
                f"'{shown(written)}' cannot be read ({shown(said)}); check its spelling."
            ) from None
        return path


def folder_name(name: str) -> str:
    """A folder's name from an id: letters, digits and `._-`; what is long is cut and marked."""
    normal = unicodedata.normalize("NFC", name)
    kept = "".join(c if c.isalnum() or c in "._-" else "-" for c in normal).strip(".-_")
    if len(kept.encode()) > LONGEST_NAME:
        mark = hashlib.sha256(name.encode()).hexdigest()[:8]
        kept = kept.encode()[: LONGEST_NAME - 9].decode(errors="ignore").rstrip(".-_") + f"-{mark}"
    if not kept or kept.casefold() in OWN:
        raise InputError(f"the id '{shown(name)}' makes no name for a folder; give it some letters.")
    return kept


def inside(out: Path, relative: str) -> Path:
    """A place in the cohort's folder that no symbolic link leads out of."""
    path = out
    for part in Path(relative).parts:
        if part in ("..", "/", os.sep):
            raise InputError(f"'{shown(relative)}' leads out of {out}; give another id.")
        path = path / part
        _refuse_link(path)
    return path


def refuse_links(folder: Path) -> None:
    """Refuse a run's folder in which a link has been put: writing would follow it."""
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            _refuse_link(Path(place) / name)


def _refuse_link(path: Path) -> None:
    if path.is_symlink():
        raise InputError(f"{path} is a symbolic link, and nothing is written through links; remove it.")
