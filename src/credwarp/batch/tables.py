"""Tables of pairs: whatever a spreadsheet writes, as rows of cells; what is wrong is told row by row."""

import csv
import difflib
from collections.abc import Sequence
from pathlib import Path

from credwarp.batch.cases import Problem, Row, shown
from credwarp.errors import InputError

FILES = ("fixed", "moving", "fixed_mask", "moving_mask", "fixed_labels", "moving_labels", "landmarks")
COLUMNS = (*FILES, "id", "plan")
SEPARATORS = {",": "commas", "\t": "tabs", ";": "semicolons"}
LARGEST = 1 << 26
LONGEST_CELL = 1 << 16


def read_rows(path: Path) -> tuple[list[Row], list[Problem]]:
    """The rows of a table, and what is wrong with others; a table that makes no sense at all is refused."""
    lines = _lines(path)
    separator = _separator(path, lines[0])
    before = csv.field_size_limit(LONGEST_CELL)
    try:
        reader = csv.reader(lines, delimiter=separator, strict=True)
        header = _header(path, next(reader))
        rows, problems = [], []
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            where = f"line {reader.line_num}"
            if len(cells) == len(header):
                filled = {name: cell.strip() for name, cell in zip(header, cells, strict=True)}
                rows.append(Row(where, {name: cell for name, cell in filled.items() if cell}))
            else:
                problems.append(Problem(where, _counted(header, cells, separator)))
    except csv.Error as error:
        raise InputError(
            f"{path} is no table from line {reader.line_num} on ({error}); mend its quotes, or save it anew."
        ) from None
    finally:
        csv.field_size_limit(before)
    if not rows and not problems:
        raise InputError(f"{path} has no rows; give one per pair, below the names of the columns.")
    return rows, problems


def _lines(path: Path) -> list[str]:
    try:
        if path.stat().st_size > LARGEST:
            raise InputError(f"{path} has more than {LARGEST >> 20} MB; is it a table? Split it.")
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path} is not in UTF-8 (byte {error.start + 1} is 0x{error.object[error.start]:02x}); "
            "save it as CSV UTF-8."
        ) from None
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}); name a table of pairs.") from None
    if "\0" in text:
        raise InputError(f"{path} holds zero bytes; it is no text, or in UTF-16: save it as CSV UTF-8.")
    lines = text.replace("\r\n", "\n").replace("\r", "\n").splitlines(keepends=True)
    while lines and not lines[0].strip():
        lines.pop(0)
    if not lines:
        raise InputError(f"{path} is empty; its first line names the columns, such as fixed,moving,id.")
    return lines


def _separator(path: Path, header: str) -> str:
    """The one that the columns' names stand between."""
    found = {mark: _known(header.strip().split(mark)) for mark in SEPARATORS}
    best = max(found, key=lambda mark: found[mark])
    if found[best] < 2:
        raise InputError(
            f"{path} does not begin with the names of columns, at least fixed and moving, but with "
            f"'{shown(header.strip())}'; add them as the first line."
        )
    return best


def _known(names: Sequence[str]) -> int:
    return sum(name.strip().strip('"').lower() in COLUMNS for name in names)


def _header(path: Path, cells: Sequence[str]) -> list[str]:
    names = [cell.strip().lower() for cell in cells]
    for name in names:
        if name not in COLUMNS:
            near = difflib.get_close_matches(name, COLUMNS, n=1)
            hint = f"did you mean {near[0]}?" if near else f"choose from {', '.join(COLUMNS)}."
            raise InputError(f"{path} has a column '{shown(name)}', which is not known; {hint}")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"{path} has the column {twice[0]} twice; keep one of them.")
    for name in ("fixed", "moving"):
        if name not in names:
            raise InputError(f"{path} has no column {name}; a table needs at least fixed and moving.")
    return names


def _counted(header: Sequence[str], cells: Sequence[str], separator: str) -> str:
    others = [mark for mark in SEPARATORS if mark != separator and any(mark in cell for cell in cells)]
    hint = (
        f"separate them by {SEPARATORS[separator]}, as the first line does."
        if others
        else "leave cells empty, but do not leave them out."
    )
    return f"has {len(cells)} cells for {len(header)} columns; {hint}"
