"""What a run's folder gets of a summary: transforms, maps, labels."""

from pathlib import Path

import numpy as np

from credwarp.files import RunFolder, write_components, write_itk, write_table, write_volume
from credwarp.propagate.images import apply
from credwarp.propagate.mean import MeanTransform, mean_transform
from credwarp.propagate.summary import Summary, uncertainty_correlation
from credwarp.register import Run
from credwarp.space import Affine, Volume, Warp
from credwarp.summaries import Correlation, DoseBands, Probabilities

VECTOR_NOTE, COVARIANCE_NOTE = "mm along R, A, S", "mm2: RR AA SS RA RS AS"
VOLUMES = ("label", "volume_mean", "volume_q025", "volume_q975")
AGREEMENTS = ("dice", "asd", "hd95")
FIGURES = ("before", "mean", "sd", "q05", "q95")
BANDS = ("q05", "q50", "q95")


def record(run: Run, summary: Summary, folder: RunFolder, moving: Volume | None = None) -> MeanTransform:
    """Write both transforms, all maps and the labels; `moving`, as it was given, is warped once only."""
    mean = mean_transform(run, summary.displacement)
    write_itk(mean.to_fixed, folder.to_fixed)
    write_itk(mean.to_moving, folder.to_moving)
    _write_maps(run, summary, folder, mean, moving)
    if summary.labels is not None:
        write_labels(summary.labels, folder.labels, uncertainty_correlation(summary))
    return mean


def write_labels(found: Probabilities, folder: Path, correlation: Correlation | None = None) -> list[Path]:
    """A map of probability per label, the most probable labels, and a table of volumes and agreement."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = {folder / f"probability_{label}.nii.gz": found.probability(label) for label in found.labels}
    paths[folder / "probability_background.nii.gz"] = found.background()
    paths[folder / "labels.nii.gz"] = found.most_probable()
    for path, data in paths.items():
        write_volume(Volume(found.grid, data, path.name), path)
    table = folder / "labels.csv"
    remarks = ["volumes in mm3, distances in mm; on the fixed image's grid"]
    if correlation is not None:
        remarks.append(
            f"displacement and label uncertainty correlate by r = {correlation.r:.3f} (95 % interval "
            f"{correlation.low:.3f} to {correlation.high:.3f}, {correlation.count} labels)"
        )
    write_table(table, _columns(found), _rows(found), remarks)
    return [*paths, table]


def write_dose(found: DoseBands, folder: Path) -> list[Path]:
    """Mean and sd of the dose, the dose-volume histogram's bands, and what each structure gets."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, data in (("dose_mean", found.mean), ("dose_sd", found.sd)):
        paths.append(folder / f"{name}.nii.gz")
        write_volume(Volume(found.grid, data, name), paths[-1])
    bands = found.bands
    curves = [
        (structure, float(level), *bands[:, index, place].tolist())
        for index, structure in enumerate(found.structures)
        for place, level in enumerate(found.levels)
    ]
    remark = "share of the structure's volume that gets the dose or more: quantiles over draws"
    write_table(folder / "dvh.csv", ("structure", "dose", *BANDS), curves, (remark,))
    rows = [
        (structure, quantity, *found.over_draws(draws[:, index]).tolist())
        for index, structure in enumerate(found.structures)
        for quantity, draws in found.quantities().items()
    ]
    remark = (
        "in the dose's own unit, quantiles over draws; Dx: what the hottest x % of the volume get at least"
    )
    write_table(folder / "structures.csv", ("structure", "quantity", *BANDS), rows, (remark,))
    return [*paths, folder / "dvh.csv", folder / "structures.csv"]


def figures(before: float, draws: np.ndarray) -> dict[str, float]:
    """A number before registration and over draws: mean, sd, 5 % and 95 % quantiles."""
    low, high = np.quantile(draws, (0.05, 0.95)).tolist()
    spread = float(draws.std(ddof=1)) if len(draws) > 1 else 0.0
    return dict(zip(FIGURES, (before, float(draws.mean()), spread, low, high), strict=True))


def dice_figures(found: Probabilities) -> dict[str, dict[str, float]]:
    """What `qc.json` says of each label's Dice; nothing without the other side's labels."""
    if found.agreement is None:
        return {}
    dice, before = np.asarray(found.agreement.dice), found.agreement.before[0]
    return {
        str(label): figures(float(before[index]), dice[:, index]) for index, label in enumerate(found.labels)
    }


def _write_maps(
    run: Run, summary: Summary, folder: RunFolder, mean: MeanTransform, moving: Volume | None
) -> None:
    grid, moved, jacobian = run.pair.grid, summary.displacement, summary.jacobian
    given = Volume(grid, run.pair.moving, "moving image")
    warped = (
        apply(
            given,
            grid,
            Warp(grid, mean.to_fixed.displacement, Affine.identity(), Affine.identity()),
            "linear",
        )
        if moving is None
        else apply(moving, grid, mean.to_fixed, "linear")
    )
    images = {
        "warped": warped.data,
        "displacement_sd": moved.sd,
        "radius95": moved.radius95,
        "jacobian_mean": jacobian.mean,
        "jacobian_sd": jacobian.sd,
        "fold_probability": jacobian.fold_probability,
    }
    for name, data in images.items():
        write_volume(Volume(grid, data, name), folder.map(name))
    write_components(np.asarray(moved.mean), grid, VECTOR_NOTE, folder.map("displacement_mean"))
    write_components(
        np.asarray(moved.covariance), grid, COVARIANCE_NOTE, folder.map("displacement_covariance")
    )


def _columns(found: Probabilities) -> tuple[str, ...]:
    more = (
        () if found.agreement is None else [f"{what}_{figure}" for what in AGREEMENTS for figure in FIGURES]
    )
    return (*VOLUMES, *more)


def _rows(found: Probabilities) -> list[tuple[float | int, ...]]:
    rows: list[tuple[float | int, ...]] = []
    for index, label in enumerate(found.labels):
        volumes = np.asarray(found.volumes[:, index])
        row = [float(volumes.mean()), *np.quantile(volumes, (0.025, 0.975)).tolist()]
        if found.agreement is not None:
            each = (found.agreement.dice, found.agreement.distance, found.agreement.hausdorff95)
            for what, before in zip(each, found.agreement.before[:, index], strict=True):
                row += figures(float(before), np.asarray(what[:, index])).values()
        rows.append((label, *row))
    return rows
