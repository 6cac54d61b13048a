"""One object, one P: apply, root and inverse speak of the same matrix."""

import pytest
import torch

from credwarp.errors import PlanError
from credwarp.samplers import Block, Diagonal, GaussNewton, Identity
from credwarp.samplers.conjugate import solve
from credwarp.samplers.laws import Dense
from credwarp.samplers.target import by_fours

N = 9


def spd(seed: int, rank: int = N) -> torch.Tensor:
    factor = torch.randn(N, rank, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return factor @ factor.T


PRIOR, CURVATURE = spd(0) + torch.eye(N, dtype=torch.float64), spd(1, rank=3)
INDEX = torch.tensor([7, 0, 4])
VARIANCES = 1 / PRIOR.diagonal()
MEMBERS = {
    "identity": (Identity(N), torch.eye(N, dtype=torch.float64)),
    "diagonal": (Diagonal(VARIANCES), torch.diag(VARIANCES)),
    "block": (
        Block.of(INDEX, PRIOR[INDEX][:, INDEX], Diagonal(VARIANCES)),
        torch.diag(VARIANCES).index_put(
            (INDEX[:, None], INDEX[None, :]), torch.linalg.inv(PRIOR[INDEX][:, INDEX])
        ),
    ),
    "solved": (
        GaussNewton(Dense.of(PRIOR), Dense.of(CURVATURE), Diagonal(VARIANCES), tolerance=1e-10),
        torch.linalg.inv(PRIOR + CURVATURE),
    ),
}


@pytest.mark.parametrize("name", MEMBERS)
def test_apply_root_and_inverse_are_those_of_one_matrix(name):
    member, matrix = MEMBERS[name]
    identity = torch.eye(N, dtype=torch.float64)
    # Each row is the image of a unit vector: the transposed matrix.
    apply, inverse = member.apply(identity), member.inverse(identity)
    root = member.sqrt(torch.eye(member.noises, dtype=torch.float64)).T
    torch.testing.assert_close(apply, matrix, rtol=1e-8, atol=1e-10)
    torch.testing.assert_close(root @ root.T, matrix, rtol=1e-8, atol=1e-10)
    torch.testing.assert_close(apply @ inverse, identity, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("name", MEMBERS)
def test_single_precision_stays_single(name):
    member, matrix = MEMBERS[name]
    rows = torch.randn(5, N, generator=torch.Generator().manual_seed(2))
    noise = torch.randn(5, member.noises, generator=torch.Generator().manual_seed(2))
    if name in ("identity", "diagonal"):
        assert member.sqrt(noise).dtype == torch.float32
        torch.testing.assert_close(member.apply(rows), rows @ matrix.float(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("tolerance", [0.1, 0.0101, 0.0])
def test_a_looser_solve_than_the_spread_allows_is_refused(tolerance):
    with pytest.raises(PlanError, match="the tolerance of conjugate gradients is"):
        GaussNewton(Dense.of(PRIOR), Dense.of(CURVATURE), Diagonal(VARIANCES), tolerance)


def test_a_solve_stops_where_its_tolerance_is_met_chain_by_chain():
    matrix = PRIOR + CURVATURE
    right = torch.randn(6, N, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    right[2] = 0
    found = solve(lambda x: x @ matrix, right, Diagonal(VARIANCES), 1e-4, 100)
    left = right - found.position @ matrix
    size = (left.square() * VARIANCES).sum(dim=1).sqrt()
    assert bool((size <= 1.0001e-4 * (right.square() * VARIANCES).sum(dim=1).sqrt()).all())
    assert bool((found.residual <= 1e-4).all())
    assert 0 < found.iterations <= N + 1
    assert torch.equal(found.position[2], torch.zeros(N, dtype=torch.float64))


@pytest.mark.parametrize("columns", [5, 21, 64, 129])
def test_products_of_four_rows_do_not_see_the_others_even_where_rows_are_apart(columns):
    generator = torch.Generator().manual_seed(0)
    wide = torch.randn(9, 2 * columns, generator=generator, dtype=torch.float64)
    matrix = torch.randn(columns, columns, generator=generator, dtype=torch.float64)
    whole = by_fours(wide[:, :columns], lambda rows: rows @ matrix.T)
    for chains in range(1, 9):
        part = by_fours(wide[:chains, :columns], lambda rows: rows @ matrix.T)
        assert torch.equal(part, whole[:chains])


def test_a_good_stand_in_saves_products():
    matrix = torch.diag(torch.logspace(0, 6, N, dtype=torch.float64)) + 0.1 * CURVATURE
    right = torch.ones(1, N, dtype=torch.float64)
    taken = [
        solve(lambda x: x @ matrix, right, rough, 1e-6, 1000).iterations
        for rough in (Diagonal(1 / matrix.diagonal()), Identity(N))
    ]
    assert taken[0] < taken[1]
