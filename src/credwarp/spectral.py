"""Operators that the cosine transform makes diagonal: the prior's precision, its square root, its inverse."""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from credwarp.shapes import Fields, PerChain

# Products with the cosine matrix beat the FFT severalfold up to this side, measured on two cores.
LARGEST_MATRIX = 256


@dataclass(frozen=True, eq=False)
class Diagonal:
    """A symmetric operator on 3-component fields: A = Cᵀ diag(eigenvalues) C, C the orthonormal DCT-II.

    One set of float64 eigenvalues per component, or one that all three share. `draw`, `inverse` and
    `log_det` need them positive.
    """

    eigenvalues: Float[Tensor, "components i j k"]

    def apply(self, field: Fields) -> Fields:
        """A field."""
        return idct(dct(field) * self.eigenvalues.to(field.dtype))

    def sqrt(self) -> "Diagonal":
        """The symmetric square root: sqrt ∘ sqrt = A."""
        return Diagonal(self.eigenvalues.sqrt())

    def inverse(self) -> "Diagonal":
        """A⁻¹."""
        return Diagonal(self.eigenvalues.reciprocal())

    def quadratic(self, field: Fields) -> PerChain:
        """Fieldᵀ A field, summed in float64."""
        power = dct(field).to(torch.float64) ** 2
        return (self.eigenvalues * power).sum(dim=(1, 2, 3, 4))

    def log_det(self) -> Float[Tensor, ""]:
        """The log-determinant on 3-component fields."""
        return self.eigenvalues.log().sum() * (3 / self.eigenvalues.shape[0])

    def draw(self, generator: torch.Generator, chains: int) -> Fields:
        """Fields from N(0, A⁻¹): A is their precision."""
        shape = (chains, 3, *self.eigenvalues.shape[1:])
        noise = torch.randn(shape, generator=generator, device=self.eigenvalues.device)
        return idct(noise * self.eigenvalues.rsqrt().to(noise.dtype))


def laplacian_eigenvalues(shape: Sequence[int], spacing: Sequence[float]) -> Float[Tensor, "i j k"]:
    """Σ_a (2 − 2 cos(πk_a/n_a)) / h_a² in float64: those of −Δ with reflecting borders."""
    x, y, z = (
        (2 - 2 * torch.cos(math.pi / n * torch.arange(n, dtype=torch.float64))) / h**2
        for n, h in zip(shape, spacing, strict=True)
    )
    return x[:, None, None] + y[:, None] + z


def dct(field: Tensor) -> Tensor:
    """The orthonormal DCT-II along the last three axes."""
    for axis in (-3, -2, -1):
        n = field.shape[axis]
        if n <= LARGEST_MATRIX:
            field = _multiply(_cosines(n, field.dtype, field.device), field, axis)
        else:
            field = _fast(field.movedim(axis, -1)).movedim(-1, axis)
    return field


def idct(coefficients: Tensor) -> Tensor:
    """The inverse of `dct`, which is also its adjoint."""
    for axis in (-3, -2, -1):
        n = coefficients.shape[axis]
        if n <= LARGEST_MATRIX:
            matrix = _cosines(n, coefficients.dtype, coefficients.device)
            coefficients = _multiply(matrix.T, coefficients, axis)
        else:
            coefficients = _fast_inverse(coefficients.movedim(axis, -1)).movedim(-1, axis)
    return coefficients


def _multiply(matrix: Tensor, field: Tensor, axis: int) -> Tensor:
    if axis == -1:
        return field @ matrix.T
    if axis == -2:
        return matrix @ field
    return (matrix @ field.flatten(-2)).reshape(field.shape)


@functools.lru_cache(maxsize=64)
def _cosines(n: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    """Row k is the k-th cosine."""
    # Outside inference mode, so that a matrix first needed there can serve autograd later.
    with torch.inference_mode(False):
        places = torch.arange(n, dtype=torch.float64, device=device)
        matrix = torch.cos(math.pi / n * places[:, None] * (places + 0.5)) * math.sqrt(2 / n)
        matrix[0] = math.sqrt(1 / n)
        return matrix.to(dtype)


@functools.lru_cache(maxsize=64)
def _twiddles(n: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    """exp(−iπk/2n), scaled so that the transform is orthonormal."""
    with torch.inference_mode(False):
        places = torch.arange(n, dtype=torch.float64, device=device)
        scale = torch.full_like(places, math.sqrt(2 / n))
        scale[0] = math.sqrt(1 / n)
        return torch.polar(scale, -math.pi / (2 * n) * places).to(dtype.to_complex())


def _fast(rows: Tensor) -> Tensor:
    """The DCT-II of the last axis by one FFT of the even samples followed by the odd ones in reverse."""
    n = rows.shape[-1]
    shuffled = torch.cat([rows[..., ::2], rows[..., 1::2].flip(-1)], dim=-1)
    spectrum: Tensor = torch.fft.fft(shuffled) * _twiddles(n, rows.dtype, rows.device)
    return spectrum.real


def _fast_inverse(rows: Tensor) -> Tensor:
    n = rows.shape[-1]
    mirrored = torch.cat([torch.zeros_like(rows[..., :1]), rows[..., 1:].flip(-1)], dim=-1)
    spectrum = torch.complex(rows, -mirrored) / _twiddles(n, rows.dtype, rows.device)
    # The mirrored half has the scale of k > 0 and vanishes at k = 0, so dividing by the twiddle is exact.
    shuffled: Tensor = torch.fft.ifft(spectrum).real
    half = (n + 1) // 2
    out = torch.empty_like(shuffled)
    out[..., ::2] = shuffled[..., :half]
    out[..., 1::2] = shuffled[..., half:].flip(-1)
    return out
