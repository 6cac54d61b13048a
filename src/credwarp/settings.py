"""Settings such as a.b=c, put into a tree of choices."""

import copy
import tomllib
from collections.abc import Iterable, Mapping
from typing import Any

from credwarp.errors import PlanError


def changed(tree: Mapping[str, Any], settings: Iterable[str]) -> dict[str, Any]:
    """The tree with `a.b=c` settings in it, in order; a new `kind` starts without anything else."""
    found = copy.deepcopy(dict(tree))
    for setting in settings:
        path, equals, value = setting.partition("=")
        keys = path.strip().split(".")
        if not equals or not all(keys):
            raise PlanError(f"the setting {setting!r} is not of the form a.b=c, like seed=1.")
        table = found
        for key in keys[:-1]:
            if not isinstance(table.setdefault(key, {}), dict):
                raise PlanError(f"{path} is not a choice: {key} is a value, not a section.")
            table = table[key]
        if keys[-1] == "kind" and table.get("kind") != value:
            table.clear()
        table[keys[-1]] = _value(value)
    return found


def strangers(tree: Mapping[str, Any], known: Mapping[str, Any], above: str = "") -> list[str]:
    """What a tree has that a known one of the same shape has not, by path."""
    found = []
    for name, part in tree.items():
        if name not in known:
            found.append(above + name)
        elif isinstance(part, dict) and isinstance(known[name], dict):
            found += strangers(part, known[name], f"{above}{name}.")
    return found


def _value(text: str) -> Any:
    """A TOML value; anything that is none is a string."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text.strip()
