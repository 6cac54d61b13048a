"""The virial and half the step tell a step that is too long; neither complains about one that is not."""

import math
from dataclasses import dataclass, replace

import pytest
import torch

from credwarp.samplers import (
    Evaluation,
    Identity,
    Pilot,
    Schedule,
    Sgld,
    Underdamped,
    check_step,
    draw,
    halving_score,
)
from credwarp.samplers.stability import estimate

DIMENSION = 2000


@dataclass(frozen=True, eq=False)
class Pointed:
    """−log π = Σ 2 log cosh 2w, curved by 8 in the middle and by nothing far out: no splitting is exact."""

    dimension: int = DIMENSION

    def evaluate(self, position):
        density = -2 * torch.log(torch.cosh(2 * position)).sum(dim=1)
        return Evaluation(density, -4 * torch.tanh(2 * position))


@dataclass(frozen=True, eq=False)
class Normal:
    """−log π = Σ (w − 3)²/2."""

    dimension: int = DIMENSION

    def evaluate(self, position):
        return Evaluation(-0.5 * (position - 3).square().sum(dim=1), 3 - position)


PILOT = Pilot(steps=60)
CENTRE = torch.zeros(DIMENSION, dtype=torch.float64)


def started(sampler, target, middle: float = 0.0):
    noise = torch.randn(4, DIMENSION, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return sampler.init(middle + 0.5 * noise, target, Identity(DIMENSION), seed=0)


def test_a_step_too_long_for_what_is_not_gaussian_is_cut_until_it_is_not():
    sampler = Underdamped(step_size=0.6, friction=0.5)
    checked = check_step(sampler, Pointed(), Identity(DIMENSION), started(sampler, Pointed()), CENTRE, PILOT)
    assert checked.accepted
    assert checked.virials[0].value - 1 > 0.005 + 2 * checked.virials[0].error
    assert abs(checked.virials[-1].value - 1) < 0.005 + 2 * checked.virials[-1].error
    expected = torch.full((4,), 0.6 * 0.7 ** (len(checked.virials) - 1), dtype=torch.float64)
    torch.testing.assert_close(checked.state.step_size, expected)
    assert len(checked.virials) > 1


@pytest.mark.parametrize("centre", [0.0, 3.0])
def test_the_step_of_a_gaussian_is_left_alone_whatever_the_centre(centre):
    sampler = Underdamped(friction=0.5)
    state = started(sampler, Normal(), middle=3.0)
    checked = check_step(sampler, Normal(), Identity(DIMENSION), state, CENTRE + centre, PILOT)
    assert checked.accepted
    assert len(checked.virials) == 1
    assert bool((checked.state.step_size == 0.8).all())


def test_a_step_that_no_cut_mends_is_reported():
    sampler = Underdamped(step_size=0.6, friction=0.5)
    state = started(sampler, Pointed())
    hasty = replace(PILOT, cuts=0)
    checked = check_step(sampler, Pointed(), Identity(DIMENSION), state, CENTRE, hasty)
    assert not checked.accepted
    assert len(checked.virials) == 1
    assert torch.equal(checked.state.step_size, state.step_size)


def test_the_virial_of_the_papers_sampler_is_its_excess_of_variance():
    state = started(Sgld(), Normal(), middle=3.0)
    checked = check_step(Sgld(), Normal(), Identity(DIMENSION), state, CENTRE + 3, replace(PILOT, cuts=0))
    assert checked.virials[0].value == pytest.approx(1 / (1 - 0.4 / 2), abs=4 * checked.virials[0].error)


@pytest.mark.parametrize(("step_size", "seen"), [(0.6, True), (0.2, False)])
def test_half_the_step_tells_the_same(step_size, seen):
    sampler = Underdamped(step_size=step_size, friction=0.5)
    state = started(sampler, Pointed())
    (chunk,) = draw(sampler, Pointed(), Identity(DIMENSION), state, Schedule(1, int(20 / step_size), 1))
    score = halving_score(sampler, Pointed(), Identity(DIMENSION), chunk.state, int(40 / step_size))
    assert (abs(score) > 3) == seen


def test_the_error_of_an_estimate_is_that_of_batches():
    generator = torch.Generator().manual_seed(0)
    noise = torch.randn(2000, 4, 80, generator=generator, dtype=torch.float64)
    found = [estimate(series) for series in noise]
    scatter = torch.tensor([e.value for e in found]).std()
    stated = torch.tensor([e.error for e in found]).square().mean().sqrt()
    assert float(scatter) == pytest.approx(1 / math.sqrt(320), rel=0.1)
    assert float(stated) == pytest.approx(float(scatter), rel=0.1)
    assert estimate(noise[0, :1, :1]).error == math.inf
