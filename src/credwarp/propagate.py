"""Images, labels and masks taken through a transform onto any grid."""

from typing import Literal, TypeAlias

from credwarp.errors import InputError
from credwarp.space import Grid, Mapping, Volume, resample, resample_labels

Interpolation: TypeAlias = Literal["linear", "cubic", "nearest", "label"]
ORDERS = {"nearest": 0, "linear": 1, "cubic": 3}


def apply(volume: Volume, grid: Grid, through: Mapping, interpolation: Interpolation) -> Volume:
    """The volume at the voxels of `grid`, each looked up where the map takes it.

    Beyond the field of view labels are background and images have their own smallest value.
    """
    if interpolation == "label":
        if volume.data.dtype.is_floating_point:
            raise InputError(f"{volume.name} holds no whole numbers; apply it as an image, not as labels.")
        return resample_labels(volume, grid, through)
    return resample(volume, grid, through, float(volume.data.min()), ORDERS[interpolation])
