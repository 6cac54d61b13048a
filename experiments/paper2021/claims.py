"""What the paper says of its experiments, in our words, each held against a measurement."""

import math
from collections.abc import Callable, Mapping

from experiments.paper2021 import verdicts
from experiments.paper2021.results import Finished, Result
from experiments.paper2021.starts import meeting
from experiments.paper2021.verdicts import Claim

# "Effectively prevents the alignment": less than this share of what the proposal gains.
PREVENTED = 0.5


def claims(found: Mapping[str, Finished]) -> list[Claim]:
    """Of the experiments that were run."""
    return [claim for name, judge in JUDGES.items() if name in found for claim in judge(found[name])]


def regularisation(found: Finished) -> list[Claim]:
    """Figure 1."""
    results = found.on()
    weak, strong, baseline, proposed = (results[name] for name in ("weak", "strong", "baseline", "proposed"))
    motions = [result.measured["motion"] for result in (baseline, proposed, weak)]
    folds = _folding("A fixed λ = 0.1 gives transformations that fold.", weak, strong)
    prevented = Claim(
        "The gamma baseline learns too high a strength, which all but prevents the alignment.",
        verdicts.prevented(baseline.gain, proposed.gain, PREVENTED),
        f"Dice rises by {_signed(baseline.gain)} with the baseline, by {_signed(proposed.gain)} with the "
        f"proposal, by {_signed(weak.gain)} with λ = 0.1; the baseline's λ ends at "
        f"{baseline.measured['strength']:.2f}.",
    )
    amid = Claim(
        "The proposal lies between the baseline and λ = 0.1.",
        verdicts.between(*motions),
        "Mean displacement: {:.2f} mm with the baseline, {:.2f} mm with the proposal, {:.2f} mm with "
        "λ = 0.1.".format(*motions),
    )
    return [folds, prevented, amid]


def two_pairs(found: Finished) -> list[Claim]:
    """Figure 2."""
    unlike, alike = found.on("unlike"), found.on("alike")
    weak, strong, proposed = (unlike[name] for name in ("weak", "strong", "proposed"))
    share = alike["proposed"].measured["motion"] / alike["strong"].measured["motion"]
    best = Claim(
        "For the unlike pair M₁ the alignment is best with λ = 0.2.",
        verdicts.best([weak.dice, strong.dice, proposed.dice]),
        f"Dice {weak.dice:.3f} with λ = 0.2, {strong.dice:.3f} with λ = 2.0, {proposed.dice:.3f} proposed.",
    )
    same = Claim(
        "For the like pair M₂ the proposal does almost the same as λ = 2.0.",
        verdicts.same(share),
        f"Its mean displacement is {share:.2f} times that of λ = 2.0.",
    )
    better = Claim(
        "For the unlike pair M₁ the proposal is somewhat more accurate than λ = 2.0.",
        verdicts.more_accurate(proposed, strong),
        f"Dice {proposed.dice:.3f} against {strong.dice:.3f}.",
    )
    folds = [
        _folding(
            f"A fixed λ = 0.2 gives transformations that fold ({name}).", results["weak"], results["strong"]
        )
        for name, results in (("M₁", unlike), ("M₂", alike))
    ]
    return [*folds, best, same, better]


def uncertainty(found: Finished) -> list[Claim]:
    """Figures 3 to 5, Tables 1 to 3."""
    vi, sgld, voxelmorph = (found.on()[name] for name in ("vi", "sgld", "voxelmorph"))
    return [*_spread(vi, sgld), *_quality(vi, sgld), *_networks(vi, sgld, voxelmorph)]


def initialisation(found: Finished) -> list[Claim]:
    """Section 6.3.2."""
    apart, expected = meeting(found), found.experiment.expected
    mean, most = expected["discrepancy_mean_mm"], expected["discrepancy_max_mm"]
    close = Claim(
        f"The uncertainty does not depend on the start: SDs differ by {mean:g} mm in the mean, "
        f"by {most:g} mm at most.",
        verdicts.as_close((apart.mean_mm, apart.max_mm), (mean, most)),
        f"{apart.mean_mm:.2f} mm in the mean, {apart.max_mm:.2f} mm at most.",
    )
    mixed = Claim(
        "The chains mix well.",
        verdicts.met(apart.rhat_max),
        f"R-hat over all chains of the three starts is {apart.rhat_max:.2f} at worst, "
        f"{apart.rhat_median:.2f} in the median.",
    )
    return [close, mixed]


def bspline(found: Finished) -> list[Claim]:
    """Figure 6."""
    results = found.on()
    dense, splines = results["dense"], (results["two"], results["four"])
    rougher = [dense.measured["roughness"] / spline.measured["roughness"] for spline in splines]
    better = [verdicts.share_better(spline, dense) for spline in splines]
    spreads = [spline.sd / dense.sd for spline in splines]
    smoother = Claim(
        "B-splines give smoother transformations.",
        verdicts.all_larger(rougher),
        "det J steps {:.1f} and {:.1f} times as far from voxel to voxel with dense velocities as with δ = 2 "
        "and δ = 4.".format(*rougher),
    )
    accurate = Claim(
        "B-splines are more accurate on the majority of structures.",
        verdicts.majority(better),
        "More accurate on {:.0f} % of the structures with δ = 2, on {:.0f} % with δ = 4.".format(
            *(100 * share for share in better)
        ),
    )
    other = Claim(
        "The uncertainty depends on the parametrisation.",
        verdicts.all_larger([_factor(spread) for spread in spreads]),
        "The displacement's median SD is {:.2f} times (δ = 2) and {:.2f} times (δ = 4) that of dense "
        "velocities.".format(*spreads),
    )
    return [smoother, accurate, other]


JUDGES: dict[str, Callable[[Finished], list[Claim]]] = {
    "1_regularisation": regularisation,
    "1b_two_pairs": two_pairs,
    "3_uncertainty": uncertainty,
    "4_initialisation": initialisation,
    "5_bspline": bspline,
}


def _spread(vi: Result, sgld: Result) -> list[Claim]:
    moved, labelled = vi.sd / sgld.sd, vi.dice_spread / sgld.dice_spread
    wider = Claim(
        "VI is more uncertain than SG-MCMC.",
        verdicts.larger(moved),
        f"The displacement's median SD is {vi.sd:.2f} mm by VI and {sgld.sd:.2f} mm by SG-MCMC.",
    )
    labels = Claim(
        "Label uncertainties differ less between VI and SG-MCMC than displacement uncertainties do.",
        verdicts.larger(_factor(moved) / _factor(labelled)),
        f"The SD of Dice differs by a factor of {_factor(labelled):.2f}, that of the displacement by "
        f"{_factor(moved):.2f}.",
    )
    told = Claim(
        "Displacement uncertainty tells more of label uncertainty with SG-MCMC than with VI.",
        verdicts.more_correlated(*(result.measured["correlation"] for result in (sgld, vi))),
        f"r = {_interval(sgld)} by SG-MCMC, {_interval(vi)} by VI (95 % intervals).",
    )
    return [wider, labels, told]


def _quality(vi: Result, sgld: Result) -> list[Claim]:
    aligned = Claim(
        "Registration is more accurate than affine alignment.",
        verdicts.positive(min(vi.gain, sgld.gain)),
        f"Dice rises by {_signed(vi.gain)} by VI and by {_signed(sgld.gain)} by SG-MCMC.",
    )
    better = Claim(
        "SG-MCMC is marginally more accurate than VI.",
        verdicts.more_accurate(sgld, vi),
        f"Dice {sgld.dice:.3f} by SG-MCMC, {vi.dice:.3f} by VI.",
    )
    smooth = Claim(
        "Hardly a voxel of a draw folds, with SG-MCMC no more than with VI.",
        verdicts.few_folds(vi.folds.mean, sgld.folds.mean),
        f"{vi.folds.mean:.2f} voxels of a draw fold by VI, {sgld.folds.mean:.2f} by SG-MCMC.",
    )
    return [aligned, better, smooth]


def _networks(vi: Result, sgld: Result, voxelmorph: Result) -> list[Claim]:
    narrow = Claim(
        "VoxelMorph is much less uncertain than VI.",
        verdicts.larger(vi.sd / voxelmorph.sd),
        f"The displacement's median SD is {voxelmorph.sd:.2f} mm by VoxelMorph and {vi.sd:.2f} mm by VI.",
    )
    told = Claim(
        "Displacement uncertainty tells more of label uncertainty with VoxelMorph than with SG-MCMC.",
        verdicts.more_correlated(*(result.measured["correlation"] for result in (voxelmorph, sgld))),
        f"r = {_interval(voxelmorph)} by VoxelMorph, {_interval(sgld)} by SG-MCMC (95 % intervals).",
    )
    similar = Claim(
        "VI, SG-MCMC and VoxelMorph are about equally accurate.",
        verdicts.similar([vi.dice, sgld.dice, voxelmorph.dice]),
        f"Dice {vi.dice:.3f} by VI, {sgld.dice:.3f} by SG-MCMC, {voxelmorph.dice:.3f} by VoxelMorph.",
    )
    return [narrow, told, similar]


def _folding(says: str, weak: Result, strong: Result) -> Claim:
    many, few = weak.folds.mean, strong.folds.mean
    measured = f"{many:.1f} voxels of a draw fold, {few:.1f} with the stronger λ."
    return Claim(says, verdicts.folds(many, few), measured)


def _factor(ratio: float) -> float:
    """How many times apart, whichever is the larger."""
    return math.exp(abs(math.log(ratio)))


def _signed(value: float) -> str:
    return f"{value:.3f}".replace("-", "−")


def _interval(result: Result) -> str:
    r = result.measured["correlation"]
    return f"{r['r']:.2f} ({r['low']:.2f} to {r['high']:.2f})".replace("-", "−")
