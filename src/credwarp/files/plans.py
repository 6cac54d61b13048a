"""Plans as files."""

from pathlib import Path

from credwarp.errors import InputError
from credwarp.plan import Plan


def read_plan(path: Path) -> Plan:
    """The plan in a TOML document."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"the plan {path} cannot be read ({error}); name a TOML file.") from None
    return Plan.from_toml(text)
