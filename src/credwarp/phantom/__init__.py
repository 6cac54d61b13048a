"""A head that never was: generated T1-like brain scans with labels, and pairs whose true map is known."""

from credwarp.phantom.appearance import LABELS
from credwarp.phantom.landmarks import landmark_names
from credwarp.phantom.subjects import PhantomPair, Subject, Truth, head_grid, pair, population, subject

__all__ = [
    "LABELS",
    "PhantomPair",
    "Subject",
    "Truth",
    "head_grid",
    "landmark_names",
    "pair",
    "population",
    "subject",
]
