"""The shape of the log-posterior in cosine coordinates: prior, Gauss–Newton blocks, metrics made of them."""

import itertools
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from credwarp.samplers.precondition import Block, Diagonal
from credwarp.shapes import Noises, Positions, Vector
from credwarp.spectral import dct, idct

# Where the six numbers of a symmetric 3 × 3 matrix stand.
PLACES = ((0, 3, 4), (3, 1, 5), (4, 5, 2))


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Q, diagonal in cosine coordinates."""

    eigenvalues: Vector

    @property
    def noises(self) -> int:
        """As many as coordinates."""
        return self.eigenvalues.shape[0]

    def product(self, position: Positions) -> Positions:
        """Q x."""
        return position * self.eigenvalues.to(position.dtype)

    def sqrt(self, noise: Noises) -> Positions:
        """Q^½ z."""
        return noise * self.eigenvalues.sqrt().to(noise.dtype)

    def blended(self, other: "Spectrum", share: float) -> "Spectrum":
        """(1 − share) · this + share · other."""
        return Spectrum((1 - share) * self.eigenvalues + share * other.eigenvalues)


@dataclass(frozen=True, eq=False)
class VoxelBlocks:
    """H: a symmetric 3 × 3 matrix per parameter (xx, yy, zz, xy, xz, yz), seen in cosine coordinates."""

    blocks: Float[Tensor, "6 i j k"]

    @property
    def noises(self) -> int:
        """As many as coordinates."""
        return self.blocks[:3].numel()

    def product(self, position: Positions) -> Positions:
        """H x."""
        field = idct(self._field(position))
        rows = [sum(self.blocks[PLACES[a][b]] * field[:, b] for b in range(3)) for a in range(3)]
        return dct(torch.stack(rows, dim=1)).flatten(1)  # type: ignore[arg-type]

    def sqrt(self, noise: Noises) -> Positions:
        """B z with B Bᵀ = H: a Cholesky factor per parameter."""
        x, y, z = self._field(noise).unbind(1)
        xx, yy, zz, xy, xz, yz = self.blocks
        tiny = 1e-12 * self.blocks[:3].max() + torch.finfo(self.blocks.dtype).tiny
        a = (xx + tiny).sqrt()
        b, c = xy / a, xz / a
        d = (yy - b**2).clamp(min=0).add(tiny).sqrt()
        e = (yz - b * c) / d
        f = (zz - c**2 - e**2).clamp(min=0).sqrt()
        return dct(torch.stack([a * x, b * x + d * y, c * x + e * y + f * z], dim=1)).flatten(1)

    def blended(self, other: "VoxelBlocks", share: float) -> "VoxelBlocks":
        """(1 − share) · this + share · other."""
        return VoxelBlocks((1 - share) * self.blocks + share * other.blocks)

    def means(self) -> Float[Tensor, "3"]:
        """The average of each component's diagonal."""
        return self.blocks[:3].mean(dim=(1, 2, 3))

    def lowest(self, counts: tuple[int, int, int]) -> Float[Tensor, "block block"]:
        """H exactly, on the `counts` lowest frequencies of each axis and component, component outermost."""
        pairs = [_products(n, count) for n, count in zip(self.blocks.shape[1:], counts, strict=True)]
        sums = self.blocks.to(torch.float64)
        for products, _ in pairs:
            # Contracts the first axis of voxels that is left and appends that of the pairs.
            sums = torch.tensordot(sums, products, dims=([1], [1]))
        x, y, z = (index for _, index in pairs)
        rows = [
            torch.cat([_assemble(sums[PLACES[a][b]], x, y, z) for b in range(3)], dim=1) for a in range(3)
        ]
        return torch.cat(rows)

    def _field(self, position: Tensor) -> Float[Tensor, "chains 3 i j k"]:
        return position.reshape(-1, 3, *self.blocks.shape[1:])


def diagonal_metric(prior: Spectrum, curvature: VoxelBlocks) -> Diagonal:
    """(Q + c)⁻¹, c the average curvature of each component; certain as far as Q is the larger part."""
    variances = 1 / (prior.eigenvalues + _average(prior, curvature))
    return Diagonal(variances, prior.eigenvalues * variances)


def block_metric(prior: Spectrum, curvature: VoxelBlocks, counts: tuple[int, int, int]) -> Block:
    """(Q + H)⁻¹ on the lowest frequencies, (Q + c)⁻¹ on the others."""
    shape = curvature.blocks.shape[1:]
    low = tuple(min(n, count) for n, count in zip(shape, counts, strict=True))
    places = torch.arange(prior.noises, device=prior.eigenvalues.device).reshape(3, *shape)
    index = places[:, : low[0], : low[1], : low[2]].flatten()
    precision = curvature.lowest((low[0], low[1], low[2])) + torch.diag(prior.eigenvalues[index].double())
    variances = diagonal_metric(prior, curvature).variances
    rest = Diagonal(variances.float(), (prior.eigenvalues * variances).float())
    return Block.of(index, precision, rest)


def _average(prior: Spectrum, curvature: VoxelBlocks) -> Vector:
    each = prior.noises // 3
    return curvature.means().to(prior.eigenvalues.dtype).repeat_interleave(each)


def _products(sides: int, count: int) -> tuple[Float[Tensor, "pairs sides"], Tensor]:
    """b_k(x) b_l(x) for all k ≤ l < count, and which of them belongs to (k, l)."""
    modes = dct(torch.eye(sides, dtype=torch.float64).reshape(sides, 1, 1, sides))[:, 0, 0].T[:count]
    pairs = list(itertools.combinations_with_replacement(range(count), 2))
    index = torch.empty((count, count), dtype=torch.int64)
    for number, (k, low) in enumerate(pairs):
        index[k, low] = index[low, k] = number
    first, second = torch.tensor(pairs).T
    return modes[first] * modes[second], index


def _assemble(sums: Float[Tensor, "p q r"], x: Tensor, y: Tensor, z: Tensor) -> Float[Tensor, "block block"]:
    size = len(x) * len(y) * len(z)
    block = sums[
        x[:, None, None, :, None, None], y[None, :, None, None, :, None], z[None, None, :, None, None, :]
    ]
    return block.reshape(size, size)
