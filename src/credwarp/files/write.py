"""Writing images, labels and masks, in the geometry that they have."""

from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
import SimpleITK as sitk
import torch

from credwarp.errors import InputError
from credwarp.files.atomic import replacing
from credwarp.files.explain import explained
from credwarp.files.images import extension
from credwarp.files.nifti import geometry, opened
from credwarp.itk import place
from credwarp.space import Grid, Volume

NIFTI, ITK, MGH = (".nii", ".nii.gz"), (".nrrd", ".mha"), (".mgh", ".mgz")
UNCOMPRESSED = (".nii", ".mgh")
FORMATS = NIFTI + ITK + MGH
INTEGERS = {MGH: (np.uint8, np.int16, np.int32)}
SMALL_TO_LARGE = (np.uint8, np.int16, np.uint16, np.int32, np.int64)
WHERE = ("qform_code", "sform_code", "srow_x", "srow_y", "srow_z", "xyzt_units")
QUATERNION = tuple(
    f"{part}_{axis}" for part, axes in (("quatern", "bcd"), ("qoffset", "xyz")) for axis in axes
)
LONGEST_SIDE = 32767
SCANNER, MILLIMETRE = 1, 2


def write_volume(volume: Volume, path: str | Path, like: str | Path | None = None) -> None:
    """Write a volume; its format follows from the name, and `like` lends its NIfTI header's geometry codes.

    Images become 32-bit floats, masks bytes, labels the smallest integers that hold them all.
    """
    path = Path(path)
    form = next((forms for forms in (NIFTI, ITK, MGH) if extension(path) in forms), None)
    if form is None:
        raise InputError(f"{path} ends in none of {', '.join(FORMATS)}; name it after the format you want.")
    data = _numbers(volume, path, INTEGERS.get(form, SMALL_TO_LARGE))
    if form == ITK and not volume.grid.is_orthogonal:
        raise InputError(f"{path}: its axes are sheared, which {form} files cannot hold; write .nii.gz.")
    with replacing(
        path, 0 if extension(path) in (".nii.gz", ".mgz", ".nrrd", ".mha") else data.nbytes
    ) as new:
        if form == NIFTI:
            nifti_image(data, volume.grid, None if like is None else Path(like)).to_filename(new)
        elif form == MGH:
            nib.MGHImage(data, volume.grid.affine).to_filename(new)
        else:
            image = place(sitk.GetImageFromArray(np.ascontiguousarray(data.T)), volume.grid)
            sitk.WriteImage(image, str(new), True)


def nifti_image(data: np.ndarray, grid: Grid, like: Path | None = None) -> Any:
    """A nibabel image; with `like` a NIfTI on the same grid, its header's geometry to the last bit."""
    form, header = _lent(like)
    if max(data.shape) > LONGEST_SIDE:
        form = nib.Nifti2Image
    image = form(data, None, dtype=data.dtype)
    new = image.header
    if header is not None and geometry(like or Path(), header, grid.shape)[0].matches(grid, 1e-6):
        for field in (*WHERE, *QUATERNION):
            new[field] = header[field]
        new["pixdim"][:4] = header["pixdim"][:4]
        return image
    q_code, s_code = (max(0, int(header[code])) if header is not None else SCANNER for code in WHERE[:2])
    if s_code == 0 and (q_code == 0 or not grid.is_orthogonal):
        s_code = SCANNER
    new.set_qform(grid.affine, q_code if grid.is_orthogonal else 0)
    new.set_sform(grid.affine, s_code)
    new["xyzt_units"] = MILLIMETRE
    return image


def _lent(like: Path | None) -> tuple[Any, Any]:
    """Which NIfTI `like` is, and its header; NIfTI-1 and none for every other format."""
    if like is None or not like.is_file() or extension(like) not in (*NIFTI, ".hdr", ".img", ".img.gz"):
        return nib.Nifti1Image, None
    with explained(like, "NIfTI file"), opened(like) as image:
        header = image.header
    second = isinstance(header, nib.Nifti2Header)
    return (nib.Nifti2Image if second else nib.Nifti1Image), header


def _numbers(volume: Volume, path: Path, integers: tuple[Any, ...]) -> np.ndarray:
    data = volume.data
    if data.dtype == torch.bool:
        return np.asarray(data).astype(np.uint8)
    values = np.asarray(data.detach())
    if data.is_floating_point():
        return values.astype(np.float32)
    least, most = int(values.min()), int(values.max())
    for kind in integers:
        if np.iinfo(kind).min <= least and most <= np.iinfo(kind).max:
            return values.astype(kind)
    raise InputError(
        f"{path} cannot hold the labels {least} to {most} of {volume.name}; renumber them or write .nii.gz."
    )
