"""Write the reference: the public names of each room from its sources, the plan's choices from its unions."""

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt
from module_graph import layers
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from credwarp.plan import Plan

PACKAGE = Path(__file__).parents[1] / "src" / "credwarp"
# What starts the program, and the commands, which have a page of their own.
LEFT_OUT = {"__init__", "__main__", "cli"}
SIGNS = {Gt: ("gt", ">"), Ge: ("ge", "≥"), Lt: ("lt", "<"), Le: ("le", "≤")}
WORDS = {int: "whole number", float: "number", str: "text", bool: "true or false"}
PLAN = """# The choices of a plan

`credwarp plan` prints all of them with their defaults, `credwarp plan --schema` their JSON schema;
`--set section.field=value` changes one.
"""
Named = ast.ClassDef | ast.FunctionDef


def write(folder: Path) -> None:
    """The table of rooms, and all pages of the reference."""
    pages = folder / "reference"
    pages.mkdir(parents=True, exist_ok=True)
    (folder / "rooms.txt").write_text(table_of_rooms(), encoding="utf-8")
    (pages / "choices.md").write_text(choices(), encoding="utf-8")
    for room in rooms():
        (pages / f"{room}.md").write_text(page_of(room), encoding="utf-8")


def table_of_rooms() -> str:
    """Each room's own sentence, from the commands down to the shapes."""
    order = [room for layer in layers() for room in layer]
    lines = ["| room | its first sentence |", "| --- | --- |"]
    for room in order:
        said = ast.get_docstring(ast.parse(_file_of(PACKAGE / room).read_text(encoding="utf-8")))
        lines.append(f"| `{room}` | {prose(said).splitlines()[0]} |")
    return "\n".join(lines) + "\n"


def rooms() -> list[str]:
    """Packages and modules right under the package."""
    packages = [path.parent.name for path in PACKAGE.glob("*/__init__.py")]
    return sorted({path.stem for path in PACKAGE.glob("*.py")}.union(packages) - LEFT_OUT)


def page_of(room: str) -> str:
    """The room's sentence, and what it offers."""
    source = _file_of(PACKAGE / room)
    tree = ast.parse(source.read_text(encoding="utf-8"))
    lines = [f"# credwarp.{room}", "", prose(ast.get_docstring(tree)), ""]
    for name, node in sorted(_offered(source, tree), key=lambda entry: entry[0]):
        lines += _entry(name, node)
    return "\n".join(lines)


def choices() -> str:
    """Each section of the plan: its members, their fields, what those may be and are without being asked."""
    plain = {name: info for name, info in Plan.model_fields.items() if not _members(info.annotation)}
    lines = [PLAN, *_table([(name, _whole(info), info.default) for name, info in plain.items()]), ""]
    for name, info in Plan.model_fields.items():
        members = _members(info.annotation)
        lines += [f"## {name}", ""] if members else []
        for member in members:
            lines += _member(member, len(members) > 1, isinstance(info.default, member))
    return "\n".join(lines)


def prose(text: str | None) -> str:
    """A docstring as Markdown: only what stands between back-ticks is code."""
    parts = (text or "").split("`")
    escaped = [re.sub(r"([*_<$\[\]{}|\\])", r"\\\1", part) for part in parts[::2]]
    codes = [f"`{part}`" for part in parts[1::2]]
    return "".join(a + b for a, b in zip(escaped, [*codes, ""], strict=True))


def _file_of(module: Path) -> Path:
    """The source of a module, be it a file or a folder."""
    return module.with_suffix(".py") if module.with_suffix(".py").exists() else module / "__init__.py"


def _offered(source: Path, tree: ast.Module) -> Iterator[tuple[str, Named]]:
    """What a room shows of its own and of its files, by name."""
    shown = {name for node in tree.body if isinstance(node, ast.Assign) for name in _shown(node)}
    for node in tree.body:
        if isinstance(node, Named) and not node.name.startswith("_") and (not shown or node.name in shown):
            yield node.name, node
        elif isinstance(node, ast.ImportFrom) and str(node.module).startswith(
            f"credwarp.{source.parent.name}."
        ):
            wanted = {alias.name for alias in node.names} & shown
            inner = _file_of(PACKAGE.joinpath(*str(node.module).split(".")[1:]))
            for found in ast.parse(inner.read_text(encoding="utf-8")).body:
                if isinstance(found, Named) and found.name in wanted:
                    yield found.name, found


def _shown(node: ast.Assign) -> list[str]:
    """The names of `__all__`, where this is it."""
    if not any(isinstance(target, ast.Name) and target.id == "__all__" for target in node.targets):
        return []
    return [str(name) for name in ast.literal_eval(node.value)]


def _entry(name: str, node: Named) -> list[str]:
    lines = [f"## {name}", "", "```python", *_signature(node), "```", "", prose(ast.get_docstring(node)), ""]
    if isinstance(node, ast.ClassDef):
        for method in node.body:
            if isinstance(method, ast.FunctionDef) and not method.name.startswith("_"):
                said = " ".join(prose(ast.get_docstring(method)).split())
                lines += [f"`{_call(method)}`", f": {said}", ""]
    return lines


def _signature(node: Named) -> list[str]:
    if isinstance(node, ast.FunctionDef):
        return [f"def {_call(node)}: ..."]
    stated = [f"    {ast.unparse(item)}" for item in node.body if isinstance(item, ast.AnnAssign)]
    return [f"class {node.name}:", *(stated or ["    ..."])]


def _call(node: ast.FunctionDef) -> str:
    returned = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"{node.name}({ast.unparse(node.args)}){returned}"


def _members(annotation: Any) -> list[type]:
    return [member for member in (annotation, *get_args(annotation)) if is_dataclass(member)]


def _member(member: type, one_of_several: bool, default: bool) -> list[str]:
    kind = next((f.default for f in fields(member) if f.name == "kind"), None)
    lines = [f"### `{kind}`{', the default' if default else ''}", ""] if one_of_several else []
    stated = [f for f in fields(member) if f.name != "kind" or not one_of_several]
    said = prose(re.sub(r"\n +", "\n", member.__doc__ or ""))
    return [*lines, said, "", *_table([(f.name, f.type, f.default) for f in stated]), ""]


def _whole(info: FieldInfo) -> Any:
    """The annotation with the limits that pydantic has taken out of it."""
    return Annotated[info.annotation, *info.metadata] if info.metadata else info.annotation


def _table(rows: list[tuple[str, Any, Any]]) -> list[str]:
    """Name, values and default of each field."""
    lines = [f"| `{name}` | {_values(kind)} | {_value(default)} |" for name, kind, default in rows]
    return ["| field | values | default |", "| --- | --- | --- |", *lines] if rows else []


def _values(annotation: Any) -> str:
    """What a field may be, in words."""
    origin, inside = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return " or ".join(f"`{value}`" for value in inside)
    if origin is Annotated:
        signs = [SIGNS[type(limit)] for limit in inside[1:]]
        limits = [
            f"{sign} {getattr(limit, name):g}" for limit, (name, sign) in zip(inside[1:], signs, strict=True)
        ]
        return f"{_values(inside[0])} {', '.join(limits)}"
    if origin in (Union, UnionType):
        return " or ".join(_values(one) for one in inside)
    if origin is tuple:
        return f"{'list' if Ellipsis in inside else len(inside)} of {_values(inside[0])}"
    return WORDS[annotation]


def _value(value: Any) -> str:
    if value is MISSING or value is PydanticUndefined:
        return "must be given"
    return f"`{list(value) if isinstance(value, tuple) else value}`"


if __name__ == "__main__":
    write(Path(sys.argv[1]))
