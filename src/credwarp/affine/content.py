"""Where in an image there is something to align: the bright object, its box and its centre of mass."""

import itertools
from dataclasses import dataclass

import numpy as np
import SimpleITK as sitk
import torch
from scipy import ndimage

from credwarp.errors import InputError
from credwarp.space import Grid, Volume, resample

LOOK_SIDE = 64
SMALLEST_SIDE = 4
PERCENTILES = (0.05, 99.9)


@dataclass(frozen=True, eq=False)
class Content:
    """An image without outliers, with the box (in voxels) and the centre of mass (in mm) of what it shows."""

    image: Volume
    mask: Volume | None
    low: np.ndarray
    high: np.ndarray
    centroid: np.ndarray

    @property
    def extent(self) -> float:
        """The longest side of the box, in millimetres."""
        return float(((self.high - self.low) * np.array(self.image.grid.spacing)).max())

    @property
    def background(self) -> float:
        """What lies beyond the field of view."""
        return float(self.image.data.min())

    def corners(self) -> np.ndarray:
        """The box's eight corners, in millimetres."""
        return self.image.grid.to_world(_corners(self.low, self.high))

    def frame(self, spacing: float, margin: float, beyond: bool) -> Grid:
        """The box widened by `margin` of its sides, isotropic; inside the field of view unless `beyond`."""
        grid = self.image.grid
        widen = margin * (self.high - self.low)
        low, high = self.low - widen, self.high + widen
        if not beyond:
            low = np.maximum(low, -0.5)
            high = np.minimum(high, np.array(grid.shape) - 0.5)
        sides = (high - low) * np.array(grid.spacing) / spacing
        x, y, z = np.maximum(SMALLEST_SIDE, np.floor(sides + 1e-6)).astype(int).tolist()
        affine = np.eye(4)
        affine[:3, :3] = grid.directions * spacing
        affine[:3, 3] = grid.to_world((low + high) / 2) - affine[:3, :3] @ (np.array([x, y, z]) - 1) / 2
        frame = Grid((x, y, z), affine)
        return frame if frame.is_orthogonal else frame.squared()


def content_of(image: Volume, mask: Volume | None, side: str) -> Content:
    """What the image shows: inside the mask, or else the largest object brighter than the background."""
    data = np.asarray(image.data, dtype=np.float32)
    lowest, highest = np.percentile(data, PERCENTILES)
    if not lowest < highest:
        lowest, highest = data.min(), data.max()
    if min(image.grid.shape) < SMALLEST_SIDE:
        raise InputError(
            f"the {side} image {image.name} has {image.grid.shape} voxels; an alignment needs at least "
            f"{SMALLEST_SIDE} a side."
        )
    clipped = image.with_data(torch.from_numpy(np.clip(data, lowest, highest)))
    seen, weights = _bright(clipped) if mask is None else (mask.grid, np.asarray(mask.data, dtype=np.float32))
    places = np.argwhere(weights > 0)
    shares = weights[tuple(places.T)]
    centroid = seen.to_world((places * shares[:, None]).sum(axis=0) / shares.sum())
    corners = image.grid.to_voxels(
        seen.to_world(_corners(places.min(axis=0) - 0.5, places.max(axis=0) + 0.5))
    )
    low = np.maximum(corners.min(axis=0), -0.5)
    high = np.minimum(corners.max(axis=0), np.array(image.grid.shape) - 0.5)
    return Content(clipped, mask, low, high, centroid)


def _corners(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    return np.array(list(itertools.product(*zip(low, high, strict=True))))


def _bright(image: Volume) -> tuple[Grid, np.ndarray]:
    """The largest object above Otsu's threshold, looked at coarsely, weighted by its brightness above it."""
    extent = max(n * h for n, h in zip(image.grid.shape, image.grid.spacing, strict=True))
    look = image.grid.with_spacing([max(h, extent / LOOK_SIDE) for h in image.grid.spacing])
    data = np.asarray(resample(image, look).data)
    bright = sitk.GetArrayFromImage(sitk.OtsuThreshold(sitk.GetImageFromArray(data), 0, 1)) > 0
    objects, _ = ndimage.label(bright)
    largest = int(np.argmax(np.bincount(objects.ravel())[1:])) + 1
    return look, np.where(objects == largest, data - data.min(), 0.0)
