"""The command line: one module per verb in `conformance.commands`, and one way to end on an error of the user's."""

from __future__ import annotations

import shlex
import signal
import sys
import tempfile
import traceback
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from conformance import __version__
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
from conformance.errors import ConformanceError, ExitStatus

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

app = typer.Typer(
    help="Tell whether an ONNX backend does what the specification says for Adam, Momentum, Adagrad and ArgMax.",
    epilog="Exit status: " + "; ".join(f"{status:d} {status.meaning}" for status in ExitStatus) + ".",
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
    """Run the command line, and end with one of `ExitStatus`; an error that the user can mend is two sentences."""
    try:
        with _noted_interruptions() as interruptions:
            app()
    except SystemExit as ending:
        sys.exit(ExitStatus.INTERRUPTED if interruptions and ending.code else ending.code)
    except ConformanceError as error:
        _say(error.problem, error.mend)
        sys.exit(ExitStatus.USAGE)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(ExitStatus.FAILS)
    except OSError as error:
        _say(f"{error.filename or 'A file'}: {error.strerror or error}.", "Name another.")
        sys.exit(ExitStatus.USAGE)
    except Exception as error:  # noqa: BLE001 - what is left is a fault of ours, of which no user sees a traceback
        _say(f"This is a fault of onnx-conformance: {type(error).__name__}: {error}", _kept_trace())
        sys.exit(ExitStatus.FAULT)


@contextmanager
def _noted_interruptions() -> Iterator[list[int]]:
    """The signals by which the user ends the command, as they come; none where they are ignored."""
    noted: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        noted.append(number)
        signal.default_int_handler(number, frame)

    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield noted
        return
    signal.signal(signal.SIGINT, note)
    try:
        yield noted
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _say(problem: str, mend: str) -> None:
    sys.stderr.write(f"error: {problem}\n       {mend}\n")


def _kept_trace() -> str:
    """Write down where the suite broke down, and say where that is."""
    with tempfile.NamedTemporaryFile("w", prefix="onnx-conformance-fault-", suffix=".txt", delete=False) as file:
        file.write(f"onnx-conformance {__version__}, Python {sys.version}\n{shlex.join(sys.argv)}\n\n")
        traceback.print_exc(file=file)
    return f"Please report it with {file.name}, which has the traceback."
