"""Two scans made one pair: same grid, the fixed image's frame, checked once."""

import logging
from dataclasses import dataclass

import torch

from credwarp.errors import InputError
from credwarp.shapes import Image, Labels, Mask
from credwarp.space.grid import Grid
from credwarp.space.maps import Affine
from credwarp.space.resample import resample, resample_labels, resample_mask
from credwarp.space.volume import Volume

log = logging.getLogger("credwarp")
SMALLEST_SIDE = 4


@dataclass(frozen=True, eq=False)
class Scan:
    """What is known of one subject: an image, perhaps where to look, perhaps what is where."""

    image: Volume
    mask: Volume | None = None
    labels: Volume | None = None


@dataclass(frozen=True, eq=False)
class Pair:
    """Two images voxel by voxel on one grid; `initial` takes points of fixed to points of moving."""

    grid: Grid
    fixed: Image
    moving: Image
    fixed_mask: Mask
    moving_mask: Mask
    initial: Affine
    fixed_labels: Labels | None = None
    moving_labels: Labels | None = None


def prepare(fixed: Scan, moving: Scan, initial: Affine | None = None, spacing: float | None = None) -> Pair:
    """Both scans on the fixed image's frame at `spacing` millimetres (its own without), `initial` applied."""
    for scan, side in ((fixed, "fixed"), (moving, "moving")):
        refuse_unusable(scan, side)
    through = initial or Affine.identity()
    grid = working_grid(fixed.image.grid, spacing)
    background = float(moving.image.data.min())
    view = Volume(moving.image.grid, torch.ones(moving.image.grid.shape, dtype=torch.bool), "field of view")
    moving_mask = resample_mask(view, grid, through).data
    if moving.mask is not None:
        moving_mask = moving_mask & resample_mask(_on_image(moving.mask, moving.image), grid, through).data
    fixed_mask = torch.ones(grid.shape, dtype=torch.bool)
    if fixed.mask is not None:
        fixed_mask = resample_mask(_on_image(fixed.mask, fixed.image), grid).data
    if not bool((fixed_mask & moving_mask).any()):
        raise InputError(
            f"{fixed.image.name} and {moving.image.name} do not overlap where their masks look; "
            "pre-align them (--init affine) or widen the masks."
        )
    return Pair(
        grid,
        resample(fixed.image, grid, outside=float(fixed.image.data.min())).data,
        resample(moving.image, grid, through, outside=background).data,
        fixed_mask,
        moving_mask,
        through,
        None if fixed.labels is None else resample_labels(fixed.labels, grid).data,
        None if moving.labels is None else resample_labels(moving.labels, grid, through).data,
    )


def coarsened(pair: Pair, factor: int) -> Pair:
    """The pair on voxels `factor` times as long, smoothed first; without its labels."""
    grid = pair.grid.coarsened(factor)
    fixed, moving = (resample(Volume(pair.grid, image), grid).data for image in (pair.fixed, pair.moving))
    fixed_mask, moving_mask = (
        resample_mask(Volume(pair.grid, mask), grid).data for mask in (pair.fixed_mask, pair.moving_mask)
    )
    return Pair(grid, fixed, moving, fixed_mask, moving_mask, pair.initial)


def refuse_unusable(scan: Scan, side: str) -> None:
    """Say what makes a scan unfit to be registered."""
    name, data = scan.image.name, scan.image.data
    broken = int((~torch.isfinite(data)).sum())
    if broken:
        raise InputError(f"the {side} image {name} has {broken} NaN or infinite voxels; replace them first.")
    if float(data.min()) == float(data.max()):
        raise InputError(
            f"the {side} image {name} is {float(data.min()):g} everywhere; give one with contrast."
        )
    if scan.mask is not None and not bool(scan.mask.data.any()):
        raise InputError(f"the {side} mask {scan.mask.name} is empty; give one with voxels, or none.")
    if scan.labels is not None and not scan.labels.labels:
        raise InputError(f"the {side} labels {scan.labels.name} hold background only; give some, or none.")


def working_grid(native: Grid, spacing: float | None) -> Grid:
    """The fixed image's frame at right angles, at `spacing` or as fine as it is."""
    grid = native if native.is_orthogonal else native.squared()
    if not native.is_orthogonal:
        log.warning(
            "the fixed image's axes are sheared; the pair lives on the nearest grid with right angles."
        )
    grid = grid if spacing is None else grid.with_spacing(spacing)
    if min(grid.shape) < SMALLEST_SIDE:
        raise InputError(
            f"the working grid has {grid.shape} voxels; a 3-D registration needs at least {SMALLEST_SIDE} "
            "a side, so give a thicker image or a finer --set preparation.spacing."
        )
    return grid


def _on_image(mask: Volume, image: Volume) -> Volume:
    """The mask on its image's grid, with a word where that takes resampling."""
    if mask.grid.matches(image.grid):
        return mask
    moved = resample_mask(mask, image.grid)
    kept, had = int(moved.data.sum()), int(mask.data.sum())
    if kept == 0:
        raise InputError(
            f"{mask.name} lies wholly outside {image.name}; give a mask of the same patient space."
        )
    log.warning(
        "%s is on another grid than %s; resampled: %d voxels there, %d here.",
        mask.name,
        image.name,
        had,
        kept,
    )
    return moved
