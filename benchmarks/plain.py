"""The paper's arithmetic in plain PyTorch: autograd through `grid_sample` and dense convolutions."""

import torch
from torch import Tensor
from torch.nn.functional import conv3d, grid_sample, pad

SQUARINGS = 12
REACH = 2
PRECISIONS = (0.5, 2.0, 8.0, 32.0)
ALPHA = 0.15
STRENGTH = 1.2


def plain_gradient(velocity: Tensor, fixed: Tensor, moving: Tensor) -> tuple[Tensor, Tensor]:
    """−log p(w | images) and its gradient: 1 × 3 × N³ voxels of velocity, 1 × 1 × N³ of either image."""
    leaf = velocity.clone().requires_grad_(True)
    displacement = _exponential(leaf)
    warped = _sampled(moving, displacement)
    residual = _standardised(fixed) - _standardised(warped)
    energy = ALPHA * _mixture_energy(residual) + 0.5 * STRENGTH * _roughness(leaf)
    energy.backward()
    assert leaf.grad is not None
    return energy.detach(), leaf.grad


def _exponential(velocity: Tensor) -> Tensor:
    field = velocity / 2**SQUARINGS
    for _ in range(SQUARINGS):
        field = field + _sampled(field, field)
    return field


def _sampled(values: Tensor, displacement: Tensor) -> Tensor:
    """values(x + displacement(x)); `grid_sample` wants coordinates from −1 to 1, the last axis first."""
    sides = displacement.shape[2:]
    axes = [torch.linspace(-1, 1, n) for n in sides]
    identity = torch.stack(torch.meshgrid(*axes, indexing="ij"), dim=-1)
    scale = torch.tensor([2 / (n - 1) for n in sides])
    places = identity + displacement.movedim(1, -1) * scale
    return grid_sample(values, places.flip(-1), mode="bilinear", padding_mode="border", align_corners=True)


def _standardised(image: Tensor) -> Tensor:
    mean = _boxed(image)
    variance = _boxed((image - mean) ** 2)
    return (image - mean) / torch.sqrt(variance + 1e-10)


def _boxed(image: Tensor) -> Tensor:
    width = 2 * REACH + 1
    ones = torch.ones((1, 1, width, width, width)) / width**3
    return conv3d(pad(image, (REACH,) * 6, mode="replicate"), ones)


def _mixture_energy(residual: Tensor) -> Tensor:
    precision = torch.tensor(PRECISIONS).view(4, 1, 1, 1)
    logits = 0.5 * torch.log(precision) - 0.5 * precision * residual**2
    return -torch.logsumexp(logits, dim=1).sum()


def _roughness(velocity: Tensor) -> Tensor:
    return torch.stack([(velocity.diff(dim=axis) ** 2).sum() for axis in (2, 3, 4)]).sum()
