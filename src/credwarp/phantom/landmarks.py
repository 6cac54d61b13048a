"""Places of the common anatomy that an expert could find again."""

import numpy as np

from credwarp.phantom.anatomy import MIDDLE
from credwarp.shapes import Points

MIDLINE = {
    "genu of the corpus callosum": (0, 32, 4),
    "body of the corpus callosum": (0, -6, 26),
    "splenium of the corpus callosum": (0, -44, 8),
    "third ventricle": (0, -10, 2),
    "fourth ventricle": (0, -45, -34),
    "pons": (0, -26, -30),
    "medulla": (0, -42, -54),
    "vermis": (0, -72, -32),
}
RIGHT = {
    "tip of the frontal horn": (9, 32, 3),
    "atrium": (22, -40, 11),
    "tip of the occipital horn": (20, -67, 6),
    "tip of the temporal horn": (33, -11, -18),
    "thalamus": (11, -18, 8),
    "head of the caudate": (12, 18, 1),
    "putamen": (25.5, 1, 0),
    "pallidum": (19.5, -4, -1),
    "accumbens": (9.8, 11, -8),
    "head of the hippocampus": (26, -12, -19),
    "tail of the hippocampus": (26, -36, -3),
    "amygdala": (23, -1, -19),
    "insula": (38.5, -5, 0),
    "dentate region": (15, -57, -35),
    "frontal pole": (18, 66, 6),
    "occipital pole": (14, -100, 0),
    "temporal pole": (40, 18, -30),
    "vertex": (16, -20, 74),
}


def landmark_names() -> tuple[str, ...]:
    """The names, in the order of `landmarks`."""
    return (*MIDLINE, *(f"right {name}" for name in RIGHT), *(f"left {name}" for name in RIGHT))


def landmarks() -> Points:
    """RAS+ millimetres from the middle of the head: the middle line, the right side, the left one."""
    right = np.array([*RIGHT.values()])
    sides = np.concatenate([np.array([*MIDLINE.values()]), right, right * [-1, 1, 1]])
    return np.asarray(sides - MIDDLE)
