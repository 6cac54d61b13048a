"""Where voxels are: grids, volumes and maps of points, all in RAS+ millimetres."""

from credwarp.space.grid import Grid
from credwarp.space.maps import Affine, Chain, Mapping, Warp
from credwarp.space.prepare import Pair, Scan, coarsened, prepare, refuse_unusable, working_grid
from credwarp.space.resample import look_up, resample, resample_labels, resample_mask, sample
from credwarp.space.volume import Volume

__all__ = [
    "Affine",
    "Chain",
    "Grid",
    "Mapping",
    "Pair",
    "Scan",
    "Volume",
    "Warp",
    "coarsened",
    "look_up",
    "prepare",
    "refuse_unusable",
    "resample",
    "resample_labels",
    "resample_mask",
    "sample",
    "working_grid",
]
