"""The command line: one module per verb in `conformance.commands`, and one way to end on an error of the user's."""

from __future__ import annotations

import io
import os
import shlex
import signal
import sys
import tempfile
import time
import traceback
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from conformance import HOME, __version__
from conformance.boundary.text import visible
from conformance.commands import (
    census,
    diff,
    env,
    expect,
    explain,
    generate,
    harness,
    hazards,
    list_,
    lower,
    merge,
    report,
    repro,
    run,
    search,
    strength,
    verify,
)
from conformance.commands.options import Verb, VerbOfManyOptions, Verbs
from conformance.commands.terminal import say
from conformance.errors import ConformanceError, ExitStatus
from conformance.run.watching import end_watched

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

_SAME = 1.0
"""Seconds in which several signals are one interruption."""

app = typer.Typer(
    help="Tell whether an ONNX backend does what the specification says for Adam, Momentum, Adagrad and ArgMax.",
    epilog="Exit status: " + "; ".join(f"{status:d} {status.meaning}" for status in ExitStatus) + ".",
    cls=Verbs,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _say_version(asked: bool) -> None:
    if asked:
        say(f"onnx-conformance {__version__}")
        raise typer.Exit


@app.callback()
def _of_all(
    version: Annotated[
        bool, typer.Option("--version", help="Show the suite's version.", is_eager=True, callback=_say_version)
    ] = False,
) -> None:
    pass


app.command("run", cls=VerbOfManyOptions)(run.run)
app.command("report", cls=Verb)(report.report)
app.command("diff", cls=Verb)(diff.diff)
app.command("merge", cls=Verb)(merge.merge)
app.add_typer(expect.app, name="expect")
app.command("list", cls=VerbOfManyOptions)(list_.list_)
app.command("explain", cls=Verb)(explain.explain)
app.command("repro", cls=Verb)(repro.repro)
app.command("verify", cls=Verb)(verify.verify)
app.command("generate", cls=Verb)(generate.generate)
app.command("lower", cls=Verb)(lower.lower)
app.command("hazards", cls=Verb)(hazards.hazards)
app.command("census", cls=Verb)(census.census)
app.command("search", cls=Verb)(search.search)
app.command("strength", cls=Verb)(strength.strength)
app.add_typer(harness.app, name="harness")
app.add_typer(env.app, name="env")


def main() -> None:
    """Run the command line, and end with one of `ExitStatus`; an error that the user can mend is two sentences."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # what a terminal cannot show must not end a command
    if os.name != "posix":
        _say("onnx-conformance runs on Linux and macOS.", "On Windows, use WSL.")
        sys.exit(ExitStatus.USAGE)
    status = _status()
    end_watched(status)
    sys.exit(status)


def _status() -> int:
    """What the command line came to."""
    try:
        with _noted_interruptions() as interruptions:
            app()
    except SystemExit as ending:
        return ExitStatus.INTERRUPTED if interruptions and ending.code else int(ending.code or 0)
    except KeyboardInterrupt:
        return ExitStatus.INTERRUPTED
    except ConformanceError as error:
        _say(error.problem, error.mend)
        return ExitStatus.USAGE
    except BrokenPipeError:
        sys.stderr.close()
        return ExitStatus.FAILS
    except OSError as error:
        _say(f"{error.filename or 'A file'}: {error.strerror or error}.", "Name another.")
        return ExitStatus.USAGE
    except Exception as error:  # noqa: BLE001 - what is left is a fault of ours, of which no user sees a traceback
        _say(f"This is a fault of onnx-conformance: {type(error).__name__}: {error}", _kept_trace())
        return ExitStatus.FAULT
    return ExitStatus.HOLDS


@contextmanager
def _noted_interruptions() -> Iterator[list[float]]:
    """When the user or the system ended the command, by Ctrl-C or SIGTERM; a signal that is ignored stays so.

    Signals within a second of the first are the same interruption: a terminal, `timeout` and what watches a run may
    each send it, and what is being put in order is not to be broken off by that.
    """
    noted: list[float] = []

    def note(number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if not noted or now - noted[0] > _SAME:
            noted.append(now)
            signal.default_int_handler(number, frame)

    usual: dict[int, Any] = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
    noticed = [number for number, handler in usual.items() if signal.getsignal(number) is handler]
    for number in noticed:
        signal.signal(number, note)
    try:
        yield noted
    finally:
        for number in noticed:
            signal.signal(number, usual[number])


def _say(problem: str, mend: str) -> None:
    sys.stderr.write(f"error: {visible(problem)}\n       {visible(mend)}\n")


def _kept_trace() -> str:
    """Write down where the suite broke down, and say where that is."""
    with tempfile.NamedTemporaryFile("w", prefix="onnx-conformance-fault-", suffix=".txt", delete=False) as file:
        file.write(f"onnx-conformance {__version__}, Python {sys.version}\n{shlex.join(sys.argv)}\n\n")
        traceback.print_exc(file=file)
    where = f" at {HOME}" if HOME else ""
    return f"Please report it{where} with {file.name}, which has the traceback."
