"""The command line: one module per verb in `conformance.commands`, and one way to end on an error of the user's."""

from __future__ import annotations

import sys

import typer

from conformance.commands import (
    diff,
    expect,
    explain,
    generate,
    harness,
    hazards,
    list_,
    lower,
    merge,
    report,
    run,
    strength,
    verify,
)
from conformance.errors import ConformanceError

app = typer.Typer(
    help="Tell whether an ONNX backend does what the specification says for Adam, Momentum, Adagrad and ArgMax.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("run")(run.run)
app.command("report")(report.report)
app.command("diff")(diff.diff)
app.command("merge")(merge.merge)
app.add_typer(expect.app, name="expect")
app.command("list")(list_.list_)
app.command("explain")(explain.explain)
app.command("verify")(verify.verify)
app.command("generate")(generate.generate)
app.command("lower")(lower.lower)
app.command("hazards")(hazards.hazards)
app.command("strength")(strength.strength)
app.add_typer(harness.app, name="harness")


def main() -> None:
    """Run the command line; an error that the user can mend is two sentences and status 2."""
    try:
        app()
    except ConformanceError as error:
        sys.stderr.write(f"error: {error.problem}\n       {error.mend}\n")
        sys.exit(2)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(1)
    except OSError as error:
        sys.stderr.write(f"error: {error.filename or 'A file'}: {error.strerror or error}.\n       Name another.\n")
        sys.exit(2)
