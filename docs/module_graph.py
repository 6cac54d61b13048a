"""Draw the module graph: the layers that pyproject.toml contracts, the imports that the code has."""

import sys
import tomllib
from pathlib import Path

import grimp
import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

ROOT = Path(__file__).parents[1]
WIDTH, HEIGHT, GAP = 2.3, 0.62, 1.25


def layers() -> list[list[str]]:
    """The rooms of each layer, the highest first."""
    tree = tomllib.loads((ROOT / "pyproject.toml").read_text())
    contract = next(c for c in tree["tool"]["importlinter"]["contracts"] if c["type"] == "layers")
    return [[room.strip() for room in layer.split("|")] for layer in contract["layers"]]


def imports(rooms: set[str]) -> set[tuple[str, str]]:
    """Which room imports which."""
    graph = grimp.build_graph("credwarp")
    found = set()
    for module in graph.modules:
        for target in graph.find_modules_directly_imported_by(module):
            pair = tuple(m.split(".")[1] if "." in m else m for m in (module, target))
            if pair[0] != pair[1] and set(pair) <= rooms:
                found.add(pair)
    return found


def plainest(edges: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """Without the imports that a chain of others implies."""
    below: dict[str, set[str]] = {}
    for source, target in edges:
        below.setdefault(source, set()).add(target)

    def reach(room: str) -> set[str]:
        found = set(below.get(room, ()))
        return found.union(*(reach(target) for target in found))

    return {(a, b) for a, b in edges if not any(b in reach(c) for c in below[a] - {b})}


def draw(path: Path) -> None:
    """One box a room, one arrow an import that no others imply."""
    rows = layers()
    places = {
        room: (WIDTH * 1.15 * (column - (len(row) - 1) / 2), -GAP * depth)
        for depth, row in enumerate(rows)
        for column, room in enumerate(row)
    }
    mpl.rcParams["svg.hashsalt"] = "credwarp"
    figure = Figure(figsize=(10, 0.95 * len(rows)))
    axes = figure.add_axes((0, 0, 1, 1))
    for source, target in sorted(plainest(imports(set(places)))):
        (x, y), (u, v) = places[source], places[target]
        bend = 0.12 if abs(y - v) > GAP * 1.5 else 0.0
        arrow = FancyArrowPatch(
            (x, y - HEIGHT / 2), (u, v + HEIGHT / 2), arrowstyle="-|>", mutation_scale=9,
            connectionstyle=f"arc3,rad={bend}", color="0.6", linewidth=0.8,
        )  # fmt: skip
        axes.add_patch(arrow)
    for room, (x, y) in places.items():
        corner = (x - WIDTH / 2, y - HEIGHT / 2)
        box = FancyBboxPatch(corner, WIDTH, HEIGHT, boxstyle="round,pad=0.02,rounding_size=0.1")
        box.set(facecolor="#e8f1fa", edgecolor="#28608f", linewidth=1.2, zorder=2)
        axes.add_patch(box)
        axes.text(x, y, room, ha="center", va="center", fontsize=11, family="monospace", zorder=3)
    widest = max(len(row) for row in rows) * WIDTH * 1.15 / 2 + 0.3
    axes.set(xlim=(-widest, widest), ylim=(-GAP * (len(rows) - 1) - HEIGHT, HEIGHT))
    axes.axis("off")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    draw(Path(sys.argv[1]))
