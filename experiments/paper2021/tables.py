"""The paper's tables beside ours, and those that only we have: rows of words, made of results."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from experiments.paper2021.anatomy import GROUPS
from experiments.paper2021.results import Finished, Result, Spread
from experiments.paper2021.starts import meeting
from experiments.paper2021.verdicts import APART

NONE = "—"
RUNTIMES = ("training_seconds", "registration_seconds", "samples_per_second", "fewer_samples_per_second_than")


@dataclass(frozen=True)
class Table:
    """A title, what is in the columns, and the rows."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def markdown(self) -> str:
        """As a table of a Markdown document."""
        lines = [self.columns, tuple("---" for _ in self.columns), *self.rows]
        body = "\n".join("| " + " | ".join(line) + " |" for line in lines)
        return f"**{self.title}**\n\n{body}\n"


def number(value: float | None, digits: int = 2) -> str:
    """A number as it stands in a table; a dash where there is none."""
    if value is None or value != value:
        return NONE
    return f"{value:.{digits}f}".replace("-", "−")


def with_spread(value: Spread, digits: int = 2) -> str:
    """Mean and standard deviation, as the paper writes them."""
    return f"{number(value.mean, digits)} ({number(value.sd, digits)})"


def accuracy(found: Finished, which: str) -> Table:
    """Table 1: `distance` or `dice` of small, medium and large structures."""
    expected: Mapping[str, Mapping[str, Sequence[float]]] = found.experiment.expected[which]

    def theirs(name: str) -> tuple[str, ...]:
        return tuple(with_spread(Spread(*expected[name][group])) for group in GROUPS)

    def ours(result: Result) -> tuple[str, ...]:
        return tuple(with_spread(result.group(which, group)) for group in GROUPS)

    title = {"distance": "Average surface distance (mm)", "dice": "Dice score"}[which]
    columns = ("model", *(f"{group}, {who}" for who in ("paper", "here") for group in GROUPS))
    return Table(f"{title}: mean (SD) over draws", columns, _beside(found, expected, theirs, ours))


def correlation(found: Finished) -> Table:
    """Table 2: r of displacement and label uncertainties, with its interval."""
    expected = found.experiment.expected["correlation"]

    def ours(result: Result) -> tuple[str, ...]:
        r = result.measured["correlation"]
        return number(r["r"]), f"{number(r['low'])} to {number(r['high'])}"

    rows = _beside(found, expected, lambda name: (number(expected[name]),), ours)
    columns = ("model", "r, paper", "r, here", "95 % interval")
    return Table("Correlation of displacement and label uncertainty over structures", columns, rows)


def folding(found: Finished) -> Table:
    """Table 3: voxels where a sampled transformation is not diffeomorphic."""
    expected = found.experiment.expected["folds"]

    def ours(result: Result) -> tuple[str, ...]:
        share = 100 * result.folds.mean / result.measured["voxels"]
        return with_spread(result.folds), f"{share:.2g}"

    rows = _beside(found, expected, lambda name: (with_spread(Spread(*expected[name])),), ours)
    return Table(
        "Voxels of a draw with det J ≤ 0: mean (SD) over draws",
        ("model", "voxels, paper", "voxels, here", "% of voxels, here"),
        rows,
    )


def runtime(found: Finished) -> Table:
    """Table 4: how long a registration takes, and what its draws are worth a second."""
    expected = found.experiment.expected
    training, registration, rate, fewer = (expected[name] for name in RUNTIMES)
    names = {**rate, **fewer}

    def theirs(name: str) -> tuple[str, ...]:
        drawn = f"{rate[name]:g}" if name in rate else f"< {fewer[name]:g}"
        return _seconds(training.get(name)), _seconds(registration.get(name)), drawn

    def ours(result: Result) -> tuple[str, ...]:
        worst, median = result.effective
        steps = result.transitions * result.plan.sampling.chains
        rates = tuple(
            f"{count / result.draw_seconds:.3g}" if count else NONE for count in (result.draws, steps)
        )
        effective = tuple(_at_most(result, n / result.draw_seconds) for n in (median, worst))
        trained = _seconds(result.measured["training_seconds"])
        return trained, _seconds(result.registration_seconds), *rates, *effective

    columns = (
        "model",
        *(f"{what}, paper" for what in ("training (s)", "registration (s)", "draws/s")),
        *(f"{what}, here" for what in ("training (s)", "registration (s)", "draws/s")),
        "transitions/s",
        "effective draws/s, median",
        "effective draws/s, worst",
    )
    return Table("Run time", columns, _beside(found, names, theirs, ours))


def regularisation(found: Finished, pair: str) -> Table:
    """What each strength does: ours alone, the paper has pictures of it."""
    rows = tuple(
        (
            result.cell.title,
            number(result.measured["strength"]),
            f"{result.folds.mean:.1f}",
            number(result.measured["motion"]),
            number(result.sd),
            number(result.dice, 3),
            number(result.dice - result.gain, 3),
        )
        for result in found.on(pair).values()
    )
    columns = (
        "prior",
        "λ in the end",
        "folded voxels a draw",
        "mean displacement (mm)",
        "SD (mm)",
        "Dice",
        "Dice before",
    )
    return Table(f"Regularisation, pair “{pair}”", columns, rows)


def starts(found: Finished) -> Table:
    """Section 6.3.2: how much the standard deviation depends on where chains start."""
    apart, expected = meeting(found), found.experiment.expected
    rows = (
        ("discrepancy of SD, mean (mm)", number(expected["discrepancy_mean_mm"], 1), number(apart.mean_mm)),
        ("discrepancy of SD, maximum (mm)", number(expected["discrepancy_max_mm"], 1), number(apart.max_mm)),
        ("R-hat over the three starts, worst", NONE, number(apart.rhat_max)),
        ("R-hat over the three starts, median", NONE, number(apart.rhat_median)),
    )
    return Table("Dependence on the start", ("", "paper", "here"), rows)


def bsplines(found: Finished) -> Table:
    """Dense against B-splines: how smooth, how accurate, how uncertain."""
    rows = tuple(
        (
            result.cell.title,
            number(result.measured["roughness"], 3),
            f"{result.folds.mean:.1f}",
            number(result.dice, 3),
            number(result.sd),
        )
        for result in found.on().values()
    )
    return Table(
        "Parametrisations",
        ("velocity", "step of det J between voxels", "folded voxels a draw", "Dice", "SD (mm)"),
        rows,
    )


def mixing(found: Sequence[Finished]) -> Table:
    """Have the chains met? Every run of chains once, whichever experiments it is of."""
    runs = {result.folder: result for finished in found for result in finished.results}
    chained = [result for result in runs.values() if result.measured["mixing"] is not None]
    columns = (
        "chains",
        "transitions",
        "R-hat, worst",
        "ESS, worst",
        "ESS, median",
        "ESS/s, worst",
        "converged",
    )
    return Table("Convergence of every chain", columns, tuple(_mixed(result) for result in chained))


def _mixed(result: Result) -> tuple[str, ...]:
    facts, (worst, median) = result.measured["mixing"], result.effective
    return (
        result.cell.title,
        f"{result.plan.sampling.chains} × {result.transitions}",
        number(facts["rhat_max"]),
        _at_most(result, worst),
        _at_most(result, median),
        _at_most(result, worst / result.draw_seconds),
        "yes" if facts["converged"] else "no",
    )


def _at_most(result: Result, effective: float) -> str:
    """An effective size; of chains that have not met it is only a bound."""
    facts = result.measured["mixing"]
    bound = facts is not None and not facts["rhat_max"] <= APART
    return f"{'≤ ' if bound else ''}{effective:.3g}"


def calibration(found: Finished) -> Table:
    """Is the truth where the draws say? Where it is known: coverage and sparsification; labels always."""
    rows = tuple(
        (result.cell.title, *_truth(result.measured), *_trust(result.measured))
        for result in found.on().values()
    )
    columns = (
        "model",
        "error before (mm)",
        "error of the mean (mm)",
        *(f"truth in {100 * n:.0f} % intervals" for n in (0.5, 0.9, 0.95)),
        "error / SD",
        "sparsification excess",
        "calibration error of labels",
        "Brier score",
        "mean risk of labels",
    )
    return Table("Calibration", columns, rows)


def _truth(measured: Mapping[str, Any]) -> tuple[str, ...]:
    if "truth" not in measured:
        return (NONE,) * 7
    truth = measured["truth"]
    held = tuple(f"{100 * share:.0f} %" for share in truth["coverage"])
    excess = number(measured["sparsification"]["area"])
    return number(truth["before"]), number(truth["after"]), *held, number(truth["ratio"]), excess


def _trust(measured: Mapping[str, Any]) -> tuple[str, ...]:
    stated = measured["reliability"]
    return number(stated["error"], 3), number(stated["brier"], 3), number(measured["risk"]["mean"], 3)


def _seconds(value: float | None) -> str:
    return NONE if value is None else f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def _beside(
    found: Finished,
    expected: Mapping[str, Any],
    theirs: Callable[[str], tuple[str, ...]],
    ours: Callable[[Result], tuple[str, ...]],
) -> tuple[tuple[str, ...], ...]:
    """Ours beside the paper's, where it has the model."""
    blank = tuple(NONE for _ in theirs(next(iter(expected))))
    return tuple(
        (result.cell.title, *(theirs(name) if name in expected else blank), *ours(result))
        for name, result in found.on().items()
    )
