"""The page itself: one HTML file from findings, the same bytes for the same findings."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from credwarp import __version__
from credwarp.report.convergence import convergence
from credwarp.report.figures import still
from credwarp.report.findings import Findings, Maps
from credwarp.report.fit import calibration_chart, residual_charts
from credwarp.report.headline import headline
from credwarp.report.layers import FADED, Layers, layers, swatches
from credwarp.report.methods import methods
from credwarp.report.tables import dice_scale, facts, label_name, landmark_rows, structure_rows
from credwarp.report.verdict import WORDS, flags, verdict
from credwarp.space import Grid

PAGE = Path(__file__).parent / "page"
SECTIONS = {
    "verdict": "Verdict",
    "compare": "Before and after",
    "uncertainty": "Where, and how sure",
    "labels": "Structures",
    "landmarks": "Landmarks",
    "jacobian": "Volume change",
    "convergence": "Convergence",
    "calibration": "Calibration",
    "fit": "Model fit",
    "methods": "Methods",
    "provenance": "Provenance",
}


def render(findings: Findings) -> str:
    """The whole report, self-contained: nothing is fetched, at most 15 MB."""
    found = layers(findings)
    return (
        _environment()
        .get_template("report.html")
        .render(
            **_opening(findings),
            **_pictures(findings, found),
            **_rows(findings, found),
            **_model(findings),
            sections=[(key, title) for key, title in SECTIONS.items() if _told(findings, key)],
        )
    )


def first_screen(findings: Findings) -> str:
    """What a notebook shows of a run, as a fragment of HTML: verdict, figures, one still picture."""
    images = replace(findings, plausible=(), maps=Maps(), structures=None)
    picture = still(layers(images), [("fixed", ""), ("before", ""), ("after", "")], dpi=80)
    tones = (PAGE / "tones.css").read_text(encoding="utf-8").replace(":root", ".credwarp-screen")
    parts = {**_opening(findings), "picture": picture, "tones": Markup(tones)}
    return _environment().get_template("screen.html").render(**parts)


def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(PAGE), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )


def _told(findings: Findings, section: str) -> bool:
    """Whether a section stands in the report at all."""
    optional = {
        "labels": findings.structures is not None,
        "landmarks": bool(findings.landmarks),
        "calibration": findings.calibration is not None,
    }
    return optional.get(section, True)


def _opening(findings: Findings) -> dict[str, Any]:
    light, sentence = verdict(findings.qc)
    return {
        "findings": findings,
        "version": __version__,
        "light": light,
        "word": WORDS[light],
        "sentence": sentence,
        "flags": flags(findings.qc),
        "headline": headline(findings),
        "method": findings.qc.get("method", "mcmc"),
    }


def _pictures(findings: Findings, found: Layers) -> dict[str, Any]:
    titles = {name: layer.title for name, layer in found.each.items()}
    return {
        "layers": list(found.each.values()),
        "titles": titles,
        "has": found.each.__contains__,
        "overlays": lambda names: [name for name in names if name in found.each],
        "warps": _warps(found),
        "proportions": _proportions(found.view.grid),
        "meta": _meta(findings, found),
        "stills": _stills(found),
    }


def _stills(found: Layers) -> dict[str, str]:
    """Pictures for print, of what there is."""
    over = [("fixed", name) for name in ("displacement", "radius95", "doubt") if name in found.each]
    change = [("fixed", name) for name in ("jacobian", "folds") if name in found.each]
    pictures = {"compare": still(found, [("fixed", ""), ("before", ""), ("after", "")])}
    if over:
        pictures["uncertainty"] = still(found, over)
    if change:
        pictures["jacobian"] = still(found, change)
    return pictures


def _warps(found: Layers) -> int:
    return sum(name.startswith("warp") for name in found.each)


def _proportions(grid: Grid) -> str:
    """Widths and shapes of the planes, so that a millimetre is as long in all of them."""
    x, y, z = (n * h for n, h in zip(grid.shape, grid.spacing, strict=True))
    return f"--x:{x:.3f}fr;--y:{y:.3f}fr;--axial:{x / y:.5f};--coronal:{x / z:.5f};--sagittal:{y / z:.5f}"


def _meta(findings: Findings, found: Layers) -> dict[str, Any]:
    """What the viewer reads."""
    grid = found.view.grid
    rows = [] if findings.structures is None else findings.structures.rows
    return {
        "shape": grid.shape,
        "spacing": np.round(grid.spacing, 6).tolist(),
        "affine": np.round(grid.affine[:3], 6).tolist(),
        "middle": found.middle,
        "faded": FADED,
        "volumes": {name: layer.described() for name, layer in found.each.items()},
        "warps": _warps(found),
        "names": [label_name(row) for row in rows],
        "swatches": swatches(findings),
        "points": [
            {
                "at": np.round(grid.to_voxels(np.asarray(one.mean, dtype=np.float64)), 3).tolist(),
                "covariance": np.round(grid.directions.T @ one.covariance @ grid.directions, 5).tolist(),
                "known": None
                if one.known is None
                else np.round(grid.to_voxels(np.asarray(one.known, dtype=np.float64)), 3).tolist(),
            }
            for one in findings.landmarks
        ],
    }


def _rows(findings: Findings, found: Layers) -> dict[str, Any]:
    rows = [] if findings.structures is None else findings.structures.rows
    return {
        "structures": structure_rows(findings),
        "any_dice": any(row.dice is not None for row in rows),
        "dice_scale": dice_scale(findings),
        "landmarks": landmark_rows(findings.landmarks, found.view.grid),
        "any_known": any(one.known is not None for one in findings.landmarks),
        "folding": _folding(findings),
        "provenance": facts(findings.provenance),
        "quality": facts({key: value for key, value in findings.qc.items() if key != "warnings"}),
    }


def _folding(findings: Findings) -> str:
    share = findings.maps.fold_probability
    if share is None:
        return ""
    return "Some draws fold; the map shows where." if bool((share > 0).any()) else "No draw folds anywhere."


def _model(findings: Findings) -> dict[str, Any]:
    qc, residuals = findings.qc, findings.residuals
    mixture, virial = qc.get("mixture"), qc.get("virial")
    told = {
        "Virtual decimation α": qc.get("alpha"),
        "Prior strength λ": qc.get("strength"),
        "Mixture proportions": None if mixture is None else mixture.get("proportion"),
        "Mixture standard deviations": None
        if mixture is None
        else (np.asarray(mixture["precision"], dtype=np.float64) ** -0.5).tolist(),
        "Virial": None if virial is None else f"{virial['value']:.4f} ± {virial['error']:.4f}",
        "Step size": qc.get("step_size"),
    }
    return {
        "convergence": None if findings.tracked is None else convergence(findings.tracked),
        "calibration": None if findings.calibration is None else calibration_chart(findings.calibration),
        "residuals": None if residuals is None else residual_charts(residuals, mixture),
        "model": facts({name: value for name, value in told.items() if value is not None}),
        "methods": methods(findings.plan, qc, __version__),
    }
