"""The figures that stand beside the verdict."""

from dataclasses import dataclass

import numpy as np

from credwarp.report.findings import Findings
from credwarp.shapes import Image


@dataclass(frozen=True)
class Figure:
    """A number that matters, what it is, and how to read it."""

    label: str
    value: str
    unit: str = ""
    note: str = ""


def headline(findings: Findings) -> list[Figure]:
    """How sure, how far, how well, how converged: what there is of it."""
    parts = (_maps, _dice, _landmarks, _folds, _convergence, _cost)
    return [figure for part in parts for figure in part(findings)]


def _maps(findings: Findings) -> list[Figure]:
    found = []
    if findings.maps.radius95 is not None:
        middle, high = _quantiles(findings, findings.maps.radius95)
        found.append(
            Figure("95 % radius", _short(middle), "mm", f"median; {_short(high)} mm at the 95th percentile")
        )
    if findings.maps.displacement is not None:
        middle, high = _quantiles(findings, findings.maps.displacement)
        found.append(
            Figure(
                "Mean displacement", _short(middle), "mm", f"median; {_short(high)} mm at the 95th percentile"
            )
        )
    return found


def _dice(findings: Findings) -> list[Figure]:
    rows = [] if findings.structures is None else findings.structures.rows
    after = [row.dice.mean for row in rows if row.dice is not None]
    before = [row.dice_before for row in rows if row.dice_before is not None]
    if not after:
        return []
    note = f"mean of {len(after)} labels" + (f"; {np.mean(before):.2f} before" if before else "")
    return [Figure("Dice", f"{np.mean(after):.2f}", "", note)]


def _landmarks(findings: Findings) -> list[Figure]:
    known = [one for one in findings.landmarks if one.known is not None]
    if not known:
        return []
    inside = sum(one.inside95 for one in known)
    note = f"mean of {len(known)}; {inside} inside their 95 % ellipsoids"
    return [Figure("Landmark error", _short(float(np.mean([one.error for one in known]))), "mm", note)]


def _folds(findings: Findings) -> list[Figure]:
    worst = findings.qc.get("fold_fraction_max")
    if worst is None:
        return []
    value = "none" if worst == 0 else f"{100 * worst:.2g}"
    return [Figure("Folded voxels", value, "" if worst == 0 else "%", "in the worst draw")]


def _convergence(findings: Findings) -> list[Figure]:
    qc, found = findings.qc, []
    if qc.get("rhat_max") is not None:
        found.append(Figure("R-hat", f"{qc['rhat_max']:.3f}", "", "the worst tracked functional; 1 is best"))
    if qc.get("ess_min") is not None:
        median = f"; median {qc['ess_median']:,.0f}" if qc.get("ess_median") is not None else ""
        found.append(Figure("Effective draws", f"{qc['ess_min']:,.0f}", "", f"at least{median}"))
    return found


def _cost(findings: Findings) -> list[Figure]:
    seconds = findings.qc.get("seconds")
    if seconds is None:
        return []
    device = findings.qc.get("device", "")
    value, unit = (f"{seconds / 60:.1f}", "min") if seconds >= 90 else (f"{seconds:.0f}", "s")
    return [Figure("Time", value, unit, f"on {device}" if device else "")]


def _quantiles(findings: Findings, data: Image) -> tuple[float, float]:
    inside = data[findings.mask] if bool(findings.mask.any()) else data.flatten()
    middle, high = np.quantile(np.asarray(inside), [0.5, 0.95])
    return float(middle), float(high)


def _short(value: float) -> str:
    return f"{value:.1f}" if value >= 1 else f"{value:.2f}"
