"""Images, labels and masks taken through a transform, or through draws, onto any grid."""

import logging
from collections.abc import Iterator
from typing import Literal, TypeAlias

from credwarp.errors import InputError
from credwarp.register import Run, Side
from credwarp.space import Grid, Mapping, Volume, look_up, resample_labels

log = logging.getLogger("credwarp")

Interpolation: TypeAlias = Literal["linear", "cubic", "nearest", "label"]
ORDERS = {"nearest": 0, "linear": 1, "cubic": 3}
GLANCE = 4


def apply(volume: Volume, grid: Grid, through: Mapping, interpolation: Interpolation) -> Volume:
    """The volume at the voxels of `grid`, each looked up where the map takes it, as other tools do.

    Beyond the field of view labels are background and images have their own smallest value.
    """
    if not overlaps(volume, grid, through):
        log.warning(
            "the result lies outside %s; perhaps the transform is for the other direction.", volume.name
        )
    if interpolation != "label":
        return look_up(volume, grid, through, float(volume.data.min()), ORDERS[interpolation])
    if volume.data.dtype.is_floating_point:
        raise InputError(f"{volume.name} holds no whole numbers; apply it as an image, not as labels.")
    return resample_labels(volume, grid, through)


def samples(
    run: Run,
    volume: Volume,
    grid: Grid,
    count: int,
    interpolation: Interpolation = "linear",
    to: Side = "fixed",
) -> Iterator[Volume]:
    """The volume on the `to` side as `count` draws, evenly spread over the run's, have it; one by one."""
    return (apply(volume, grid, warp, interpolation) for warp in run.warps(count, to))


def overlaps(volume: Volume, grid: Grid, through: Mapping) -> bool:
    """Whether the map takes any voxel of a coarser grid into the volume's field of view."""
    return bool(volume.grid.contains(through(grid.coarsened(GLANCE).points())).any())
