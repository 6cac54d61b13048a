"""The cerebrum's surface: a hull, the great fissures, and the sulci that run at right angles into both."""

from dataclasses import dataclass

import numpy as np

from credwarp.phantom.noise import Noise, clouds, stripes
from credwarp.phantom.solids import Distance, Places, common, ellipsoid, intersection, ramp, union

STEP = np.float32(0.5)
# Where in the one pattern of bends the hull's unevenness is read.
WOBBLE = np.array([0, 70, 33], np.float32)


@dataclass(frozen=True, eq=False)
class Surface:
    """Where pial surfaces are before folding: their nearest distance, positive inside the brain."""

    depth: Distance
    hull: Distance
    fissures: Distance
    above_sylvian: Distance


def hull(places: Places) -> Distance:
    """Both hemispheres without any fissure: a main body with a shaped base, and the temporal lobes."""
    return _hull(places, clouds(32.0, 6)(places + WOBBLE[:, None]))


def _hull(places: Places, wobble: Distance) -> Distance:
    x, y, z = places
    lateral = np.abs(x)
    narrowed = lateral / (1 - 0.10 * np.tanh((y + 22) / 45))
    body = ellipsoid(np.stack([narrowed, y, z + 0.06 * (y + 17)]), (0, -17, 13), (67, 87, 64))
    tentorium = ramp(-y, 36, 50) * (3 - 9 * ramp(lateral, 4, 40))
    base = -13 - 13 * ramp(y, 2, 24) + tentorium + 2 * wobble
    body = intersection(body, base - z, 12)
    lobes = ellipsoid(np.stack([lateral, y, z + 0.2 * (y + 22)]), (40, -22, -19), (28, 46, 25))
    lobes = intersection(lobes, 14 - lateral, 10)
    return np.asarray(union(body, lobes, 6) + 0.8 * wobble)


def pial_distance(places: Places) -> Distance:
    """How deep below the nearest cerebrospinal fluid a place in the cerebrum is, negative in the fluid."""
    bend = _bend(places)
    surface = _surface(places, bend)
    normal, steepness = _normal(places, bend, surface.depth)
    # Patterns are read where the normal meets the surface, so sulci go straight down; the bend curves them.
    lift = 0.9 * np.clip(surface.depth, -3, 30)
    foot = places + lift * normal + 2.5 * bend
    foot[0] += np.where(places[0] > 0, np.float32(57), np.float32(0))
    variety = clouds(45.0, 5)(foot)
    room = _foldable(places, surface) * ramp(steepness, 0.25, 0.65)
    # Towards the middle of a convex body neighbouring sulci come closer.
    shrink = 1 - np.clip(surface.depth, 0, 25) / 70
    width = 0.75 + 1.6 * np.exp(-np.maximum(-surface.hull, 0) / 3)
    deepest = np.clip(16 + 4 * variety, 8, 20) * (1 - 0.42 * ramp(-surface.hull - surface.fissures, -5, 5))
    main = _sheet(stripes(28.0, 3), foot, normal) * shrink
    minor = _sheet(stripes(21.0, 4), foot, normal) * shrink
    # Minor sulci are deep where the main ones leave a wide gyrus only.
    shallow = 2.5 + np.clip(11 + 4 * variety, 4, 16) * ramp(main, 4, 8)
    pial = union(surface.depth, common(main - width, surface.depth - deepest * room), 1.2)
    return union(pial, common(minor - 0.8 * width, surface.depth - shallow * room), 1.2)


def _bend(places: Places) -> Places:
    pattern = clouds(32.0, 6)
    shifts = np.array([[0, 0, 0], [70, 0, 0], WOBBLE], np.float32)
    return np.stack([pattern(places + shift[:, None]) for shift in shifts])


def _surface(places: Places, bend: Places) -> Surface:
    x, y, z = places
    lateral = np.abs(x + 1.2 * bend[0])
    outer = _hull(places, bend[2])
    # Between the hemispheres, all round the corpus callosum and what lies below it.
    callosal = (np.sqrt(((y + 6) / 40) ** 2 + ((z - 2) / 26) ** 2) - 1) * 30
    middle = common(lateral - 0.8, -np.maximum(callosal, np.minimum(y - 9, -2 - z)))
    # Above the temporal lobe, rising backwards, and the insula at its bottom.
    above = z + 2 + 0.42 * y + 2 * bend[1]
    sylvian = common(np.abs(above) - 0.9, np.maximum(39 - lateral, np.abs(y + 10) - 34))
    insular = np.abs(lateral - 38.5 - 1.5 * bend[0] + 0.004 * (y + 5) ** 2) - 0.8
    insula = common(insular, np.maximum(np.abs(above - 1) - 11, np.abs(y + 5) - 20))
    fissures = union(middle, union(sylvian, insula, 5), 5)
    return Surface(union(-outer, fissures, 8), outer, fissures, above)


def _normal(places: Places, bend: Places, depth: Distance) -> tuple[Places, Distance]:
    """The way out, and how steeply the depth falls along it: less than 1 half-way between two surfaces."""
    rises = []
    for axis in range(3):
        moved = places.copy()
        moved[axis] += STEP
        rises.append((depth - _surface(moved, bend).depth) / STEP)
    outward = np.stack(rises)
    steepness = np.sqrt((outward * outward).sum(0))
    return outward / np.maximum(steepness, np.float32(0.3)), steepness


def _foldable(places: Places, surface: Surface) -> Distance:
    """1 where sulci may be, 0 at the brain's base and round the insula."""
    x, y, z = places
    lateral = np.abs(x)
    open_side = ramp(lateral, 8, 20) + ramp(z, 5, 15) + ramp(y, 25, 32) + ramp(-y, 40, 50)
    beside = np.hypot((lateral - 40) / 14, np.maximum(np.abs(surface.above_sylvian) - 6, 0) / 8)
    insula = ramp(-beside, -1.3, -0.6) * ramp(-np.abs(y + 4), -42, -31)
    return np.asarray(np.clip(open_side, 0, 1) * (1 - 0.95 * insula))


def _sheet(pattern: Noise, foot: Places, normal: Places) -> Distance:
    """Distance along the surface to the pattern's zero level, at most a quarter of its wavelength."""
    slope = pattern.slope(foot)
    slope = slope - normal * (normal * slope).sum(0)
    wave = np.float32(2 * np.pi / pattern.wavelength)
    steepness = np.sqrt((slope * slope).sum(0))
    return np.asarray(np.arctan2(np.abs(pattern(foot)) * wave, steepness) / wave)
