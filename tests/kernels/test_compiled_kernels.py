"""Compiled kernels equal the reference: values and every gradient, whatever the shapes, places and memory."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from credwarp import kernels
from credwarp.kernels import reference, threads

# One float32 rounding is 6e-8 of a value; sums of a few hundred terms stay within this share of the largest.
TOLERANCE = 1e-5
SHAPES = [(9, 7, 21), (1, 2, 3), (2, 1, 1), (2, 2, 2), (6, 5, 32), (3, 19, 40)]
LENGTHS = [0.0, 0.3, 0.99, 3.0, 10.0]


def random(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def field(chains, shape, length, seed=0):
    """Smooth enough that neighbours often share a cell, and not always; at most `length` long."""
    rough = random(chains, 3, *shape, seed=seed)
    smooth = reference.smooth(rough, (0.4, 0.2, 0.1))
    return smooth * (length / smooth.abs().max())


def matrices(shape):
    """Down along x, up along y by bands with gaps, dense along z."""
    x, y, z = shape
    down = torch.zeros(max(x // 2, 1), x).scatter_(
        1, torch.arange(0, x - x % 2 or 1, 2)[: max(x // 2, 1), None], 1.0
    )
    up = torch.eye(y).repeat_interleave(3, 0) + 0.3 * torch.eye(y).roll(1, 1).repeat_interleave(3, 0)
    return [down, up, random(z + 5, z, seed=9)]


def law(chains, components):
    share = torch.log_softmax(random(chains, components, seed=3), dim=1)
    return share, 2 * random(chains, components, seed=4)


def weight(chains, shape):
    return random(chains, *shape, seed=5).clamp(min=0)


# Name: the function of a room and of tensors, and the tensors, all to be differentiated.
CASES = {
    "compose": (
        lambda room, outer, inner: room.compose(outer, inner),
        lambda n, shape, length: (field(n, shape, 2.0, seed=1), field(n, shape, length)),
    ),
    "square": (
        lambda room, u: room.square(u),
        lambda n, shape, length: (field(n, shape, length),),
    ),
    "exponential": (
        lambda room, v: room.exponential(v, 4),
        lambda n, shape, length: (field(n, shape, length),),
    ),
    "no squaring": (
        lambda room, v: room.exponential(v, 0),
        lambda n, shape, length: (field(n, shape, length),),
    ),
    "warp": (
        lambda room, image, u: room.warp(image, u),
        lambda n, shape, length: (random(2, *shape, seed=1), field(n, shape, length)),
    ),
    "slope": (
        lambda room, image, u: room.slope(image, u),
        lambda n, shape, length: (random(2, *shape, seed=1), field(n, shape, length)),
    ),
}
STILL_CASES = {
    **{
        f"{name} in a radius of {radius}": (
            lambda room, image, name=name, radius=radius: getattr(room, name)(image, radius),
            lambda n, shape: (100 + random(n, 2, *shape),),
        )
        for name in ("local_mean", "local_variance")
        for radius in (1, 2, 7)
    },
    **{
        f"standardise in a radius of {radius}": (
            lambda room, image, radius=radius: room.standardise(image, radius, 0.1),
            lambda n, shape: (100 + random(n, 2, *shape),),
        )
        for radius in (1, 2, 7)
    },
    **{
        f"smooth with {len(taps)} taps": (
            lambda room, u, taps=taps: room.smooth(u, taps),
            lambda n, shape: (random(n, 3, *shape),),
        )
        for taps in ((1.0,), (0.5, 0.25), (0.3, 0.2, 0.1, 0.05, 0.04, 0.03, 0.02, 0.01))
    },
    "helmholtz": (
        lambda room, u: room.helmholtz(u, 0.3, (1.0, 2.0, 0.7)),
        lambda n, shape: (random(n, 3, *shape),),
    ),
    "inner": (
        lambda room, left, right: room.inner(left, right),
        lambda n, shape: (random(n, 3, *shape), random(n, 3, *shape, seed=1)),
    ),
    "expand": (
        lambda room, u: room.expand(u, matrices(u.shape[2:])),
        lambda n, shape: (random(n, 3, *shape),),
    ),
    "expand by full matrices": (
        lambda room, u: room.expand(u, [random(n + 1, n) for n in u.shape[2:]]),
        lambda n, shape: (random(n, 3, *shape),),
    ),
    "mixture_log_prob": (
        lambda room, r, share, precision: room.mixture_log_prob(
            r, weight(1, r.shape[2:]).to(r), share, precision
        ),
        lambda n, shape: (2 * random(n, 2, *shape), *law(n, 4)),
    ),
    "mixture_log_prob with a weight per chain": (
        lambda room, r, share, precision: room.mixture_log_prob(
            r, weight(len(r), r.shape[2:]).to(r), share, precision
        ),
        lambda n, shape: (2 * random(n, 2, *shape), *law(n, 1)),
    ),
    **{
        f"mixture_statistics, {which}": (
            lambda room, *inputs, index=index: room.mixture_statistics(*inputs)[index],
            lambda n, shape: (2 * random(n, 2, *shape), weight(1, shape), *law(n, 4)),
        )
        for index, which in enumerate(("counts", "squares"))
    },
}


def assert_equal(call, inputs, tolerance=TOLERANCE):
    """Values and all gradients against the reference in float64, relative to the largest."""
    ours = [value.detach().requires_grad_() for value in inputs]
    exact = [value.detach().double().requires_grad_() for value in inputs]
    found, wanted = call(kernels, *ours), call(reference, *exact)
    assert_near(found, wanted, tolerance)
    arriving = random(*wanted.shape, seed=7)
    gradients = torch.autograd.grad(found, ours, arriving.to(found))
    for gradient, truth in zip(gradients, torch.autograd.grad(wanted, exact, arriving.double()), strict=True):
        assert gradient.dtype == torch.float32
        assert_near(gradient, truth, tolerance)


def assert_near(found, wanted, tolerance=TOLERANCE):
    assert found.shape == wanted.shape
    found, wanted = found.detach().double(), wanted.detach()
    assert (found - wanted).abs().max() <= tolerance * max(float(wanted.abs().max()), 1e-3)


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", CASES)
def test_what_moves_equals_the_reference(name, shape, length):
    call, inputs = CASES[name]
    assert_equal(call, inputs(2, shape, length))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", STILL_CASES)
def test_what_stays_equals_the_reference(name, shape):
    call, inputs = STILL_CASES[name]
    assert_equal(call, inputs(2, shape))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", ["compose", "square", "warp", "slope"])
def test_far_out_of_range_is_the_border(name, shape):
    call, inputs = CASES[name]
    assert_equal(call, inputs(2, shape, 300.0))


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(sorted(CASES)),
    st.tuples(st.integers(1, 9), st.integers(1, 9), st.integers(1, 50)),
    st.integers(1, 3),
    # What single precision loses beside a position decides on which side of a kink it lies.
    st.just(0.0) | st.floats(1e-3, 12),
)
def test_any_shape_equals_the_reference(name, shape, chains, length):
    call, inputs = CASES[name]
    assert_equal(call, inputs(chains, shape, length))


@pytest.mark.parametrize("name", CASES)
def test_displacements_by_whole_voxels_take_the_slopes_of_the_reference(name):
    call, inputs = CASES[name]
    *others, u = inputs(2, (5, 6, 20), 3.0)
    scale = 16 if name == "exponential" else 1
    assert_equal(call, (*others, (u.round() * scale)))


@pytest.mark.parametrize("name", CASES)
def test_rough_fields_equal_the_reference(name):
    call, inputs = CASES[name]
    *others, u = inputs(1, (6, 7, 33), 1.0)
    assert_equal(call, (*others, 4 * random(*u.shape, seed=8)), tolerance=2e-5)


LAYOUTS = {
    "turned": lambda value: value.transpose(-1, -3).contiguous().transpose(-1, -3),
    "every second": lambda value: torch.stack([value, value], dim=-1).flatten(-2)[..., ::2],
    "a part": lambda value: torch.nn.functional.pad(value, (3, 2, 1, 1))[..., 1:-1, 3:-2],
    "channels last": lambda value: value.movedim(-4, -1).contiguous().movedim(-1, -4),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", [*CASES, *STILL_CASES])
def test_any_layout_of_memory_will_do(name, layout):
    shape = (4, 5, 18)
    call, inputs = {**CASES, **STILL_CASES}[name]
    given = inputs(2, shape, 2.5) if name in CASES else inputs(2, shape)
    given = [LAYOUTS[layout](value) if value.ndim >= 4 else value for value in given]
    assert any(not value.is_contiguous() for value in given)
    assert_equal(call, given)


def test_chains_that_share_memory_and_gradients_that_do():
    u = field(1, (5, 6, 20), 2.0).expand(3, -1, -1, -1, -1)
    assert_equal(lambda room, u: room.square(u), (u,))
    leaf = u.clone().requires_grad_()
    exact = u.double().requires_grad_()
    kernels.square(leaf).sum().backward()
    reference.square(exact).sum().backward()
    assert_near(leaf.grad, exact.grad)


@pytest.mark.parametrize("name", [*CASES, *STILL_CASES])
def test_chains_do_not_feel_each_other(name):
    call, inputs = {**CASES, **STILL_CASES}[name]
    given = inputs(4, (4, 5, 18), 2.5) if name in CASES else inputs(4, (4, 5, 18))
    together = call(kernels, *given)
    for chain in range(4):
        alone = [value[chain : chain + 1] if len(value) == 4 else value for value in given]
        if name == "mixture_log_prob with a weight per chain":
            continue
        assert torch.equal(call(kernels, *alone)[0], together[chain])


@pytest.mark.parametrize("name", [*CASES, *STILL_CASES])
def test_the_same_bits_each_time_on_any_number_of_threads(name, monkeypatch):
    call, inputs = {**CASES, **STILL_CASES}[name]
    given = inputs(2, (37, 9, 20), 3.0) if name in CASES else inputs(2, (37, 9, 20))

    def bits(count):
        monkeypatch.setattr(threads, "_chosen", count)
        leaves = [value.clone().requires_grad_() for value in given]
        found = call(kernels, *leaves)
        return [found, *torch.autograd.grad(found, leaves, random(*found.shape).to(found))]

    once = bits(1)
    for count in (1, 2, 3):
        for first, second in zip(once, bits(count), strict=True):
            assert torch.equal(first, second)


@pytest.mark.parametrize("length", [0.5, 5.0])
def test_a_nan_is_not_lost(length):
    u = field(1, (5, 6, 20), length)
    image = random(1, 5, 6, 20)
    u[0, 1, 2, 3, 4] = math.nan
    warped = kernels.warp(image, u)
    assert torch.equal(warped.isnan(), u.isnan().any(dim=1, keepdim=True))
    leaf = u.clone().requires_grad_()
    squared = kernels.square(leaf)
    assert squared[0, :, 2, 3, 4].isnan().all()
    (gradient,) = torch.autograd.grad(squared.sum(), leaf)
    assert gradient[0, :, 2, 3, 4].isnan().any()
    image[0, 2, 3, 4] = math.nan
    still = torch.zeros(1, 3, 5, 6, 20)
    assert kernels.warp(image, still)[0, 0, 2, 3, 4].isnan()
    for found in (
        kernels.local_mean(image, 1),
        kernels.standardise(image, 1, 0.1),
        kernels.local_variance(image, 1),
        kernels.smooth(image, (0.5, 0.25)),
        kernels.helmholtz(image.expand(1, 3, -1, -1, -1), 0.1, (1.0, 1.0, 1.0)),
        kernels.expand(image, [torch.eye(n) for n in image.shape[1:]]),
    ):
        assert found[..., 2, 3, 4].isnan().all()
    share, precision = law(1, 4)
    for counted in (torch.ones(1, 5, 6, 20), torch.zeros(1, 5, 6, 20)):
        assert kernels.mixture_log_prob(image[None], counted, share, precision).isnan().all()


def test_an_infinite_displacement_reads_the_border():
    image = random(1, 5, 6, 20)
    u = torch.zeros(1, 3, 5, 6, 20)
    u[:, 2], u[:, 0, 3] = math.inf, -math.inf
    warped = kernels.warp(image, u)[0, 0]
    torch.testing.assert_close(warped[2], image[0, 2, :, -1:].expand(6, 20))
    torch.testing.assert_close(warped[3], image[0, 0, :, -1:].expand(6, 20))


def test_rows_of_more_than_a_thousand_voxels():
    assert_equal(lambda room, u: room.square(u), (field(1, (2, 3, 1100), 4.0),))


def test_a_small_deviation_beside_a_large_mean_keeps_its_digits():
    """Bone beside air, the deviation of a scanner's noise: from a float64 loop over windows."""
    image = 1000.0 + 5 * random(1, 1, 12, 12, 24)
    image[..., 12:] += 3000.0
    radius, floor = 2, 0.5
    found = kernels.standardise(image, radius, floor)
    exact = image[0, 0].double()
    for x, y, z in ((0, 0, 0), (5, 5, 5), (6, 7, 9), (6, 6, 11), (6, 6, 12), (11, 11, 23), (3, 4, 20)):
        window = exact[
            max(x - radius, 0) : x + radius + 1,
            max(y - radius, 0) : y + radius + 1,
            max(z - radius, 0) : z + radius + 1,
        ]
        wanted = (exact[x, y, z] - window.mean()) / torch.sqrt(window.var(unbiased=False) + floor**2)
        assert abs(float(found[0, 0, x, y, z]) - float(wanted)) < 1e-5
    assert_equal(lambda room, image: room.standardise(image, radius, floor), (image,))


def test_only_what_is_asked_for_is_differentiated():
    image, u = random(1, 4, 5, 6).requires_grad_(), field(1, (4, 5, 6), 1.0)
    warped = kernels.warp(image, u)
    assert warped.requires_grad
    warped.sum().backward()
    assert image.grad is not None
    with torch.no_grad():
        assert not kernels.square(u.requires_grad_()).requires_grad


def test_changing_an_input_in_place_before_the_gradient_is_noticed():
    outer, inner = field(1, (4, 5, 6), 1.0).requires_grad_(), field(1, (4, 5, 6), 1.0, seed=1)
    composed = kernels.compose(outer, inner)
    inner += 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        composed.sum().backward()


def test_results_outlive_later_calls():
    """Memory is used again, but not while a tensor or a graph still refers to it."""
    u = field(1, (32, 64, 128), 2.0).requires_grad_()
    first = kernels.exponential(u, 3)
    kept, view = first.detach().clone(), first[:, 1]
    del first
    for seed in range(3):
        kernels.exponential(field(1, (32, 64, 128), 3.0, seed=seed), 3)
    assert torch.equal(view, kept[:, 1])
    graph = kernels.exponential(u, 3)
    (gradient,) = torch.autograd.grad(graph.sum(), u, retain_graph=True)
    kernels.exponential(field(1, (32, 64, 128), 3.0, seed=9).requires_grad_(), 3).sum().backward()
    assert torch.equal(torch.autograd.grad(graph.sum(), u)[0], gradient)


def test_densities_are_right_to_rounding_voxel_by_voxel():
    """A sum over voxels forgives what each one's own derivative does not."""
    residual = torch.linspace(0.05, 3.0, 240).reshape(1, 1, 2, 3, 40)
    share, precision = torch.tensor([[-0.3, -1.35]]), torch.tensor([[0.0, 1.2]])
    slopes = []
    for room, kind in ((kernels, torch.float32), (reference, torch.float64)):
        leaf = residual.to(kind).requires_grad_()
        even = torch.ones(1, 2, 3, 40, dtype=kind)
        found = room.mixture_log_prob(leaf, even, share.to(kind), precision.to(kind))
        slopes.append(torch.autograd.grad(found.sum(), leaf)[0].double())
    assert ((slopes[0] - slopes[1]) / slopes[1]).abs().max() < 2e-6
