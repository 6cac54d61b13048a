"""The search: every start rigidly on a coarse level, the best few as affine maps on finer ones."""

import logging
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal

import numpy as np
import SimpleITK as sitk
import torch
from scipy.spatial.transform import Rotation

from credwarp import itk
from credwarp.affine.content import Content, content_of
from credwarp.errors import InputError
from credwarp.kernels.threads import count
from credwarp.space import Affine, Scan, Volume, refuse_unusable, resample, resample_mask

log = logging.getLogger("credwarp")

SIDES = (24, 48, 96)  # voxels along the content's longest side, level by level
MARGIN = 0.1
PADDING = 0.5
SAMPLES = 30_000
BINS = 32
SEARCH_ITERATIONS = 100
ITERATIONS = 500
RELAXATION = 0.8  # a half gives up in the narrow valleys of round heads
FINALISTS = (3, 2)  # rigid ends that go on as affine maps, and of those the ones that go on to finer levels
MEETING = 0.05  # of the content: ends that are nearer to each other met in one optimum
TURN = 40.0  # degrees; a head turned by 45° about any axis is then within 39° of a start, by 60° within 48°
SEED = 1


@dataclass(frozen=True)
class Attempt:
    """One start and the mutual information it reached, in nats; -inf where nothing overlapped."""

    start: str
    information: float


@dataclass(frozen=True, eq=False)
class Alignment:
    """The best map of points of fixed to points of moving, and how it was found."""

    affine: Affine
    start: str
    information: float
    attempts: tuple[Attempt, ...]


@dataclass(frozen=True, eq=False)
class _Level:
    """Both images as the metric sees them."""

    fixed: sitk.Image
    moving: sitk.Image
    fixed_mask: sitk.Image | None
    moving_mask: sitk.Image | None


@dataclass(frozen=True, eq=False)
class _End:
    """Where a climb ended."""

    start: str
    transform: sitk.Euler3DTransform | sitk.AffineTransform
    information: float


def align(
    fixed: Volume,
    moving: Volume,
    fixed_mask: Volume | None = None,
    moving_mask: Volume | None = None,
    kind: Literal["rigid", "affine"] = "affine",
) -> Alignment:
    """The map of points of fixed to points of moving with the most mutual information.

    The result depends on nothing but the arguments: each climb has one thread and a fixed seed.
    """
    for scan, side in ((Scan(fixed, fixed_mask), "fixed"), (Scan(moving, moving_mask), "moving")):
        refuse_unusable(scan, side)
    still = content_of(fixed, fixed_mask, "fixed")
    floating = content_of(moving, moving_mask, "moving")
    coarse, middle, fine = (_level(still, floating, side) for side in SIDES)

    ends = _each(lambda start: _climb(coarse, start, SEARCH_ITERATIONS), _starts(still, floating))
    attempts = tuple(Attempt(end.start, end.information) for end in ends)
    free = _freed if kind == "affine" else _kept
    best = [free(end) for end in _distinct(ends, still)[: FINALISTS[0]]]
    if not best:
        raise InputError(
            f"{fixed.name} and {moving.name} overlap from none of {len(ends)} starts; "
            "check that both show the same part of the body, or give masks of it."
        )
    best = _distinct(_each(lambda end: _climb(coarse, end), best), still)[: FINALISTS[1]] or best
    winner = max(_each(lambda end: _climb(middle, end), best), key=_worth)
    last = max(_climb(fine, winner), winner, key=lambda end: np.isfinite(end.information))
    affine = itk.from_linear_transform(last.transform)
    _judge(affine, fixed, moving)
    return Alignment(affine, last.start, last.information, attempts)


def _starts(fixed: Content, moving: Content) -> list[_End]:
    """The headers, the middles of the fields of view, the centres of mass, and turns about the last."""
    centre = fixed.centroid
    moments = moving.centroid - centre
    starts = [
        _start("identity", centre, np.zeros(3), np.zeros(3)),
        _start("geometry", centre, moving.image.grid.centre - fixed.image.grid.centre, np.zeros(3)),
        _start("moments", centre, moments, np.zeros(3)),
    ]
    for axis, name in enumerate("xyz"):
        for sign in (1, -1):
            turn = np.zeros(3)
            turn[axis] = sign * TURN
            starts.append(_start(f"moments, {sign * TURN:+.0f}° about {name}", centre, moments, turn))
    return starts


def _start(name: str, centre: np.ndarray, shift: np.ndarray, degrees: np.ndarray) -> _End:
    """Turn about `centre`, then shift, as a rigid ITK transform."""
    matrix = np.eye(4)
    matrix[:3, :3] = Rotation.from_rotvec(degrees, degrees=True).as_matrix()
    matrix[:3, 3] = centre - matrix[:3, :3] @ centre + shift
    affine = itk.to_affine_transform(Affine(matrix))
    middle = (itk.FLIP[:3, :3] @ centre).tolist()
    rigid = sitk.Euler3DTransform()
    rigid.SetCenter(middle)
    rigid.SetMatrix(affine.GetMatrix())
    rigid.SetTranslation((np.array(affine.TransformPoint(middle)) - np.array(middle)).tolist())
    return _End(name, rigid, -np.inf)


def _distinct(ends: Sequence[_End], fixed: Content) -> list[_End]:
    """The ends that overlapped, best first, one for each place where several met."""
    kept: list[tuple[_End, np.ndarray]] = []
    box = fixed.corners()
    for end in sorted(ends, key=_worth, reverse=True):
        corners = itk.from_linear_transform(end.transform)(box)
        apart = [np.linalg.norm(corners - other, axis=1).max() for _, other in kept]
        if np.isfinite(end.information) and min(apart, default=np.inf) > MEETING * fixed.extent:
            kept.append((end, corners))
    return [end for end, _ in kept]


def _freed(end: _End) -> _End:
    """The same map, free to scale and shear."""
    affine = sitk.AffineTransform(3)
    affine.SetCenter(end.transform.GetCenter())
    affine.SetMatrix(end.transform.GetMatrix())
    affine.SetTranslation(end.transform.GetTranslation())
    return _End(end.start, affine, end.information)


def _kept(end: _End) -> _End:
    return end


def _level(fixed: Content, moving: Content, side: int) -> _Level:
    """Both with `side` voxels along the content, or as many as there are.

    Below the finest level the moving image goes on as background beyond its field of view and its mask,
    so that no start can gain by sliding out of them; at the finest, what is not there does not count.
    """
    finest = side == SIDES[-1]
    spacing = max(fixed.extent / side, min(fixed.image.grid.spacing))
    here = fixed.frame(spacing, MARGIN, beyond=False)
    there = moving.frame(spacing, PADDING, beyond=not finest)
    image = resample(moving.image, there, outside=moving.background)
    mask = None if moving.mask is None else resample_mask(moving.mask, there)
    if mask is not None and not finest:
        image = image.with_data(torch.where(mask.data, image.data, moving.background))
    return _Level(
        itk.to_image(resample(fixed.image, here, outside=fixed.background)),
        itk.to_image(image),
        None if fixed.mask is None else itk.to_image(resample_mask(fixed.mask, here)),
        itk.to_image(mask) if mask is not None and finest else None,
    )


def _climb(level: _Level, start: _End, iterations: int = ITERATIONS) -> _End:
    """Follow the gradient of the mutual information in steps of at most a voxel."""
    search = sitk.ImageRegistrationMethod()
    search.SetNumberOfThreads(1)
    search.SetNumberOfWorkUnits(1)
    search.SetMetricAsMattesMutualInformation(BINS)
    search.SetMetricSamplingStrategy(search.RANDOM)
    search.SetMetricSamplingPercentage(min(1.0, SAMPLES / level.fixed.GetNumberOfPixels()), SEED)
    if level.fixed_mask is not None:
        search.SetMetricFixedMask(level.fixed_mask)
    if level.moving_mask is not None:
        search.SetMetricMovingMask(level.moving_mask)
    search.SetInterpolator(sitk.sitkLinear)
    search.SetOptimizerAsRegularStepGradientDescent(
        learningRate=1.0,
        minStep=1e-4,
        numberOfIterations=iterations,
        relaxationFactor=RELAXATION,
        gradientMagnitudeTolerance=1e-6,
        estimateLearningRate=search.EachIteration,
        maximumStepSizeInPhysicalUnits=level.fixed.GetSpacing()[0],
    )
    search.SetOptimizerScalesFromPhysicalShift()
    transform = type(start.transform)(start.transform)
    search.SetInitialTransform(transform, inPlace=True)
    try:
        search.Execute(level.fixed, level.moving)
    except RuntimeError:
        log.debug("the start '%s' left the moving image.", start.start)
        return _End(start.start, start.transform, -np.inf)
    return _End(start.start, transform, -float(search.GetMetricValue()))


def _each(climb: Callable[[_End], _End], starts: Sequence[_End]) -> list[_End]:
    """All climbs at the same time: ITK leaves Python's lock while it works."""
    with ThreadPoolExecutor(min(len(starts), count())) as pool:
        return list(pool.map(climb, starts))


def _worth(end: _End) -> float:
    return end.information


def _judge(affine: Affine, fixed: Volume, moving: Volume) -> None:
    growth = float(np.linalg.det(affine.matrix[:3, :3]))
    if not 0.5 < growth < 2:
        log.warning(
            "aligning %s to %s changes volumes by a factor of %.2f; look at the result before using it.",
            moving.name, fixed.name, growth,
        )  # fmt: skip
