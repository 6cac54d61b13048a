"""Which code runs is chosen by the tensors, silently."""

import pytest
import torch

from credwarp import kernels
from credwarp.kernels import cpu, reference

FIELD = (1, 3, 4, 5, 6)
CALLS = {
    "compose": lambda u: kernels.compose(u, u),
    "square": kernels.square,
    "exponential": lambda u: kernels.exponential(u, 2),
    "warp": lambda u: kernels.warp(u[0], u),
    "slope": lambda u: kernels.slope(u[0], u),
    "local_mean": lambda u: kernels.local_mean(u, 1),
    "local_variance": lambda u: kernels.local_variance(u, 1),
    "standardise": lambda u: kernels.standardise(u, 1, 0.1),
    "smooth": lambda u: kernels.smooth(u, (0.5, 0.25)),
    "helmholtz": lambda u: kernels.helmholtz(u, 0.1, (1.0, 1.0, 1.0)),
    "inner": lambda u: kernels.inner(u, u),
    "expand": lambda u: kernels.expand(u, [torch.ones(2, n, device=u.device) for n in u.shape[2:]]),
    "mixture_log_prob": lambda u: kernels.mixture_log_prob(u, u[0, :1], u[:, 0, 0, 0], u[:, 0, 0, 0]),
    "mixture_statistics": lambda u: kernels.mixture_statistics(u, u[0, :1], u[:, 0, 0, 0], u[:, 0, 0, 0])[0],
}


def test_every_kernel_is_in_all_rooms():
    assert sorted(kernels.__all__) == sorted(CALLS) == sorted(cpu.__all__)
    assert all(hasattr(reference, name) for name in CALLS)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("kind", [torch.float32, torch.float64], ids=str)
def test_float32_on_the_cpu_is_compiled_and_nothing_else(name, kind, monkeypatch):
    def refuse(*_):
        raise AssertionError

    wanted, other = (cpu, reference) if kind == torch.float32 else (reference, cpu)
    monkeypatch.setattr(other, name, refuse)
    if name in ("smooth", "expand"):
        monkeypatch.setattr(cpu.linear, "WIDEST", 99)
    assert CALLS[name](torch.ones(FIELD, dtype=kind)) is not None
    monkeypatch.setattr(wanted, name, refuse)
    with pytest.raises(AssertionError):
        CALLS[name](torch.ones(FIELD, dtype=kind))


@pytest.mark.parametrize("name", CALLS)
def test_shapes_and_gradients_are_known_without_data(name):
    u = torch.ones(FIELD, device="meta", requires_grad=True)
    found = CALLS[name](u)
    assert found.is_meta
    assert found.shape == CALLS[name](torch.ones(FIELD)).shape
    found.sum().backward()
    assert u.grad.shape == u.shape
