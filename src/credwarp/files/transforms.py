"""Reading a transform, whatever its format."""

from pathlib import Path

from credwarp.errors import InputError
from credwarp.files.explain import explained
from credwarp.files.fsl import NIFTI, is_flirt, read_fsl
from credwarp.files.images import check_file, extension
from credwarp.files.itk_files import read_itk
from credwarp.files.links import Transform
from credwarp.files.nifti import opened
from credwarp.files.x5 import read_x5
from credwarp.space import Grid


def read_transform(path: str | Path, fixed: Grid | None = None, moving: Grid | None = None) -> Transform:
    """Read a map of RAS+ points of fixed to points of moving; FSL's files need both images' grids."""
    path = Path(path)
    check_file(path)
    if extension(path) == ".x5":
        return read_x5(path)
    if not _is_fsl(path):
        return read_itk(path)
    if fixed is None or moving is None:
        raise InputError(
            f"{path} is FSL's, which means nothing without its two images; give the fixed and the moving one."
        )
    return read_fsl(path, fixed, moving)


def _is_fsl(path: Path) -> bool:
    if extension(path) in NIFTI:
        with explained(path, "field of vectors"), opened(path) as image:
            return len(image.shape) == 4
    return extension(path) == ".mat" and is_flirt(path)
