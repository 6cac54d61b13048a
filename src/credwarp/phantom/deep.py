"""The ventricles and the deep grey matter: one row a structure, drawn on one side and mirrored."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from credwarp.phantom.hindbrain import stem
from credwarp.phantom.solids import Distance, Places, ellipsoid, intersection, tube, union
from credwarp.phantom.tissue import Tissue, lay

BOX = np.array([[-48.0, 48.0], [-85.0, 50.0], [-45.0, 45.0]], np.float32)
NOT_LABELLED = (0, 0)


@dataclass(frozen=True)
class Part:
    """A structure: its tissue, its FreeSurfer labels left and right, its distance from mirrored places."""

    name: str
    tissue: Tissue
    labels: tuple[int, int]
    distance: Callable[[Places], Distance]


def lateral_ventricle(places: Places) -> Distance:
    """Frontal horn, body, atrium and temporal horn as one curve, the occipital horn as another."""
    main = tube(
        places,
        (
            *((9, 30, 3, 3), (6, 20, 10, 5.2), (5.5, 6, 16, 5.8), (6.5, -12, 19, 5.2), (13, -28, 17, 5.5)),
            *((22, -40, 11, 6.5), (28, -36, -2, 3.5), (33, -24, -12, 2.4), (33, -12, -18, 1.8)),
        ),
    )
    occipital = tube(places, ((23, -40, 12, 5.5), (23, -56, 8, 3), (20, -66, 6, 1.5)))
    # A septum keeps the two sides apart.
    return intersection(union(main, occipital, 2), 0.9 - places[0], 1)


def cistern(places: Places) -> Distance:
    """The fluid behind the midbrain, under the splenium."""
    return intersection(tube(places, ((0, -35, -2, 7), (0, -40, 0, 6))), -stem(places), 1)


CAUDATE = ((12, 20, 0, 6.8), (13, 9, 9, 6.4), (14, -2, 16, 4.4), (17, -14, 19, 3.2), (21, -25, 17, 2.4))
HIPPOCAMPUS = ((25, -11, -20, 6.2), (29, -20, -16, 5.6), (30.5, -28, -10, 5.0), (26, -37, -2, 4.4))

PARTS = (
    Part("cistern", Tissue.FLUID, NOT_LABELLED, cistern),
    Part("fourth ventricle", Tissue.FLUID, NOT_LABELLED,
         partial(tube, nodes=((0, -42, -24, 2), (0, -45, -34, 4.5), (0, -44, -44, 2)))),
    Part("lateral ventricle", Tissue.FLUID, (4, 43), lateral_ventricle),
    Part("caudate", Tissue.STRIATUM, (11, 50), partial(tube, nodes=CAUDATE)),
    Part("putamen", Tissue.STRIATUM, (12, 51),
         partial(ellipsoid, centre=(25.5, 1, 0), radii=(6.4, 18, 10.5), yaw=0.32)),
    Part("pallidum", Tissue.PALLIDUM, (13, 52),
         partial(ellipsoid, centre=(19.5, -4, -1), radii=(5.3, 10.5, 7.4), yaw=0.45)),
    Part("thalamus", Tissue.THALAMUS, (10, 49),
         partial(ellipsoid, centre=(11, -18, 8), radii=(9.2, 16.5, 10), yaw=0.35)),
    Part("hippocampus", Tissue.ARCHICORTEX, (17, 53), partial(tube, nodes=HIPPOCAMPUS)),
    Part("amygdala", Tissue.ARCHICORTEX, (18, 54),
         partial(ellipsoid, centre=(23, -1, -19), radii=(7.5, 7.5, 7.5))),
    Part("accumbens", Tissue.STRIATUM, (26, 58),
         partial(ellipsoid, centre=(9.8, 11, -8), radii=(5.8, 7, 5.6))),
    Part("third ventricle", Tissue.FLUID, NOT_LABELLED,
         partial(ellipsoid, centre=(0, -10, 2), radii=(2, 15, 9))),
)  # fmt: skip


def lay_deep_parts(places: Places, shares: np.ndarray, labels: np.ndarray, width: float) -> None:
    """Draw all of them into shares and labels, later ones over earlier ones."""
    low, high = BOX[:, :1], BOX[:, 1:]
    near = np.flatnonzero(((places > low) & (places < high)).all(axis=0))
    mirrored = places[:, near]
    right = mirrored[0] > 0
    mirrored[0] = np.abs(mirrored[0])
    part_shares, part_labels = shares[near], labels[near]
    for part in PARTS:
        distance = part.distance(mirrored)
        close = np.flatnonzero(distance < width)
        drawn = part_shares[close]
        amount = np.clip(0.5 - distance[close] / np.float32(width), 0, 1)
        lay(drawn, part.tissue, amount)
        part_shares[close] = drawn
        filled = close[amount > 0.5]
        part_labels[filled] = np.where(right[filled], part.labels[1], part.labels[0])
    shares[near], labels[near] = part_shares, part_labels
