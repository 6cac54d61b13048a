"""Chains drawn apart and brought together are the chains of one run, bit for bit."""

import pytest
import torch

from credwarp.errors import InputError
from credwarp.files import FolderKeeper
from credwarp.register import Memory, bring_together, draw_chain, register, warmed
from register.test_registration import pair, small, velocities


def parted(plan, whole, keepers):
    fixed_and_moving = pair()
    warmed(fixed_and_moving, plan, whole)
    for chain in reversed(range(len(keepers))):
        draw_chain(fixed_and_moving, plan, chain, whole, keepers[chain])
    bring_together(plan, keepers, whole)
    return register(fixed_and_moving, plan, whole)


def test_chains_drawn_apart_are_those_of_one_run():
    plan = small("sampling.chains=3", "sampling.draws=15")
    together = register(pair(), plan)
    apart = parted(plan, Memory(), [Memory(), Memory(), Memory()])
    assert torch.equal(velocities(apart), velocities(together))
    assert apart.series.keys() == together.series.keys()
    for name, values in together.series.items():
        assert torch.equal(apart.series[name], values)
        assert apart.series[name].dtype == values.dtype
    same = ("done", "gradients", "divergences", "step_size")
    assert {k: apart.facts["draws"][k] for k in same} == {k: together.facts["draws"][k] for k in same}


def test_a_parted_run_is_lengthened_like_any_other(tmp_path):
    (tmp_path / "state").mkdir()
    whole, plan, longer = FolderKeeper(tmp_path), small(), small("sampling.draws=18")
    parted(plan, whole, [Memory(), Memory()])
    assert torch.equal(velocities(register(pair(), longer, whole)), velocities(register(pair(), longer)))


def test_chains_are_not_parted_before_they_are_warm_nor_joined_before_they_are_drawn():
    plan, whole = small(), Memory()
    with pytest.raises(InputError, match="not warmed up"):
        draw_chain(pair(), plan, 0, whole, Memory())
    warmed(pair(), plan, whole)
    first = Memory()
    draw_chain(pair(), plan, 0, whole, first)
    with pytest.raises(InputError, match="do not have all their draws"):
        bring_together(plan, [first, Memory()], whole)
