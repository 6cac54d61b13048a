"""Colours that can be told apart by everyone: maps by name, and a cycle for structures and chains."""

import numpy as np
from matplotlib import colormaps

# Okabe and Ito's, without black and yellow: one per chain, readable on light and on dark.
CHAINS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00")
STRUCTURES = 20


def table(name: str) -> list[int]:
    """256 colours of a matplotlib map, red, green and blue one after another."""
    values = colormaps[name](np.linspace(0, 1, 256))[:, :3]
    return [int(v) for v in np.rint(values * 255).ravel()]


def stops(name: str, count: int = 9) -> list[str]:
    """A few colours of a map, evenly spread, for a gradient."""
    values = np.rint(colormaps[name](np.linspace(0, 1, count))[:, :3] * 255).astype(int)
    return [f"rgb({r},{g},{b})" for r, g, b in values]


def structure(place: int) -> str:
    """The colour of the structure in this place of a list."""
    red, green, blue, _ = colormaps["tab20"](place % STRUCTURES)
    return f"#{round(red * 255):02x}{round(green * 255):02x}{round(blue * 255):02x}"
