"""Operators diagonal in the cosine transform: SciPy, the stencil they stand for, the law they draw."""

import math

import numpy as np
import pytest
import scipy.fft
import torch

from credwarp import spectral
from credwarp.kernels.reference import helmholtz
from credwarp.spectral import Diagonal, dct, idct, laplacian_eigenvalues

SHAPE = (5, 6, 7)
SPACING = (1.0, 2.0, 0.7)


def field(shape=SHAPE, dtype=torch.float64, chains=2):
    return torch.randn((chains, 3, *shape), generator=torch.Generator().manual_seed(1), dtype=dtype)


@pytest.fixture
def operator():
    scale = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64).view(3, 1, 1, 1)
    return Diagonal(scale * (0.5 + laplacian_eigenvalues(SHAPE, SPACING)) ** 2)


@pytest.fixture(params=["matrices", "fft"])
def either_way(request, monkeypatch):
    if request.param == "fft":
        monkeypatch.setattr(spectral, "LARGEST_MATRIX", 0)


@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize("shape", [(5, 6, 7), (8, 1, 3), (1, 1, 2)])
def test_the_transform_is_scipys_and_its_inverse_undoes_it(shape):
    x = field(shape)
    expected = scipy.fft.dctn(np.asarray(x), axes=(2, 3, 4), norm="ortho")
    np.testing.assert_allclose(np.asarray(dct(x)), expected, atol=1e-12)
    torch.testing.assert_close(idct(dct(x)), x, atol=1e-12, rtol=0)


@pytest.mark.usefixtures("either_way")
def test_the_transform_is_orthonormal_and_its_adjoint_is_its_inverse():
    x = field().requires_grad_()
    y = field().flip(0)
    forward = dct(x)
    torch.testing.assert_close(forward.square().sum(), x.square().sum())
    (gradient,) = torch.autograd.grad((forward * y).sum(), x)
    torch.testing.assert_close(gradient, idct(y))


def test_single_precision_keeps_seven_digits():
    x = field((33, 40, 47))
    torch.testing.assert_close(dct(x.float()).double(), dct(x), atol=5e-6, rtol=0)


def test_a_matrix_first_used_under_inference_mode_serves_autograd_later():
    with torch.inference_mode():
        dct(torch.zeros(11, 13, 17))
    dct(torch.zeros(11, 13, 17, requires_grad=True)).sum().backward()


def test_shapes_are_known_without_data():
    x = torch.empty((2, 3, *SHAPE), device="meta")
    operator = Diagonal(torch.ones((1, *SHAPE), device="meta"))
    assert idct(dct(x)).shape == x.shape
    assert operator.quadratic(operator.apply(x)).shape == (2,)


@pytest.mark.parametrize("mode", [(0, 0, 0), (1, 0, 0), (2, 3, 5), (4, 5, 6)])
def test_eigenvalues_are_those_of_the_stencil(mode):
    coefficients = torch.zeros((1, 3, *SHAPE), dtype=torch.float64)
    coefficients[(0, 1, *mode)] = 1.0
    wave = idct(coefficients)
    eigenvalue = 0.3**2 + laplacian_eigenvalues(SHAPE, SPACING)[mode]
    torch.testing.assert_close(helmholtz(wave, 0.3, SPACING), eigenvalue * wave, atol=1e-12, rtol=0)


def test_the_root_applied_twice_is_the_operator_and_the_inverse_undoes_it(operator):
    x = field()
    root = operator.sqrt()
    torch.testing.assert_close(root.apply(root.apply(x)), operator.apply(x))
    torch.testing.assert_close(operator.inverse().apply(operator.apply(x)), x)


def test_the_quadratic_form_is_the_field_times_its_image(operator):
    x = field(dtype=torch.float32)
    expected = (x * operator.apply(x)).double().sum(dim=(1, 2, 3, 4))
    torch.testing.assert_close(operator.quadratic(x), expected, rtol=1e-5, atol=0)
    assert operator.quadratic(x).dtype == torch.float64


def test_the_log_determinant_of_the_identity_is_zero_and_of_a_scaling_known():
    ones = torch.ones((1, *SHAPE), dtype=torch.float64)
    assert Diagonal(ones).log_det() == 0
    size = math.prod(SHAPE)
    assert Diagonal(2 * ones).log_det() == pytest.approx(3 * size * math.log(2))
    assert Diagonal(2 * ones.expand(3, *SHAPE)).log_det() == pytest.approx(3 * size * math.log(2))


def test_draws_have_the_operator_as_their_precision():
    shape, chains = (3, 2, 2), 20_000
    scale = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64).view(3, 1, 1, 1)
    operator = Diagonal(scale * (0.5 + laplacian_eigenvalues(shape, SPACING)))
    draws = operator.draw(torch.Generator().manual_seed(2), chains).double().reshape(chains, -1)
    size = draws.shape[1]
    unit = torch.eye(size, dtype=torch.float64).reshape(size, 3, *shape)
    covariance = operator.inverse().apply(unit).reshape(size, size)
    variance = covariance.diagonal()
    error = torch.sqrt((variance[:, None] * variance + covariance**2) / chains)
    assert ((draws.T @ draws / chains - covariance).abs() / error).max() < 4.5
    assert (draws.mean(0).abs() / torch.sqrt(variance / chains)).max() < 4.5


def test_the_same_generator_state_draws_the_same_fields(operator):
    first, second = (operator.draw(torch.Generator().manual_seed(3), 2) for _ in range(2))
    assert torch.equal(first, second)
    assert not torch.equal(first[0], first[1])
