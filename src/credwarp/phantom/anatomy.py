"""One head in continuous millimetres, near MNI coordinates: what any place in it is made of."""

import numpy as np

from credwarp.phantom.cortex import hull, pial_distance
from credwarp.phantom.deep import lay_deep_parts
from credwarp.phantom.hindbrain import cerebellum, leaves, stem
from credwarp.phantom.noise import clouds
from credwarp.phantom.solids import Distance, Places, share, union
from credwarp.phantom.tissue import Composition, Tissue, lay

# The box that holds the brain, and its middle, which grids put at their centre.
HEAD = np.array([156.0, 190.0, 156.0])
MIDDLE = np.array([0.0, -17.0, 8.0])
RADII = np.array([75.0, 95.0, 79.0])
CORTEX_THICKNESS = 2.6
STEM_LABEL = 16
MARGIN = 20.0


def outline(places: Places) -> Distance:
    """Distance to what a skull-stripped image keeps; far away, only a lower bound of it."""
    offset = (places - MIDDLE[:, None].astype(np.float32)) / RADII[:, None].astype(np.float32)
    beyond = ((np.abs(offset) ** 3).sum(0) ** (1 / 3) - 1) * np.float32(RADII.min())
    near = np.flatnonzero(beyond < MARGIN)
    closer = places[:, near]
    beyond[near] = union(union(hull(closer), cerebellum(closer), 5), stem(closer), 8) - np.float32(0.8)
    return np.asarray(beyond)


def compose(places: Places, width: float) -> Composition:
    """What is at places, boundaries softened over `width` millimetres."""
    count = places.shape[1]
    shares = np.zeros((count, len(Tissue)), np.float32)
    labels, texture = np.zeros(count, np.int16), np.zeros(count, np.float32)
    shares[:, Tissue.AIR] = 1
    inside = outline(places) < 0
    kept = np.ascontiguousarray(places[:, inside])
    texture[inside] = clouds(9.0, 7)(kept)
    shares[inside], labels[inside] = _brain(kept, texture[inside], width)
    return Composition(shares, labels, inside, texture)


def _brain(places: Places, texture: Distance, width: float) -> tuple[np.ndarray, np.ndarray]:
    shares = np.zeros((places.shape[1], len(Tissue)), np.float32)
    labels = np.zeros(places.shape[1], np.int16)
    shares[:, Tissue.FLUID] = 1
    cerebrum = np.flatnonzero(hull(places) < width)
    pial = np.full(places.shape[1], -width, np.float32)
    pial[cerebrum] = pial_distance(places[:, cerebrum])
    lay(shares, Tissue.CORTEX, share(-pial, width))
    lay(shares, Tissue.WHITE, share(CORTEX_THICKNESS + 0.3 * texture - pial, width))
    column = stem(places)
    lay(shares, Tissue.STEM, share(column, width))
    labels[column < 0] = STEM_LABEL
    _lay_cerebellum(places, shares, width)
    lay_deep_parts(places, shares, labels, width)
    return shares, labels


def _lay_cerebellum(places: Places, shares: np.ndarray, width: float) -> None:
    distance = cerebellum(places)
    near = np.flatnonzero(distance < width)
    pial, white = leaves(places[:, near], distance[near])
    amount = share(distance[near], width)
    drawn = shares[near]
    lay(drawn, Tissue.CEREBELLAR, amount)
    lay(drawn, Tissue.WHITE, amount * share(white, width))
    lay(drawn, Tissue.FLUID, amount * share(pial, width))
    shares[near] = drawn
