"""The commands: parse, read, call, write; each failure is one sentence and its exit code."""

import os
import sys
from typing import Annotated

import typer

from credwarp.cli import answering, batching, calibrating, demo, examine, judging, registering, training, warp
from credwarp.cli.console import error, listen, undone_at_the_end
from credwarp.errors import CredwarpError

INTERRUPTED, USAGE, OUT_OF_MEMORY, UNEXPECTED = 130, 2, 5, 1

app = typer.Typer(
    name="credwarp",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Register two 3-D medical images non-rigidly, and say how sure the result is.",
)
app.command(rich_help_panel="Start")(demo.demo)
app.command(rich_help_panel="Start")(examine.inspect)
app.command(rich_help_panel="Start")(examine.doctor)
app.command(rich_help_panel="Register")(registering.register)
app.command(rich_help_panel="Register")(registering.resume)
app.command(rich_help_panel="Register")(registering.sample)
app.command(rich_help_panel="Register")(batching.batch)
app.command(rich_help_panel="Register")(warp.affine)
app.command(rich_help_panel="Register")(examine.plan)
app.command(rich_help_panel="Register")(training.train)
app.command(rich_help_panel="Judge")(registering.diagnose)
app.command(rich_help_panel="Judge")(registering.report)
app.command(rich_help_panel="Judge")(calibrating.calibrate)
app.command(rich_help_panel="Judge")(judging.compare)
app.command(rich_help_panel="Judge")(judging.verify)
app.command(rich_help_panel="Use the result")(warp.apply)
app.command(rich_help_panel="Use the result")(answering.labels)
app.command(rich_help_panel="Use the result")(answering.points)
app.command(rich_help_panel="Use the result")(answering.dose)
app.command(rich_help_panel="Use the result")(warp.export)


@app.callback()
def common(
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print results and errors only.")] = False,
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version.", callback=lambda v: _version(v), is_eager=True),
    ] = False,
) -> None:
    """Options that come before the command."""
    listen(quiet)


def main(arguments: list[str] | None = None) -> None:
    """Run a command and end the process with its exit code."""
    sys.exit(run(sys.argv[1:] if arguments is None else arguments))


def run(arguments: list[str]) -> int:
    """Run a command; what goes wrong becomes one line and a code."""
    try:
        with undone_at_the_end():
            return app(arguments, standalone_mode=False, prog_name="credwarp") or 0
    except CredwarpError as failure:
        error(str(failure))
        return failure.exit_code
    except typer.TyperException as failure:
        if not arguments:
            return USAGE
        said = getattr(failure, "format_message", failure.__str__)().rstrip(".")
        error(f"{said}; see credwarp {_command(arguments)}--help.")
        return USAGE
    except (KeyboardInterrupt, typer.Abort):
        error("interrupted.")
        return INTERRUPTED
    except MemoryError:
        error("there is not enough memory; use a coarser --set preparation.spacing or a larger machine.")
        return OUT_OF_MEMORY
    except BrokenPipeError:
        return 0
    except Exception as failure:  # noqa: BLE001  no traceback reaches a user
        if os.environ.get("CREDWARP_TRACEBACK"):
            raise
        said = " ".join(str(failure).split())[:300]
        error(
            f"a defect in credwarp: {type(failure).__name__}: {said}; "
            "please report it with what CREDWARP_TRACEBACK=1 prints."
        )
        return UNEXPECTED


def _command(arguments: list[str]) -> str:
    """The command that was meant, with a blank behind it, or nothing."""
    known = {command.callback.__name__ for command in app.registered_commands if command.callback}
    return next((f"{word} " for word in arguments if word in known), "")


def _version(wanted: bool) -> None:
    if wanted:
        from credwarp import __version__

        typer.echo(f"credwarp {__version__}")
        raise typer.Exit
