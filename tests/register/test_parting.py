"""Chains drawn apart and brought together are the chains of one run, bit for bit."""

import pytest
import torch

from credwarp.errors import InputError
from credwarp.files import FolderKeeper
from credwarp.register import Memory, bring_together, draw_chain, register, warmed
from register.test_registration import pair, small, velocities


def test_chains_drawn_apart_are_those_of_one_run_and_go_on_as_they_do(tmp_path):
    (tmp_path / "state").mkdir()
    plan, longer, both = small(), small("sampling.draws=18"), pair()
    whole, parts = FolderKeeper(tmp_path), [Memory(), Memory()]
    with pytest.raises(InputError, match="not warmed up"):
        draw_chain(both, plan, 1, whole, parts[1])
    warmed(both, plan, whole)
    draw_chain(both, plan, 1, whole, parts[1])
    with pytest.raises(InputError, match="do not have all their draws"):
        bring_together(plan, parts, whole)
    draw_chain(both, plan, 0, whole, parts[0])
    bring_together(plan, parts, whole)

    together = Memory()
    one, parted = register(both, plan, together), register(both, plan, whole)
    assert torch.equal(velocities(parted), velocities(one))
    assert parted.series.keys() == one.series.keys()
    for name, values in one.series.items():
        assert torch.equal(parted.series[name], values)
        assert parted.series[name].dtype == values.dtype
    same = ("done", "gradients", "divergences", "step_size")
    assert {k: parted.facts["draws"][k] for k in same} == {k: one.facts["draws"][k] for k in same}

    assert torch.equal(
        velocities(register(both, longer, whole)), velocities(register(both, longer, together))
    )
