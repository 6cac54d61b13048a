"""Solids as signed distances in millimetres, negative inside, and how they join."""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from jaxtyping import Float

Places: TypeAlias = Float[np.ndarray, "3 n"]
Distance: TypeAlias = Float[np.ndarray, " n"]
Millimetres: TypeAlias = int | float
Triple: TypeAlias = tuple[Millimetres, Millimetres, Millimetres]
Node: TypeAlias = tuple[Millimetres, Millimetres, Millimetres, Millimetres]


def ellipsoid(places: Places, centre: Triple, radii: Triple, yaw: float = 0.0) -> Distance:
    """First-order distance to an ellipsoid, its back end turned rightwards by `yaw` radians."""
    x, y, z = places - np.array(centre, np.float32)[:, None]
    if yaw:
        cosine, sine = np.float32(np.cos(yaw)), np.float32(np.sin(yaw))
        x, y = cosine * x + sine * y, cosine * y - sine * x
    a, b, c = (np.float32(1 / r) for r in radii)
    level = np.sqrt((x * a) ** 2 + (y * b) ** 2 + (z * c) ** 2)
    slope = np.sqrt((x * a * a) ** 2 + (y * b * b) ** 2 + (z * c * c) ** 2)
    return np.asarray(level * (level - 1) / np.maximum(slope, np.float32(1e-6)))


def tube(places: Places, nodes: Sequence[Node]) -> Distance:
    """Distance to a chain of rounded cones; a node is x, y, z and the radius there."""
    nearest = np.full(places.shape[1], 1e3, np.float32)
    for first, second in zip(nodes[:-1], nodes[1:], strict=True):
        start, axis = np.array(first, np.float32), np.subtract(second, first).astype(np.float32)
        offset = places - start[:3, None]
        along = np.clip(axis[:3] @ offset / (axis[:3] @ axis[:3]), 0, 1)
        away = offset - axis[:3, None] * along
        nearest = np.minimum(nearest, np.sqrt((away * away).sum(0)) - start[3] - axis[3] * along)
    return nearest


def common(a: Distance, b: Distance) -> Distance:
    """Distance to the intersection of two solids that meet at a right angle: a sheet and its depth."""
    outside = np.hypot(np.maximum(a, 0), np.maximum(b, 0))
    return np.asarray(outside + np.minimum(np.maximum(a, b), 0))


def union(a: Distance, b: Distance, blend: Millimetres) -> Distance:
    """The smaller distance, rounded over `blend` millimetres where both are alike."""
    overlap = np.maximum(blend - np.abs(a - b), 0)
    return np.asarray(np.minimum(a, b) - overlap * overlap * np.float32(0.25 / blend))


def intersection(a: Distance, b: Distance, blend: Millimetres) -> Distance:
    """The larger distance, rounded likewise."""
    return -union(-a, -b, blend)


def ramp(values: Distance, low: Millimetres, high: Millimetres) -> Distance:
    """0 below `low`, 1 above `high`, smooth between."""
    t = np.clip((values - np.float32(low)) / np.float32(high - low), 0, 1)
    return np.asarray(t * t * (3 - 2 * t))


def share(distance: Distance, width: Millimetres) -> Distance:
    """How much of a cell `width` wide the solid fills."""
    return np.asarray(np.clip(np.float32(0.5) - distance / np.float32(width), 0, 1))


def along(places: Distance, knots: Sequence[tuple[Millimetres, Millimetres]]) -> Distance:
    """A quantity given at knots of a coordinate, linear between."""
    at, values = np.array(knots).T
    return np.asarray(np.interp(places, at, values), dtype=np.float32)
