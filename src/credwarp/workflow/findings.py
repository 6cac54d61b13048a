"""What the report is told of a finished run."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from credwarp.files import Landmarks, RunFolder
from credwarp.propagate import Summary
from credwarp.register import Diagnosis, Run
from credwarp.report import Findings, Interval, LabelRow, Landmark, Maps, Structures, Tracked, gather
from credwarp.summaries import Probabilities


def findings(
    folder: RunFolder,
    run: Run,
    summary: Summary,
    diagnosis: Diagnosis | None,
    qc: Mapping[str, Any],
    marks: tuple[Landmark, ...],
) -> Findings:
    """From the summary of all draws, and from what the folder says of its inputs."""
    provenance = {name: fact for name, fact in folder.provenance().items() if name != "files"}
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
        landmarks=marks,
        structures=None if summary.labels is None else _structures(summary.labels),
        tracked=None if diagnosis is None else _tracked(run, diagnosis),
    )


def marked(landmarks: Landmarks | None, summary: Summary) -> tuple[Landmark, ...]:
    """Where the points of moving are in fixed, by all draws."""
    found = summary.points
    if landmarks is None or found is None:
        return ()
    known = landmarks.fixed
    return tuple(
        Landmark(
            name,
            found.mean[index],
            found.covariance[index],
            float(found.radius95[index]),
            None if known is None else known[index],
        )
        for index, name in enumerate(landmarks.names)
    )


def landmark_facts(marks: tuple[Landmark, ...]) -> dict[str, Any]:
    """What `qc.json` says of landmarks: how sure they are, and how far off where that is known."""
    if not marks:
        return {}
    facts: dict[str, Any] = {"count": len(marks)}
    facts["radius95_mm"] = float(np.median([mark.radius95 for mark in marks]))
    if all(mark.known is not None for mark in marks):
        facts["error_mm"] = float(np.mean([mark.error for mark in marks]))
        facts["inside95"] = float(np.mean([mark.inside95 for mark in marks]))
    return facts


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
    values = torch.cat([run.series[kind].to(torch.float32) for kind in diagnosis.kinds], dim=2)
    return Tracked(
        diagnosis.names,
        np.asarray(values),
        np.asarray(diagnosis.mixing.rhat),
        np.asarray(diagnosis.mixing.ess_bulk),
    )
