"""The only room that knows formats: images, transforms, and how to write them safely."""

from credwarp.files.atomic import refuse_unwritable, replacing, write_bytes, write_text
from credwarp.files.describe import Description, describe
from credwarp.files.fsl import read_fsl, write_fsl
from credwarp.files.images import grid_of, read, read_labels, read_mask
from credwarp.files.itk_files import read_itk, write_itk
from credwarp.files.keeping import FolderKeeper, open_run
from credwarp.files.links import Transform
from credwarp.files.markups import Ellipsoids, NamedPoints
from credwarp.files.memory import memory_available, peak_memory_mb
from credwarp.files.networks import TrainingFolder, read_network, write_network
from credwarp.files.pairs import (
    LANDMARKS,
    PAIR,
    Landmarks,
    read_landmarks,
    read_pair,
    write_landmarks,
    write_pair,
)
from credwarp.files.plans import read_plan
from credwarp.files.points import read_points, write_points
from credwarp.files.runs import RunFolder, digest, digests, provenance_of
from credwarp.files.tables import write_table
from credwarp.files.transforms import read_transform
from credwarp.files.vectors import read_components, write_components
from credwarp.files.write import write_volume
from credwarp.files.x5 import read_x5, write_x5

__all__ = [
    "LANDMARKS",
    "PAIR",
    "Description",
    "FolderKeeper",
    "Ellipsoids",
    "Landmarks",
    "NamedPoints",
    "RunFolder",
    "TrainingFolder",
    "Transform",
    "describe",
    "digest",
    "grid_of",
    "digests",
    "memory_available",
    "open_run",
    "peak_memory_mb",
    "provenance_of",
    "read",
    "read_components",
    "read_fsl",
    "read_itk",
    "read_labels",
    "read_mask",
    "read_network",
    "read_landmarks",
    "read_pair",
    "read_plan",
    "read_points",
    "read_transform",
    "read_x5",
    "refuse_unwritable",
    "replacing",
    "write_bytes",
    "write_components",
    "write_fsl",
    "write_itk",
    "write_network",
    "write_landmarks",
    "write_pair",
    "write_points",
    "write_table",
    "write_text",
    "write_volume",
    "write_x5",
]
