"""Volumes and affine maps as SimpleITK objects and back: LPS there, RAS+ here."""

import numpy as np
import SimpleITK as sitk
import torch

from credwarp.space import Affine, Grid, Volume

FLIP = np.diag([-1.0, -1.0, 1.0, 1.0])


def grid_of(image: sitk.Image) -> Grid:
    """Where the voxels of a 3-D ITK image are."""
    affine = np.eye(4)
    affine[:3, :3] = np.reshape(image.GetDirection(), (3, 3)) * np.array(image.GetSpacing())
    affine[:3, 3] = image.GetOrigin()
    x, y, z = image.GetSize()
    return Grid((x, y, z), FLIP @ affine)


def place(image: sitk.Image, grid: Grid) -> sitk.Image:
    """Give an ITK image the geometry of `grid`, which must have right angles."""
    affine = FLIP @ grid.affine
    image.SetSpacing(grid.spacing)
    image.SetDirection((affine[:3, :3] / np.array(grid.spacing)).ravel().tolist())
    image.SetOrigin(affine[:3, 3].tolist())
    return image


def to_image(volume: Volume) -> sitk.Image:
    """A volume as an ITK image; a mask becomes 8-bit."""
    data = volume.data.to(torch.uint8) if volume.data.dtype == torch.bool else volume.data
    return place(sitk.GetImageFromArray(np.ascontiguousarray(np.asarray(data).T)), volume.grid)


def from_image(image: sitk.Image, name: str) -> Volume:
    """An ITK image as a volume, numbers as they are."""
    return Volume(grid_of(image), torch.from_numpy(sitk.GetArrayFromImage(image).T.copy()), name)


def to_affine_transform(affine: Affine) -> sitk.AffineTransform:
    """The same map on LPS points."""
    matrix = FLIP @ affine.matrix @ FLIP
    transform = sitk.AffineTransform(3)
    transform.SetMatrix(matrix[:3, :3].ravel().tolist())
    transform.SetTranslation(matrix[:3, 3].tolist())
    return transform


def from_linear_transform(transform: sitk.Transform) -> Affine:
    """Any linear ITK transform (rigid, similarity, affine …) as a map of RAS+ points."""
    origin = np.array(transform.TransformPoint((0.0, 0.0, 0.0)))
    matrix = np.eye(4)
    matrix[:3, 3] = origin
    for axis in range(3):
        point = [0.0, 0.0, 0.0]
        point[axis] = 1.0
        matrix[:3, axis] = np.array(transform.TransformPoint(point)) - origin
    return Affine(FLIP @ matrix @ FLIP)
