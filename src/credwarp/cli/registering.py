"""Registering: a run begun, gone on with, lengthened, judged."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from credwarp.cli.examine import Settings

if TYPE_CHECKING:
    from credwarp.plan import Plan
    from credwarp.workflow import Outcome

Folder = Annotated[Path, typer.Argument(metavar="RUN", help="A run's folder.")]
Threads = Annotated[int | None, typer.Option(min=1, help="Threads to compute on; all cores without.")]
Strict = Annotated[bool, typer.Option("--strict", help="Exit with 6 if any flag is raised.")]
ImageOption = Path | None


def register(
    fixed: Annotated[Path, typer.Argument(help="The image that stays.")],
    moving: Annotated[Path, typer.Argument(help="The image to be brought onto it.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The run's folder, a new one.")],
    fixed_mask: Annotated[ImageOption, typer.Option(help="Where to look in the fixed image.")] = None,
    moving_mask: Annotated[ImageOption, typer.Option(help="Where to look in the moving image.")] = None,
    fixed_labels: Annotated[ImageOption, typer.Option(help="Labels of the fixed image, to compare.")] = None,
    moving_labels: Annotated[ImageOption, typer.Option(help="Labels of the moving image, to carry.")] = None,
    fixed_points: Annotated[ImageOption, typer.Option(help="Where --moving-points truly lie.")] = None,
    moving_points: Annotated[ImageOption, typer.Option(help="Landmarks of moving, to carry.")] = None,
    plan: Annotated[ImageOption, typer.Option(help="A plan, as `credwarp plan` prints it.")] = None,
    settings: Settings = None,
    init: Annotated[str | None, typer.Option(help="header, rigid, affine, or a transform's file.")] = None,
    method: Annotated[
        str | None, typer.Option(help="map (one warp), vi (fast), mcmc (the default), amortised (a network).")
    ] = None,
    model: Annotated[ImageOption, typer.Option(help="The network of --method amortised.")] = None,
    start: Annotated[ImageOption, typer.Option(help="A network from whose output the search starts.")] = None,
    chains: Annotated[int | None, typer.Option(help="Chains, side by side.")] = None,
    draws: Annotated[int | None, typer.Option(help="Draws to keep, all chains together.")] = None,
    budget: Annotated[str | None, typer.Option(help="Time to take, such as 10min or 90s.")] = None,
    seed: Annotated[int | None, typer.Option(help="Another one, other draws of the same posterior.")] = None,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    threads: Threads = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Forecast time and memory only.")] = False,
    strict: Strict = False,
) -> None:
    """Register two images: where everything goes, and how sure that is.

    Example: credwarp register fixed.nii.gz moving.nii.gz -o run
    """
    from credwarp.cli.arguments import plan_from, use_machine
    from credwarp.workflow import Request, Subject, begin, refuse_used

    use_machine(device, threads)
    initial = None if init in (None, "header", "rigid", "affine") else Path(str(init))
    given = {
        "prealignment.kind": init if initial is None else None,
        "method": method,
        "optimisation.start": None if start is None else "network",
        "sampling.chains": chains,
        "sampling.draws": draws,
        "seed": seed,
    }
    chosen = plan_from(plan, [*(settings or ()), *(f"{k}={v}" for k, v in given.items() if v is not None)])
    request = Request(
        Subject(fixed, fixed_mask, fixed_labels, fixed_points),
        Subject(moving, moving_mask, moving_labels, moving_points),
        initial,
        _one_network(model, start),
    )
    if not dry_run:
        refuse_used(output)
    if dry_run or budget is not None:
        chosen = _forecast(request, chosen, budget)
    if dry_run:
        return
    begin(request, chosen, output)
    ended(completed(output, strict))


def resume(run: Folder, threads: Threads = None, strict: Strict = False) -> None:
    """Go on with a run that was stopped; the draws are those of a run that never was.

    Example: credwarp resume run
    """
    _restored(run, threads)
    ended(completed(run, strict))


def sample(
    run: Folder,
    draws: Annotated[int, typer.Option(min=1, help="Draws to have in the end, all chains together.")],
    threads: Threads = None,
    strict: Strict = False,
) -> None:
    """Draw more: the chains go on where they are.

    Example: credwarp sample run --draws 4000
    """
    from credwarp.workflow import lengthen

    _restored(run, threads)
    lengthen(run, draws)
    ended(completed(run, strict))


def diagnose(run: Folder) -> None:
    """Say whether a run's chains have met, and what its draws are worth.

    Example: credwarp diagnose run
    """
    from rich.console import Console
    from rich.table import Table

    from credwarp.workflow import diagnosis_of

    found = diagnosis_of(run)
    table = Table("functional", "R-hat", "bulk ESS", "tail ESS", "error of mean", "error of SD")
    for index in found.mixing.rhat.argsort(descending=True)[:12].tolist():
        mixing = found.mixing
        figures = (mixing.rhat, mixing.ess_bulk, mixing.ess_tail, mixing.mean_error, mixing.sd_error)
        cells = [f"{float(figure[index]):.4g}" for figure in figures]
        table.add_row(found.names[index], *cells)
    console = Console()
    console.print(table)
    facts = found.facts(1)
    verdict = "converged" if found.converged else "not converged"
    console.print(
        f"{verdict}: of {len(found.names)} functionals, R-hat at most {facts['rhat_max']:.4f}, "
        f"effective draws {facts['ess_min']:.0f} at least, {facts['ess_median']:.0f} typically."
    )
    if not found.converged:
        raise typer.Exit(4)


def report(run: Folder) -> None:
    """Write a run's report anew, with its maps and figures of quality.

    Example: credwarp report run
    """
    from credwarp.workflow import rewrite

    rewrite(run)
    typer.echo(f"{run / 'report.html'}")


def completed(folder: Path, strict: bool) -> "Outcome":
    """The rest of a run, watched and logged; interrupted, it says how to go on."""
    from credwarp.cli.console import following
    from credwarp.workflow import complete, logging_to

    with logging_to(folder / "log.jsonl"), following() as watch:
        try:
            return complete(folder, watch, strict)
        except KeyboardInterrupt:
            from credwarp.errors import Interrupted

            raise Interrupted(f"interrupted; go on with `credwarp resume {folder}`.") from None


def ended(outcome: "Outcome") -> None:
    """The verdict, the path of the report, and the exit code."""
    from credwarp.report import verdict

    typer.echo(verdict(outcome.qc).sentence)
    typer.echo(f"{outcome.folder / 'report.html'}")
    if outcome.code:
        raise typer.Exit(outcome.code)


def _restored(run: Path, threads: int | None) -> None:
    """As many threads as the run began with, unless others are asked for: draws depend on them."""
    from credwarp.cli.arguments import use_machine
    from credwarp.workflow import threads_of

    use_machine("auto", threads if threads is not None else threads_of(run))


def _one_network(model: Path | None, start: Path | None) -> Path | None:
    from credwarp.errors import PlanError

    if model is not None and start is not None:
        raise PlanError("--model draws from a network and --start only starts from one; give one of them.")
    return model or start


def _forecast(request: object, plan: "Plan", budget: str | None) -> "Plan":
    from credwarp.cli.arguments import seconds_from
    from credwarp.workflow import Request, forecast, within

    assert isinstance(request, Request)
    predicted = forecast(request.prepare(plan), plan)
    if budget is not None:
        plan, predicted = within(predicted, plan, seconds_from(budget))
    for line in predicted.lines():
        typer.echo(line)
    return plan
