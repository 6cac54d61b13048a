"""ITK's transform files, which ANTs, Slicer and elastix share: LPS there, RAS+ here."""

from pathlib import Path

import numpy as np
import SimpleITK as sitk

from credwarp.errors import InputError
from credwarp.files import itk_records as records
from credwarp.files.explain import explained
from credwarp.files.images import check_file, extension
from credwarp.files.itk_images import read_nrrd
from credwarp.files.itk_records import COMPOSITE, Record
from credwarp.files.links import (
    NOTHING,
    Link,
    Transform,
    as_field,
    at_right_angles,
    bare_field,
    joined,
    taken_apart,
)
from credwarp.files.metaimage import read_metaimage
from credwarp.files.stored import placed
from credwarp.files.vectors import VECTOR, read_nifti_vectors, write_nifti_vectors
from credwarp.itk import FLIP, from_linear_transform, to_affine_transform
from credwarp.space import Affine, Grid, Warp

SIGNS = np.array([-1.0, -1.0, 1.0])
FIELDS = ("DisplacementFieldTransform", "GaussianSmoothingOnUpdateDisplacementFieldTransform")
LINEAR = {
    "AffineTransform": sitk.AffineTransform(3),
    "MatrixOffsetTransformBase": sitk.AffineTransform(3),
    "Rigid3DTransform": sitk.AffineTransform(3),
    "Euler3DTransform": sitk.Euler3DTransform(),
    "VersorTransform": sitk.VersorTransform(),
    "VersorRigid3DTransform": sitk.VersorRigid3DTransform(),
    "Similarity3DTransform": sitk.Similarity3DTransform(),
    "ScaleTransform": sitk.ScaleTransform(3),
    "ScaleVersor3DTransform": sitk.ScaleVersor3DTransform(),
    "ScaleSkewVersor3DTransform": sitk.ScaleSkewVersor3DTransform(),
    "ComposeScaleSkewVersor3DTransform": sitk.ComposeScaleSkewVersor3DTransform(),
    "TranslationTransform": sitk.TranslationTransform(3),
}
HDF5, TEXT, MATLAB, NIFTI = (".h5", ".hdf5"), (".tfm", ".txt"), (".mat",), (".nii", ".nii.gz")
FORMATS = HDF5 + TEXT + MATLAB + NIFTI


def write_itk(mapping: Transform, path: str | Path, grid: Grid | None = None) -> None:
    """Write a map of points for ITK, ANTs and Slicer; the name says how.

    `.h5` is a composite of affines and fields, the whole map; `.tfm`, `.txt` and `.mat` hold an affine;
    `.nii` and `.nii.gz` one displacement field with everything folded into it, on `grid` where that is given.
    """
    path = Path(path)
    form = extension(path)
    if form in HDF5:
        links = taken_apart(mapping)
        records.write_itk_hdf5(path, [_record(link) for link in reversed(links)])
    elif form in NIFTI:
        field = at_right_angles(as_field(mapping, grid))
        values = np.moveaxis(np.asarray(field.displacement), 0, -1) * SIGNS.astype(np.float32)
        write_nifti_vectors(values[:, :, :, None], field.grid, VECTOR, path)
    elif form in TEXT + MATLAB:
        if not isinstance(mapping, Affine):
            raise InputError(f"{path} would hold an affine transform only; write the warp as .h5 or .nii.gz.")
        if form in TEXT:
            records.write_itk_text(path, [_record(mapping)])
        else:
            records.write_itk_matlab(path, _record(mapping))
    else:
        raise InputError(f"{path} ends in none of {', '.join(FORMATS)}; name it after the format you want.")


def read_itk(path: str | Path) -> Transform:
    """Read a transform of ITK, ANTs, Slicer or elastix as a map of RAS+ points."""
    path = Path(path)
    check_file(path)
    form = extension(path)
    if form in NIFTI:
        values, grid, _ = read_nifti_vectors(path)
        if values.ndim != 5:
            raise InputError(
                f"{path} is no ITK displacement field, whose shape is (x, y, z, 1, 3); see read_fsl."
            )
        return bare_field(path, grid, values[:, :, :, 0] * SIGNS)
    if form in (".nrrd", ".nhdr", ".mha", ".mhd"):
        stored = read_nrrd(path, 3) if form in (".nrrd", ".nhdr") else read_metaimage(path, 3)
        return bare_field(path, stored.grid, stored.data * SIGNS)
    if form in HDF5:
        found = records.read_hdf5(path)
    elif form in TEXT:
        found = records.read_text(path)
    elif form in MATLAB:
        found = records.read_matlab(path)
    else:
        raise InputError(f"{path} ends in none of {', '.join(FORMATS)}; convert it or rename it.")
    return _joined(path, found)


def _joined(path: Path, found: list[Record]) -> Transform:
    """ITK applies the last transform of a composite first."""
    if found and found[0].kind == COMPOSITE:
        parts = found[1:]
    elif len(found) == 1:
        parts = found
    else:
        raise InputError(f"{path} holds {len(found)} transforms and no word on how they combine; give one.")
    with explained(path, "ITK transform"):
        return joined([_link(path, record) for record in reversed(parts)])


def _link(path: Path, record: Record) -> Link:
    if record.kind == "IdentityTransform":
        return NOTHING
    if record.kind in FIELDS:
        return _warp(path, record)
    if record.kind not in LINEAR:
        raise InputError(
            f"{path} holds a {record.kind}, which is not read; convert it to a displacement field."
        )
    transform = sitk.Transform(LINEAR[record.kind])
    expected = len(transform.GetFixedParameters())
    # Files older than ITK 4.10 lack Euler3D's fourth fixed parameter, the order of its angles.
    fixed = np.pad(record.fixed, (0, max(0, expected - len(record.fixed)))) if expected == 4 else record.fixed
    if len(record.parameters) != transform.GetNumberOfParameters() or len(fixed) != expected:
        raise ValueError(f"a {record.kind} with {len(record.parameters)} + {len(fixed)} parameters")
    transform.SetFixedParameters(fixed.tolist())
    transform.SetParameters(record.parameters.tolist())
    return from_linear_transform(transform)


def _warp(path: Path, record: Record) -> Warp:
    size, origin, spacing, direction = np.split(record.fixed, [3, 6, 9])
    affine = np.eye(4)
    affine[:3, :3] = direction.reshape(3, 3) * spacing
    affine[:3, 3] = origin
    x, y, z = (int(n) for n in size)
    grid = placed(path, (x, y, z), FLIP @ affine)
    return bare_field(path, grid, record.parameters.reshape(z, y, x, 3).transpose(2, 1, 0, 3) * SIGNS)


def _record(link: Link) -> Record:
    if isinstance(link, Affine):
        transform = to_affine_transform(link)
        return Record("AffineTransform", np.array(transform.GetParameters()), np.zeros(3))
    field = at_right_angles(link)
    affine = FLIP @ field.grid.affine
    spacing = np.array(field.grid.spacing)
    direction = (affine[:3, :3] / spacing).ravel()
    fixed = np.concatenate([field.grid.shape, affine[:3, 3], spacing, direction])
    values = np.asarray(field.displacement, dtype=np.float32) * SIGNS.astype(np.float32)[:, None, None, None]
    return Record(FIELDS[0], values.transpose(3, 2, 1, 0).ravel(), fixed)
