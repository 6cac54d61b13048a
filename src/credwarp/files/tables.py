"""Tables as comma-separated values, remarks first."""

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path

from credwarp.files.atomic import write_text


def write_table(
    path: Path, columns: Sequence[str], rows: Iterable[Sequence[object]], remarks: Sequence[str] = ()
) -> None:
    """A header and rows, below lines that begin with #; numbers to six digits."""
    out = io.StringIO()
    for remark in remarks:
        out.write(f"# {remark}\n")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([f"{cell:.6g}" if isinstance(cell, float) else cell for cell in row])
    write_text(path, out.getvalue())
