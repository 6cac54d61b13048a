"""What may be wrong with a result, each as a sentence: the flags of `qc.json`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from credwarp.fields import to_voxels
from credwarp.kernels import warp
from credwarp.plan import Quality
from credwarp.propagate import Summary
from credwarp.register import Diagnosis, Run
from credwarp.shapes import Mask
from credwarp.spectral import idct


@dataclass(frozen=True)
class Flag:
    """A kind of trouble, and what is the matter."""

    kind: str
    sentence: str


def flags(run: Run, summary: Summary, diagnosis: Diagnosis | None, masked: bool) -> list[Flag]:
    """Everything that is beyond the plan's limits; `masked` if both masks were given rather than assumed."""
    limits = run.plan.quality
    return [
        *_of_mixing(run, diagnosis, limits),
        *_of_shape(run, summary, limits),
        *_of_spread(run, summary, limits),
        *_of_images(run, limits),
        *(_of_masks(run, summary, limits) if masked else ()),
    ]


def likeness(run: Run) -> float | None:
    """How alike fixed and warped image are, as search or network left them: 1 the same, 0 unrelated."""
    found: float | None = run.facts.get("optimum", run.facts.get("prediction", {})).get("explained")
    return found


def _of_mixing(run: Run, diagnosis: Diagnosis | None, limits: Quality) -> list[Flag]:
    found = []
    if diagnosis is not None and not diagnosis.converged:
        facts = diagnosis.facts(1)
        found.append(
            Flag(
                "not_converged",
                f"the chains have not converged: R-hat is up to {facts['rhat_max']:.3f} (limit "
                f"{limits.rhat:g}), there are as few as {facts['ess_min']:.0f} effective draws (limit "
                f"{limits.ess:g}), {diagnosis.worst} is the worst; more draws may help: "
                f"credwarp sample RUN --draws {2 * run.total}.",
            )
        )
    basins = run.facts.get("optimum", {}).get("basins", [])
    if len(basins) > 1:
        best = [basin[0] for basin in basins]
        found.append(
            Flag(
                "several_basins",
                f"{len(basins)} starts ended in different optima, log-densities "
                f"{', '.join(f'{value:.0f}' for value in best)}; look whether the chains agree.",
            )
        )
    warmup: Mapping[str, Any] = run.facts.get("warmup", {})
    if warmup.get("virials") and not warmup.get("step_accepted", True):
        value = warmup["virials"][-1]["value"]
        found.append(Flag("step", f"the virial is {value:.3f} at the smallest step tried, not 1."))
    return found


def _of_shape(run: Run, summary: Summary, limits: Quality) -> list[Flag]:
    found = []
    jacobian = summary.jacobian
    most = max(jacobian.folds) / run.pair.grid.voxels
    if most > limits.fold_fraction:
        found.append(
            Flag(
                "folds",
                f"up to {max(jacobian.folds)} voxels of a draw fold ({most:.1e} of all, "
                f"limit {limits.fold_fraction:g}); a stronger prior prevents it: --set prior.strength=2.",
            )
        )
    low, high = float(jacobian.mean.min()), float(jacobian.mean.max())
    if low < limits.smallest_jacobian or high > limits.largest_jacobian:
        found.append(
            Flag(
                "implausible_jacobian",
                f"voxels change their volume by factors from {low:.2f} to {high:.2f} (limits "
                f"{limits.smallest_jacobian:g} and {limits.largest_jacobian:g}).",
            )
        )
    edge = _moved_across(run, summary)
    if edge > limits.border:
        found.append(
            Flag(
                "border_displacement",
                f"what lies at the border moves by up to {edge:.1f} mm (limit {limits.border:g}): "
                "pre-align the images, or give them more margin.",
            )
        )
    return found


def _of_spread(run: Run, summary: Summary, limits: Quality) -> list[Flag]:
    if run.total < 2:
        return []
    prior = _prior_sd(run)
    wide = float((summary.displacement.sd[_seen(run)] > limits.prior_share * prior).float().mean())
    if wide > limits.prior_fraction:
        return [
            Flag(
                "wider_than_prior",
                f"at {100 * wide:.0f} % of the voxels seen the posterior is wider than the prior "
                f"({prior:.2f} mm): the model does not fit there.",
            )
        ]
    return []


def _moved_across(run: Run, summary: Summary) -> float:
    """How far, in mm, what is seen in the outermost voxels moves across the border."""
    mean, seen = to_voxels(summary.displacement.mean, run.pair.grid), _seen(run)
    farthest = 0.0
    for axis in range(3):
        if seen.shape[axis] > 1:
            outer = mean[axis].movedim(axis, 0)[[0, -1]].abs() * seen.movedim(axis, 0)[[0, -1]]
            farthest = max(farthest, float(outer.max()) * run.pair.grid.spacing[axis])
    return farthest


def _seen(run: Run) -> Mask:
    """The voxels with anything in them that both masks look at."""
    return run.pair.fixed_mask & run.pair.moving_mask & (run.pair.fixed > run.pair.fixed.min())


def _of_images(run: Run, limits: Quality) -> list[Flag]:
    found = []
    pair = run.pair
    both, either = pair.fixed_mask & pair.moving_mask, pair.fixed_mask | pair.moving_mask
    overlap = float(both.sum()) / max(1.0, float(either.sum()))
    if overlap < limits.overlap:
        found.append(
            Flag("low_overlap", f"the images' masks share {100 * overlap:.0f} % of what they cover together.")
        )
    gain = likeness(run)
    if gain is not None and gain < limits.likeness:
        found.append(
            Flag(
                "misfit",
                f"fixed and warped image are alike to {gain:.2f} only (1 is the same, limit "
                f"{limits.likeness:g}): they may be unrelated, of different contrast "
                "(--set likelihood.kind=mind), or far apart.",
            )
        )
    return found


def _of_masks(run: Run, summary: Summary, limits: Quality) -> list[Flag]:
    """Both masks are of the same organ, so they should agree under the mean warp."""
    pair = run.pair
    moved = to_voxels(summary.displacement.mean, pair.grid)[None]
    carried = warp(pair.moving_mask.to(moved.dtype)[None], moved)[0, 0] >= 0.5
    both = float((carried & pair.fixed_mask).sum())
    found = 2 * both / max(1.0, float(carried.sum() + pair.fixed_mask.sum()))
    if found >= limits.mask_agreement:
        return []
    said = f"the warped moving mask and the fixed mask agree to a Dice of {found:.2f} only"
    return [
        Flag(
            "masks_disagree", f"{said} (limit {limits.mask_agreement:g}): look whether both are of one organ."
        )
    ]


@torch.no_grad()
def _prior_sd(run: Run) -> float:
    """√trace of the covariance of a prior's velocity in mm, in the middle of the grid."""
    transform, plan = run.transform, run.plan
    bound = plan.prior.bind(transform.parameters, transform.grid)
    strength = float(bound.strength(bound.expected_energy(run.hyper.prior), run.hyper.prior)[0])
    variance = 1 / (strength * bound.energy.eigenvalues())
    white = torch.randn((8, *variance.shape), generator=torch.Generator().manual_seed(0))
    draws = idct(white * variance.sqrt().nan_to_num(posinf=0.0).float())
    moved = torch.cat([transform.displacement(w[None]) for w in draws])
    lengths = torch.tensor(transform.grid.spacing).view(3, 1, 1, 1)
    return float((moved * lengths).square().sum(dim=1).mean().sqrt())
