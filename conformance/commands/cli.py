"""The command `onnx-conformance`: its verbs, its exit status, and the handling of errors and signals.

The package `conformance.commands` implements the verbs.
"""

from __future__ import annotations

import errno
import io
import os
import re
import resource
import shlex
import signal
import sys
import tempfile
import threading
import time
import traceback
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from conformance import PROJECT_URL, __version__
from conformance.base.errors import ConformanceError, ExitStatus, StorageError, SubjectError, SuiteFault, UsageError
from conformance.base.files.atomic_write import open_standard_streams
from conformance.base.processes.helper import adopt_orphans
from conformance.base.processes.start import report_status_and_exit
from conformance.base.serialization.printable_text import discard_output, one_line, print_line
from conformance.commands.command_options import Invocation, Verb, Verbs, VerbWithPanels

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from types import FrameType

_SAME_INTERRUPTION_SECONDS = 1.0
"""Time within which signals of different numbers count as one interruption."""

_SAME_SIGNAL_SECONDS = 0.1
"""Time within which signals of one number count as one interruption; nobody presses Ctrl-C twice in this time."""

_SENT_AGAIN_SECONDS = 0.02
"""Time after which a signal is sent again that arrived during an import, or whose exception Python ignored."""

_LONGEST_STEP_SECONDS = 3.0
"""Time after which a signal ends the process at once, because Python does not handle it: a step of NumPy is long."""

_LONGEST_IMPORT_SECONDS = 2.0
"""Time after which a signal interrupts an import; the module of a subject may hang when it is imported."""

_COMPLETION_VARIABLE = "_ONNX_CONFORMANCE_COMPLETE"
"""Environment variable that the completion scripts of typer set."""

_VERBS = {
    "run": "run.run",
    "audit": "audit.audit",
    "blame": "blame.blame",
    "report": "results.report",
    "diff": "results.diff",
    "merge": "results.merge",
    "update-expectations": "results.update_expectations",
    "list": "corpus.list_",
    "explain": "explain.explain",
    "repro": "repro.repro",
    "search": "search.search",
    "census": "census.census",
    "hazards": "expand_and_hazards.hazards",
    "expand": "expand_and_hazards.expand",
    "verify": "corpus.verify",
    "generate": "corpus.generate",
    "export": "corpus.export",
    "check-harness": "check_harness.check_harness",
    "env": "env.app",
    "history": "history.app",
}
"""Module in `conformance.commands` of each verb or group of verbs, and its name there."""


def _print_version(is_given: bool) -> None:
    if is_given:
        print_line(f"onnx-conformance {__version__}")
        raise typer.Exit


def _global_options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version of the suite.", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    pass


def create_app(verbs: Collection[str]) -> typer.Typer:
    """Return the command line with some of the verbs; only their modules are imported.

    Args:
        verbs: names of verbs and of groups of verbs; none for all.
    """
    app = typer.Typer(
        help=(
            "Test ONNX runtimes and graph optimizers with exact cases, find the wrong node of a model, and make test"
            " data for all of ONNX."
        ),
        epilog="\n".join(["Exit status:", *(f"{status:d} {status.meaning}." for status in ExitStatus)]),
        cls=Verbs,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        callback=_global_options,
    )
    for verb, place in _VERBS.items():
        if verbs and verb not in verbs:
            continue
        module, _, name = place.partition(".")
        command = getattr(import_module(f"conformance.commands.{module}"), name)
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=verb)
        else:
            app.command(verb, cls=VerbWithPanels if verb == "run" else Verb)(command)
    return app


_PROTOBUF_VARIABLE = "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION"


def main() -> None:
    """Run the command line, and end the process with one of `ExitStatus`.

    An error that the user can correct is printed as two sentences: the problem and a hint.
    """
    open_standard_streams()
    for name in ("COLUMNS", "LINES", "TERMINAL_WIDTH"):
        if re.fullmatch("[1-9][0-9]{0,3}", os.environ.get(name, "1"), re.ASCII) is None:
            del os.environ[name]  # a library would allocate a line of this length
    if os.environ.get(_PROTOBUF_VARIABLE, "upb") not in {"python", "upb"}:
        del os.environ[_PROTOBUF_VARIABLE]  # protobuf cannot be imported with another value
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(
                errors="backslashreplace"
            )  # a character that the terminal cannot encode must not end a command
    if os.name != "posix":
        _print_error("onnx-conformance runs on Linux and macOS.", "On Windows, use WSL.")
        sys.exit(ExitStatus.USAGE)
    adopt_orphans()
    status = _run_command()
    report_status_and_exit(status)
    sys.exit(status)


def _run_command() -> int:
    """Run the command line and return its exit status."""
    invocation = Invocation()
    try:
        with _interruptions() as interruptions:
            _check_address_space()
            create_app(_invoked_verb())(obj=invocation, prog_name="onnx-conformance")
    except SystemExit as ending:
        return ExitStatus.INTERRUPTED if interruptions and ending.code else int(ending.code or 0)
    except KeyboardInterrupt:
        return ExitStatus.INTERRUPTED
    except ConformanceError as error:
        _print_error(error.problem, error.hint, error.code, with_code=invocation.is_verbose)
        return ExitStatus.USAGE
    except BrokenPipeError:
        sys.stderr.close()
        return ExitStatus.FAILS
    except OSError as error:
        storage = _storage_error(error)
        _print_error(storage.problem, storage.hint, storage.code, with_code=invocation.is_verbose)
        return ExitStatus.USAGE
    except MemoryError as error:
        lacking = StorageError("out-of-memory", reason=str(error) or "the system gives no more")
        _print_error(lacking.problem, lacking.hint, lacking.code, with_code=invocation.is_verbose)
        return ExitStatus.USAGE
    except Exception as error:  # noqa: BLE001 - any other exception is an internal error, printed without a traceback
        from conformance.base.plugins import wrong_dependency

        if (wrong := wrong_dependency()) is not None:
            _print_error(wrong.problem, wrong.hint, wrong.code, with_code=invocation.is_verbose)
            return ExitStatus.USAGE
        if lost := _lost_module(error):
            deleted = SubjectError("modules-removed", name=lost)
            _print_error(deleted.problem, deleted.hint, deleted.code, with_code=invocation.is_verbose)
            return ExitStatus.USAGE
        problem = f"Internal error of onnx-conformance: {type(error).__name__}: {error}"
        code = getattr(error, "code", "") if isinstance(error, SuiteFault) else SuiteFault.code
        _print_error(problem, _write_traceback(), code, with_code=invocation.is_verbose)
        return ExitStatus.FAULT
    return ExitStatus.PASSES


_OWN_MODULES = frozenset(name for name in sys.modules if name.partition(".")[0] == "conformance")


def _lost_module(error: Exception) -> str:
    """Return a module that a subject in this process has removed; an empty text if none is known."""
    if isinstance(error, ImportError) and "more than once per process" in str(error):
        return "numpy"  # its import checks that
    return min(_OWN_MODULES - sys.modules.keys(), default="")


MIN_ADDRESS_SPACE = 3 * 2**27
"""Address space in bytes without which the import of NumPy or of a compiled module ends the process."""


def _check_address_space() -> None:
    """Check that the limit of address space suffices for a verb.

    Raises:
        UsageError: it is too small.
    """
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if _invoked_verb() and resource.RLIM_INFINITY != limit < MIN_ADDRESS_SPACE:
        raise UsageError("address-space-too-small", limit=limit // 2**20, needed=MIN_ADDRESS_SPACE // 2**20)


def _invoked_verb() -> list[str]:
    """Return the verb with which the command line begins, if any; nothing if the shell completes the line."""
    return [] if _COMPLETION_VARIABLE in os.environ else [verb for verb in sys.argv[1:2] if verb in _VERBS]


def _storage_error(error: OSError) -> StorageError:
    """Return the error of this suite for an error of the file system, with its reason and a hint."""
    path = Path(os.fsdecode(error.filename)) if isinstance(error.filename, str | bytes) else None
    if path is not None and path.name.startswith("."):  # a temporary name
        path = path.parent
    reason = error.strerror or str(error)
    if error.errno in {errno.EMFILE, errno.ENFILE}:
        with suppress(OSError, ValueError):  # the texts of errors are in a file, and a command that ends reads no input
            os.close(sys.stdin.fileno() if sys.stdin else 0)
        return StorageError("too-many-open-files", reason=reason)
    if path is None and not _has_working_directory():
        return StorageError("no-working-directory")
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        where = f" on the disk of {path}" if path else ""
        return StorageError("disk-full.file", where=where, reason=reason)
    if error.errno in {errno.EACCES, errno.EPERM, errno.EROFS}:
        what = str(path) if path else "A file"
        return StorageError("permission-denied", what=what, reason=reason)
    what = "Standard input or output" if error.errno == errno.EBADF else "A file"
    return StorageError("system-error", path=path or what, reason=reason)


def _has_working_directory() -> bool:
    try:
        Path.cwd()
    except OSError:
        return False
    return True


@contextmanager
def _interruptions() -> Iterator[list[float]]:
    """Raise `KeyboardInterrupt` for SIGINT and SIGTERM in the block, and yield a list of the times of the signals.

    A signal that was ignored before stays ignored. A terminal, `timeout` and the parent process may each send a signal,
    and only the first may interrupt: further signals have no effect for a short time. A second Ctrl-C has an effect.

    A signal is sent again later if it arrives during an import, because a half imported extension module may end the
    process, or if Python ignores its exception, as in a destructor or a callback.
    """
    times: list[float] = []
    numbers: list[int] = []
    timers: list[threading.Timer] = []
    first_deferred = 0.0

    def send_again(number: int) -> None:
        timers.append(threading.Timer(_SENT_AGAIN_SECONDS, os.kill, (os.getpid(), number)))
        timers[-1].daemon = True
        timers[-1].start()

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal first_deferred
        now = time.monotonic()
        first_deferred = first_deferred or now
        if _is_importing(frame) and now - first_deferred < _LONGEST_IMPORT_SECONDS:
            send_again(number)
        elif not times or now - times[-1] > (
            _SAME_SIGNAL_SECONDS if number == numbers[-1] else _SAME_INTERRUPTION_SECONDS
        ):
            times.append(now)
            numbers.append(number)
            signal.default_int_handler(number, frame)

    def repeat_ignored(unraisable: sys.UnraisableHookArgs) -> None:
        if times and issubclass(unraisable.exc_type, KeyboardInterrupt):
            times.clear()
            send_again(numbers[-1])
        else:
            hook(unraisable)

    defaults: dict[int, Any] = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
    handled = [number for number, handler in defaults.items() if signal.getsignal(number) is handler]
    for number in handled:
        signal.signal(number, interrupt)
    stop_watching = _end_if_unhandled(handled, lambda: first_deferred)
    hook, sys.unraisablehook = sys.unraisablehook, repeat_ignored
    try:
        yield times
    finally:
        stop_watching()
        sys.unraisablehook = hook
        for timer in timers:
            timer.cancel()
        for number in handled:
            signal.signal(number, defaults[number])


def _end_if_unhandled(numbers: Collection[int], time_of_first: Callable[[], float]) -> Callable[[], None]:
    """End the process if a signal arrives, and its handler is not called for some seconds; files are written whole.

    Python calls a handler between two steps of the main thread, and one step of NumPy can take a minute.

    Args:
        numbers: the signals.
        time_of_first: returns the time at which the handler was called first, or 0.

    Returns:
        A function that ends the watch.
    """
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    stopped = threading.Event()

    def watch() -> None:
        with suppress(OSError), os.fdopen(reader, "rb", buffering=0) as arrived:
            while (number := arrived.read(1)) and number[0] not in numbers:
                pass
            if number and not stopped.wait(_LONGEST_STEP_SECONDS) and not time_of_first():
                report_status_and_exit(ExitStatus.INTERRUPTED)
                os._exit(ExitStatus.INTERRUPTED)

    def stop() -> None:
        stopped.set()
        signal.set_wakeup_fd(before)
        os.close(writer)

    threading.Thread(target=watch, daemon=True).start()
    return stop


def _is_importing(frame: FrameType | None) -> bool:
    """Return whether a stack contains a function of the import system."""
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def _print_error(problem: str, hint: str, code: str = "", *, with_code: bool = False) -> None:
    """Print the problem and the hint of an error; if `with_code` is set, also the error code."""
    label = f"error[{code}]" if with_code else "error"
    try:
        print_line(f"{label}: {one_line(problem)}", err=True)
        print_line(f"       {one_line(hint)}", err=True)
    except OSError:  # of standard error on a full disk; the exit status remains
        with suppress(OSError):
            discard_output(err=True)


def _write_traceback() -> str:
    """Write the traceback of the current exception to a file, and return a hint that names the file."""
    prefix = "onnx-conformance-fault-"
    escaped = "backslashreplace"
    with tempfile.NamedTemporaryFile("w", -1, "utf-8", None, ".txt", prefix, delete=False, errors=escaped) as file:
        file.write(f"onnx-conformance {__version__}, Python {sys.version}\n{shlex.join(sys.argv)}\n\n")
        traceback.print_exc(file=file)
    where = f" at {PROJECT_URL}" if PROJECT_URL else ""
    return f"Please report it{where} with {file.name}, which has the traceback."
