"""What the report is told of a finished run."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from credwarp.propagate import Summary
from credwarp.register import Diagnosis, Run
from credwarp.report import Findings, Interval, LabelRow, Maps, Structures, Tracked, gather
from credwarp.summaries import Probabilities

MOST_SERIES = 24


def findings(
    folder: Path, run: Run, summary: Summary, diagnosis: Diagnosis | None, qc: Mapping[str, Any]
) -> Findings:
    """From the summary of all draws, and from what the folder says of its inputs."""
    provenance = json.loads((folder / "provenance.json").read_text(encoding="utf-8"))
    moved, jacobian = summary.displacement, summary.jacobian
    several = run.total > 1
    return replace(
        gather(run, qc),
        provenance=provenance,
        fixed_name=Path(provenance["fixed"]["path"]).name,
        moving_name=Path(provenance["moving"]["path"]).name,
        maps=Maps(
            displacement=torch.linalg.vector_norm(moved.mean, dim=0),
            radius95=moved.radius95 if several else None,
            jacobian=jacobian.mean,
            fold_probability=jacobian.fold_probability if several else None,
        ),
        structures=None if summary.labels is None else _structures(summary.labels),
        tracked=None if diagnosis is None else _tracked(run, diagnosis),
    )


def _structures(found: Probabilities) -> Structures:
    probable = found.most_probable()
    probability = torch.zeros(probable.shape, dtype=torch.float32)
    for label in (0, *found.labels):
        here = probable == label
        of_label = found.background() if label == 0 else found.probability(label)
        probability[here] = of_label[here].to(torch.float32)
    rows = tuple(_row(found, index, label) for index, label in enumerate(found.labels))
    return Structures(rows, probable, probability)


def _row(found: Probabilities, index: int, label: int) -> LabelRow:
    volume = _interval(np.asarray(found.volumes[:, index]), 0.025)
    if found.agreement is None:
        return LabelRow(label, volume=volume)
    dice = _interval(np.asarray(found.agreement.dice[:, index]), 0.05)
    return LabelRow(label, volume=volume, dice=dice, dice_before=float(found.agreement.before[0][index]))


def _interval(values: np.ndarray, tail: float) -> Interval:
    low, high = np.quantile(values, (tail, 1 - tail)).tolist()
    return Interval(float(values.mean()), low, high)


def _tracked(run: Run, diagnosis: Diagnosis) -> Tracked:
    """The worst functionals and a few typical ones."""
    values = torch.cat([run.series[kind].to(torch.float32) for kind in diagnosis.kinds], dim=2)
    order = torch.argsort(torch.nan_to_num(diagnosis.mixing.rhat, nan=torch.inf), descending=True)
    half = MOST_SERIES // 2
    typical = order[half :: max(1, (len(order) - half) // half)][:half]
    chosen = torch.cat([order[:half], typical])
    return Tracked(
        tuple(diagnosis.names[index] for index in chosen.tolist()),
        np.asarray(values[:, :, chosen]),
        np.asarray(diagnosis.mixing.rhat[chosen]),
        np.asarray(diagnosis.mixing.ess_bulk[chosen]),
    )
