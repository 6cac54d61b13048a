"""Subjects of one anatomical family, alone or as a pair whose true map is known."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from credwarp.fields import to_millimetres
from credwarp.phantom.anatomy import HEAD
from credwarp.phantom.appearance import Contrast, scan
from credwarp.phantom.deformation import Deformation, drawn, on_grid
from credwarp.phantom.landmarks import landmarks
from credwarp.phantom.solids import Places
from credwarp.shapes import Field, Points
from credwarp.space import Affine, Grid, Scan, Warp

# Mean millimetres: how subjects differ from the family, and the two of a pair from each other.
SUBJECT_MOTION = 1.5
PAIR_MOTION = 2.9
# Flows are drawn apart from the subjects' own shapes.
FLOW_SEEDS = 1_000_003
IDENTITY = Affine.identity()


@dataclass(frozen=True, eq=False)
class Subject:
    """One scanned head, and the deformation that made it of the family's anatomy."""

    scan: Scan
    deformation: Deformation
    landmarks: Points

    @property
    def to_family(self) -> Warp:
        """The map of this subject's points to those of the common anatomy."""
        return self.deformation.forward


@dataclass(frozen=True, eq=False)
class Truth:
    """What a registration of the pair should find: points of fixed to points of moving.

    `velocity` and its flow `displacement` are in voxels of the fixed grid; `warp` has the displacement in
    millimetres and the affine part after it. Landmarks are RAS+ millimetres, row by row the same place.
    """

    velocity: Field
    displacement: Field
    warp: Warp
    fixed_landmarks: Points
    moving_landmarks: Points


@dataclass(frozen=True, eq=False)
class PhantomPair:
    """Two scans of the family and the truth between them."""

    fixed: Scan
    moving: Scan
    truth: Truth


def head_grid(shape: Sequence[int] = (64, 64, 64), spacing: float | Sequence[float] | None = None) -> Grid:
    """An upright grid round the head; without a spacing each side just holds it."""
    wanted = HEAD / np.array(shape) if spacing is None else spacing
    steps = np.broadcast_to(np.asarray(wanted, dtype=np.float64), 3)
    affine = np.diag([*steps, 1.0])
    affine[:3, 3] = -steps * (np.array(shape) - 1) / 2
    return Grid((shape[0], shape[1], shape[2]), affine)


def subject(
    seed: int, shape: Sequence[int] = (64, 64, 64), spacing: float | Sequence[float] | None = None
) -> Subject:
    """One member of the family: its own shape, contrast, bias and noise."""
    own = drawn(seed, SUBJECT_MOTION)
    generator = np.random.default_rng([seed, 1])
    seen = scan(head_grid(shape, spacing), own.carry, Contrast.drawn(generator), generator, f"subject {seed}")
    return Subject(seen, own, own.inverse(landmarks()))


def population(
    count: int,
    shape: Sequence[int] = (64, 64, 64),
    seed: int = 0,
    spacing: float | Sequence[float] | None = None,
) -> Iterator[Subject]:
    """Subjects `seed`, `seed` + 1 and so on."""
    return (subject(seed + number, shape, spacing) for number in range(count))


def pair(
    shape: Sequence[int] = (64, 64, 64),
    seed: int = 0,
    spacing: float | Sequence[float] | None = None,
    affine: Affine = IDENTITY,
    moving_grid: Grid | None = None,
) -> PhantomPair:
    """Subject `seed` as fixed, and as moving the same head after a known flow and `affine`, seen anew.

    The moving image lies on `moving_grid`, or on the fixed image's grid without one.
    """
    fixed = subject(seed, shape, spacing)
    grid = fixed.scan.image.grid
    flow = drawn(seed + FLOW_SEEDS, PAIR_MOTION)
    still = affine.inverse().matrix.astype(np.float32)

    def to_family(places: Places) -> Places:
        return fixed.deformation.carry(flow.carry_back(still[:3, :3] @ places + still[:3, 3:]))

    generator = np.random.default_rng([seed, 2])
    moving = scan(moving_grid or grid, to_family, Contrast.drawn(generator), generator, f"moving {seed}")
    return PhantomPair(fixed.scan, moving, _truth(flow, grid, affine, fixed.landmarks))


def _truth(flow: Deformation, grid: Grid, affine: Affine, places: Points) -> Truth:
    displacement = on_grid(flow.there, grid)
    warp = Warp(grid, to_millimetres(displacement, grid), IDENTITY, affine)
    moved = affine(flow.forward(places))
    return Truth(on_grid(flow.velocity, grid), displacement, warp, places, moved)
