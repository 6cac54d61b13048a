"""The cerebellum with its leaves, and the brain stem."""

import numpy as np

from credwarp.phantom.noise import clouds
from credwarp.phantom.solids import Distance, Places, along, common, ellipsoid, intersection, union

LOBULE = 0.62
LEAF = 0.155
STEM_MIDDLE = ((-75, -47), (-62, -44), (-46, -37), (-32, -27), (-22, -25), (-12, -24), (5, -21))
STEM_HALF_WIDTH = ((-70, 7), (-52, 8), (-44, 11), (-32, 16), (-22, 14), (-14, 14), (0, 12))
STEM_HALF_LENGTH = (
    *((-70, 6), (-52, 6.5), (-45, 7.5), (-38, 11.5), (-32, 13)),
    *((-26, 12), (-20, 9), (-14, 9), (0, 9)),
)


def stem(places: Places) -> Distance:
    """Medulla, pons and midbrain: an ellipse that changes along its height."""
    x, y, z = places
    half_width, half_length = along(z, STEM_HALF_WIDTH), along(z, STEM_HALF_LENGTH)
    ellipse = np.hypot(x / half_width, (y - along(z, STEM_MIDDLE)) / half_length) - 1
    column = ellipse * np.minimum(half_width, half_length)
    return intersection(intersection(column, z + 2, 6), -62 - z, 2)


def cerebellum(places: Places) -> Distance:
    """Its hull: two hemispheres and the vermis under the tentorium."""
    x, y, z = places
    lateral = np.stack([np.abs(x), y, z])
    body = union(
        ellipsoid(lateral, (23, -66, -37), (30, 27, 24)), ellipsoid(places, (0, -64, -32), (16, 25, 22)), 8
    )
    body = intersection(body, z + 9 + 0.15 * lateral[0], 6)
    return intersection(body, y + 34 - 0.2 * lateral[0], 4)


def leaves(places: Places, hull: Distance) -> tuple[Distance, Distance]:
    """Inside the cerebellum: how deep below its fissures a place is, and the distance to its white matter.

    Leaves fan out from the fourth ventricle: an angle about the axis from ear to ear names each of them.
    """
    x, y, z = places
    lateral, depth = np.abs(x), -hull
    reach = np.sqrt((y + 50) ** 2 + (z + 33) ** 2 + 1)
    angle = np.arctan2(z + 33, -(y + 50)) + 0.10 * clouds(18.0, 8)(places) + 0.006 * lateral
    between_lobules = common(_off(angle, LOBULE, reach) - 0.5, depth - 16)
    between_leaves = common(_off(angle + LEAF / 2, LEAF, reach) - 0.25, depth - 5)
    pial = union(union(depth, between_lobules, 1), between_leaves, 1)
    branch = common(_off(angle + LOBULE / 2, LOBULE, reach) - 1.5 + 0.02 * reach, 4.5 - depth)
    twig = common(_off(angle, LEAF, reach) - 0.35, np.maximum(2.2 - depth, depth - 7))
    folded = np.stack([lateral, y, z])
    core = union(
        ellipsoid(folded, (15, -57, -35), (14, 9, 7)), ellipsoid(folded, (15, -46, -33), (8, 13, 7)), 5
    )
    return pial, union(np.minimum(branch, twig), core, 2)


def _off(angle: Distance, period: float, reach: Distance) -> Distance:
    """Millimetres to the nearest multiple of `period`, at `reach` from the axis."""
    turns = angle / np.float32(period)
    return np.asarray(np.abs(turns - np.rint(turns)) * np.float32(period) * reach)
