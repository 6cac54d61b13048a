"""The optimiser finds a warp that explains the fixed image, coarse to fine."""

from dataclasses import replace

import torch

from credwarp import fields, kernels
from credwarp.plan import Plan
from credwarp.register.optimise import carried, climb, levels_of, optimise
from credwarp.samplers import Lbfgs
from pairs import smooth_noise, textured


def shifted_pair():
    """A texture and the same texture moved smoothly by up to two voxels."""
    pair = textured((24, 24, 24), dtype=torch.float32)
    image = smooth_noise((24, 24, 24), 1.5, 0, torch.float32)
    truth = 1.2 * smooth_noise((1, 3, 24, 24, 24), 6.0, 5, torch.float32)
    return replace(pair, moving=image, fixed=kernels.warp(image[None], truth)[0, 0]), truth


def test_a_known_warp_is_found_without_folding():
    pair, truth = shifted_pair()
    found = optimise(pair, Plan(optimiser=Lbfgs(iterations=15)))
    displacement = found.target.posterior.transform.displacement(found.w)
    inner = (slice(None), slice(None), *(slice(4, -4),) * 3)
    error = (displacement - truth)[inner].norm(dim=1).mean()
    assert float(error) < 0.25 * float(truth[inner].norm(dim=1).mean())
    assert int(fields.folds(fields.jacobian_determinant(displacement))) == 0
    assert found.log_density > found.target.evaluate(torch.zeros((1, found.target.dimension))).log_density


def test_a_level_on_which_little_of_the_masks_is_left_is_skipped():
    pair, _ = shifted_pair()
    plan = Plan().with_settings(["optimisation.levels=[3,2,1]", "optimiser.iterations=3"])
    small = torch.zeros_like(pair.fixed_mask)
    # Every second voxel of a block: nowhere half of a larger voxel.
    small[8:16:2, 8:16:2, 8:16:2] = True
    assert levels_of(pair, plan) == [3, 2, 1]
    assert levels_of(replace(pair, fixed_mask=small), plan) == [1]
    assert optimise(replace(pair, fixed_mask=small), plan).gradients > 0


def test_a_velocity_carried_to_another_resolution_is_the_same_in_millimetres():
    pair, _ = shifted_pair()
    coarse = optimise(pair, Plan().with_settings(["transform.coarsening=3", "optimiser.iterations=5"]))
    fine = optimise(pair, Plan().with_settings(["transform.coarsening=2", "optimiser.iterations=1"]))
    w = carried(coarse, fine.target.posterior)
    apart = fine.target.posterior.transform.displacement(w) - coarse.target.posterior.transform.displacement(
        coarse.w
    )
    assert float(apart[..., 4:-4, 4:-4, 4:-4].norm(dim=1).mean()) < 0.1


def test_climbing_again_from_an_optimum_finds_nothing_worse():
    pair, _ = shifted_pair()
    first = optimise(pair, Plan(optimiser=Lbfgs(iterations=15)))
    again = climb(first.target, first.w, Lbfgs(iterations=5), rounds=1)
    start = again.target.evaluate(again.target.position(first.w)).log_density
    assert again.log_density >= float(start)
