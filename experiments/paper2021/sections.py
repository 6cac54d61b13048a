"""What the page has of each experiment: its figures, with what to see in them, and its tables."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from matplotlib.figure import Figure

from experiments.paper2021 import charts, pictures, tables
from experiments.paper2021.results import Finished

Draw: TypeAlias = Callable[[str, Figure, str], str]
Section: TypeAlias = Callable[[Finished, Draw], list[str]]

AXIAL = "Middle axial slice."
REGULARISATION = f"Length of the mean displacement, and the warped image, by prior. {AXIAL}"
UNCERTAINTY = "Standard deviation of the displacement: where a model is unsure, and how much. Middle slices."
BOXES = "Surface distance and Dice of each structure over draws; dashed lines: before registration."
JACOBIAN = (
    "Determinant of the Jacobian of a draw: white where volume is kept, blue where it shrinks, red where it "
    f"grows, magenta where the draw folds. {AXIAL}"
)
STARTS = f"Uncertainty by start, and how far it is from that of the first start. {AXIAL}"
BSPLINE = f"Uncertainty and the Jacobian of a draw by parametrisation: look for roughness. {AXIAL}"
CALIBRATION = (
    "Calibration. Above: the diagonal is right; below it, a model is too sure of itself. Below: uncertainty "
    "finds errors where a curve falls soon (left) and stays low for long (right)."
)
PAIRS = {
    "unlike": f"M₁, unlike the fixed image: length of the mean displacement by strength. {AXIAL}",
    "alike": f"M₂, like the fixed image: length of the mean displacement by strength. {AXIAL}",
}


def regularisation(found: Finished, draw: Draw) -> list[str]:
    """Figure 1."""
    figure = pictures.displacements(tuple(found.on().values()))
    return [draw("regularisation", figure, REGULARISATION), tables.regularisation(found, "sample").markdown()]


def two_pairs(found: Finished, draw: Draw) -> list[str]:
    """Figure 2."""
    parts = []
    for pair, caption in PAIRS.items():
        figure = pictures.displacements(tuple(found.on(pair).values()), moving=True, zoom=True)
        parts += [draw(f"two_pairs_{pair}", figure, caption), tables.regularisation(found, pair).markdown()]
    return parts


def uncertainty(found: Finished, draw: Draw) -> list[str]:
    """Figures 3 to 5, tables 1 to 3."""
    results = tuple(found.on().values())
    return [
        draw("uncertainty", pictures.uncertainties(results), UNCERTAINTY),
        tables.accuracy(found, "distance").markdown(),
        tables.accuracy(found, "dice").markdown(),
        draw("boxes", charts.boxes(results), BOXES),
        tables.correlation(found).markdown(),
        tables.folding(found).markdown(),
        draw("jacobian", pictures.jacobians(results), JACOBIAN),
    ]


def initialisation(found: Finished, draw: Draw) -> list[str]:
    """Section 6.3.2."""
    return [draw("starts", pictures.starts(found), STARTS), tables.starts(found).markdown()]


def bspline(found: Finished, draw: Draw) -> list[str]:
    """Figure 6."""
    figure = pictures.jacobians(tuple(found.on().values()), with_spread=True)
    return [draw("bspline", figure, BSPLINE), tables.bsplines(found).markdown()]


def runtime(found: Finished, draw: Draw) -> list[str]:
    """Table 4."""
    return [tables.runtime(found).markdown()]


def beyond(found: Sequence[Finished], draw: Draw) -> list[str]:
    """Convergence of all chains; calibration of the models that were compared."""
    parts = [tables.mixing(found).markdown()]
    for finished in found:
        if finished.experiment.name == "3_uncertainty":
            figure = charts.calibration(tuple(finished.on().values()))
            parts += [tables.calibration(finished).markdown(), draw("calibration", figure, CALIBRATION)]
    return parts


SECTIONS: dict[str, Section] = {
    "1_regularisation": regularisation,
    "1b_two_pairs": two_pairs,
    "3_uncertainty": uncertainty,
    "4_initialisation": initialisation,
    "5_bspline": bspline,
    "runtime": runtime,
}
