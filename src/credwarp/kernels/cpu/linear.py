"""Linear maps of fields: expand and smooth by bands, the Helmholtz operator, products summed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from credwarp.kernels import reference
from credwarp.kernels.cpu.banding import Taps, across, laplacian, product, within
from credwarp.kernels.cpu.lanes import WIDTH
from credwarp.kernels.cpu.memory import Rows, Shape, blank, empty, launch, readable, rows, voxels
from credwarp.shapes import Fields

# A matrix with more entries in a row than this is multiplied as it is.
WIDEST = 32


def expand(field: Tensor, matrices: Sequence[Tensor]) -> Tensor:
    """As in the reference, except that the matrices are constants."""
    bands = [_Band.of(np.asarray(matrix.detach(), np.float64)) for matrix in matrices]
    if max(len(band.weights) for band in bands) > WIDEST:
        return reference.expand(field, [matrix.detach() for matrix in matrices])
    return _compute(_Banded, field, bands)


def smooth(field: Tensor, taps: Sequence[float]) -> Tensor:
    """As in the reference."""
    bands = [_Band.of(_mirror(n, taps)) for n in voxels(field)]
    if max(len(band.weights) for band in bands) > WIDEST:
        return reference.smooth(field, taps)
    return _compute(_Banded, field, bands)


def helmholtz(field: Fields, kappa: float, spacing: Sequence[float]) -> Fields:
    """As in the reference."""
    x, y, z = (1 / step**2 for step in spacing)
    return _compute(_Helmholtz, field, kappa**2, (x, y, z))


def inner(left: Fields, right: Fields) -> Tensor:
    """As in the reference."""
    return _compute(_Inner, left, right)


@dataclass(frozen=True, eq=False)
class _Band:
    """A matrix by its entries: row r has weights[:, r] in the columns from first[r] on."""

    matrix: np.ndarray
    first: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(cls, matrix: np.ndarray) -> "_Band":
        there = matrix != 0
        used = there.any(axis=1)
        first = np.where(used, there.argmax(axis=1), 0)
        last = np.where(used, matrix.shape[1] - 1 - there[:, ::-1].argmax(axis=1), 0)
        width = int((last - first).max()) + 1
        first = np.minimum(first, matrix.shape[1] - width)
        columns = first + np.arange(width)[:, None]
        return cls(matrix, first, np.ascontiguousarray(np.take_along_axis(matrix.T, columns, axis=0)))

    def transposed(self) -> "_Band":
        return _Band.of(self.matrix.T)

    @property
    def rows(self) -> int:
        return len(self.first)

    def along_z(self) -> tuple[np.ndarray, Taps]:
        """Whether each vector of results starts side by side, and taps for whole vectors."""
        more = -self.rows % WIDTH
        # Beyond the end go on side by side: whatever is read there is not kept.
        ends = self.first[-1] + np.arange(1, more + 1)
        first = np.concatenate([self.first, ends]).astype(np.int64)
        weights = np.pad(self.weights, ((0, 0), (0, more))).astype(np.float32)
        steps = np.diff(first.reshape(-1, WIDTH), axis=1)
        return (steps == 1).all(axis=1), (4 * first, weights)


class _Banded(torch.autograd.Function):
    """A band along each of the last three axes."""

    @staticmethod
    def forward(ctx: Any, field: Tensor, bands: list[_Band]) -> Tensor:
        ctx.bands = bands
        return _applied(field, bands, "zyx")

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return _applied(gradient, [band.transposed() for band in ctx.bands], "xyz"), None


def _applied(field: Tensor, bands: list[_Band], order: str) -> Tensor:
    """The axis first whose result is small."""
    source, shape = readable(field.reshape(-1, 1, *voxels(field))), list(voxels(field))
    leads = field[..., 0, 0, 0].numel()
    result = empty((*field.shape[:-3], *(band.rows for band in bands)))
    for axis in order:
        index = "xyz".index(axis)
        shape[index] = bands[index].rows
        last = axis == order[-1]
        out = rows(result.view(leads, 1, *shape)) if last else blank(leads, 1, _three(shape))
        _along(source, out, leads, _three(shape), index, bands[index])
        source = out
    return result


def _along(source: Rows, out: Rows, leads: int, shape: Shape, axis: int, band: _Band) -> None:
    if axis == 2:
        straight, taps = band.along_z()
        launch(within, leads * shape[0], (source, out), shape, straight, taps)
    else:
        launch(across, leads * shape[0], (source, out), shape, axis, (band.first, band.weights))


class _Helmholtz(torch.autograd.Function):
    """Its own adjoint."""

    @staticmethod
    def forward(ctx: Any, field: Tensor, constant: float, rates: tuple[float, float, float]) -> Tensor:
        ctx.choice = constant, rates
        return _laplacian(field, constant, rates)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        return _laplacian(gradient, *ctx.choice), None, None


def _laplacian(field: Tensor, constant: float, rates: tuple[float, float, float]) -> Tensor:
    result = empty(field.shape)
    size = (field.shape[1], *voxels(field))
    launch(laplacian, field.shape[0] * size[1], (readable(field), rows(result)), size, constant, rates)
    return result


class _Inner(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, left: Tensor, right: Tensor) -> Tensor:
        ctx.save_for_backward(left, right)
        size = (left.shape[1], *voxels(left))
        sums = np.empty((left.shape[0], *size[:2]))
        launch(product, left.shape[0] * size[1], (readable(left), readable(right)), size, sums)
        return torch.from_numpy(sums.sum(axis=2))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None]:
        left, right = ctx.saved_tensors
        factor = gradient.to(left)[:, :, None, None, None]
        needs_left, needs_right = ctx.needs_input_grad
        return right * factor if needs_left else None, left * factor if needs_right else None


def _mirror(n: int, taps: Sequence[float]) -> np.ndarray:
    """The matrix of `smooth` along an axis."""
    matrix = np.zeros((n, n))
    line = np.arange(n)
    for reach in range(1 - len(taps), len(taps)):
        index = (line + reach) % (2 * n)
        np.add.at(matrix, (line, np.where(index < n, index, 2 * n - 1 - index)), taps[abs(reach)])
    return matrix


def _three(shape: list[int]) -> Shape:
    x, y, z = shape
    return x, y, z


def _compute(function: Any, *arguments: Any) -> Tensor:
    result: Tensor = function.apply(*arguments)
    return result
