"""What a file says about its image, for people: geometry, numbers, and what is odd."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from credwarp.files.dicom import files_of
from credwarp.files.images import load
from credwarp.files.nifti import header_faults
from credwarp.space import Grid

MOST_LABELS = 64


@dataclass(frozen=True, eq=False)
class Description:
    """One image as its file has it; what does not apply to its format is None."""

    path: Path
    format: str
    dtype: str
    grid: Grid
    qform_code: int | None
    sform_code: int | None
    forms_apart: float | None
    minimum: float
    maximum: float
    nan: int
    infinite: int
    labels: tuple[int, ...] | None
    size: int
    warnings: tuple[str, ...]

    @property
    def shape(self) -> tuple[int, int, int]:
        """Voxels along each axis."""
        return self.grid.shape

    @property
    def spacing(self) -> tuple[float, float, float]:
        """Millimetres from a voxel to the next."""
        return self.grid.spacing

    @property
    def orientation(self) -> str:
        """Where the axes point, such as `RAS`."""
        return self.grid.orientation


def describe(path: str | Path) -> Description:
    """Read an image and say what it is; `minimum` and `maximum` pass over what is not finite."""
    path = Path(path)
    stored = load(path)
    data = stored.data
    finite = data[np.isfinite(data)] if data.dtype.kind == "f" else data.ravel()
    nan = int(np.isnan(data).sum()) if data.dtype.kind == "f" else 0
    forms = stored.forms
    faults = header_faults(path) if forms is not None else ()
    parts = files_of(path) if stored.format == "DICOM" else [path]
    return Description(
        path,
        stored.format,
        stored.kind,
        stored.grid,
        None if forms is None else forms.qform_code,
        None if forms is None else forms.sform_code,
        None if forms is None else forms.apart,
        float(finite.min()) if finite.size else float("nan"),
        float(finite.max()) if finite.size else float("nan"),
        nan,
        data.size - finite.size - nan,
        _labels(data),
        sum(part.stat().st_size for part in parts),
        stored.remarks + faults + _numbers(path, data.size - finite.size, finite),
    )


def _labels(data: np.ndarray) -> tuple[int, ...] | None:
    """The distinct values of an integer image, where they are few enough to be labels."""
    if data.dtype.kind == "f":
        return None
    values = np.unique(data)
    return tuple(int(value) for value in values) if values.size <= MOST_LABELS else None


def _numbers(path: Path, broken: int, finite: np.ndarray) -> tuple[str, ...]:
    said = []
    if broken:
        said.append(f"{path.name} has {broken} NaN or infinite voxels; replace them before registering.")
    if finite.size and finite.min() == finite.max():
        said.append(f"{path.name} is {float(finite.min()):g} everywhere.")
    return tuple(said)
