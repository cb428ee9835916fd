"""Execution of a run in a pytest session inside this process; only the plugin of this suite is loaded."""

from __future__ import annotations

import gc
import hashlib
import os
import shlex
import signal
import sys
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import gettempdir
from typing import TYPE_CHECKING, Any

import pytest

from conformance.errors import ExitStatus, OutputFault, SuiteFault, UsageError
from conformance.files.atomic_write import deferred_signals, install_signal_deferral
from conformance.run.pytest_items import RUN_COMMAND_KEY, SESSION_PLUGIN_NAME
from conformance.run.session import ConformanceSession
from conformance.run.terminal import OutputOptions, print_outcome

if TYPE_CHECKING:
    from conformance.run.resume import InterruptedRun
    from conformance.run.settings import Settings

_DISABLED_PLUGINS = (
    "terminal",
    "faulthandler",
    "warnings",
    "unraisableexception",
    "threadexception",
    "nfplugin",
    "tmpdir",
)
"""Plugins of pytest that a run does not need, and that take time or create a folder."""


@dataclass(frozen=True)
class RunRequest:
    """Settings of a run, and how the command executes it and prints its outcome.

    Attributes:
        settings: the subjects, the cases and the pass criterion.
        workers: number of worker processes, or None to run in this process.
        exit_first: whether to stop at the first unexpected result.
        last_failed: whether to run only the cases that failed in the last run.
        interrupted_run: the run to continue, or None.
        output: how the outcome is printed.
    """

    settings: Settings
    workers: int | None = None
    exit_first: bool = False
    last_failed: bool = False
    interrupted_run: InterruptedRun | None = None
    output: OutputOptions = field(default_factory=OutputOptions)


@dataclass(frozen=True)
class RunOutcome:
    """The end of a run whose results are written.

    Attributes:
        status: the exit status of the command, if there is no fault.
        is_resumable: whether results are missing, so that `--resume` can continue the run.
        fault: an internal error after the verdicts, or None.
    """

    status: ExitStatus
    is_resumable: bool = False
    fault: SuiteFault | None = None


def run_corpus(request: RunRequest) -> RunOutcome:
    """Run the corpus, write the results, and print the outcome.

    Raises:
        ConformanceError: the settings, the corpus, a subject or an expectations file is wrong.
        SuiteFault: pytest raised an internal error before the first result.
        KeyboardInterrupt: the user interrupted the run before its first result.
    """
    session = ConformanceSession(request.settings, interrupted_run=request.interrupted_run)
    starter = _SessionStarter(session)
    plugins: list[object] = [starter]
    if sys.stderr.isatty():
        from conformance.run.progress import ProgressBar

        plugins.append(ProgressBar(session))
    with install_signal_deferral():
        try:
            status = pytest.main(_arguments(session, request), plugins=plugins)
        finally:
            gc.enable()
            starter.uninterruptible.close()
            session.processes.stop()
            if session.recorder is not None and not session.recorder.has_begun:
                session.recorder.abandon()
    if session.abandoned is not None:
        raise session.abandoned
    if session.interrupted and not (session.recorder and session.recorder.has_begun):
        raise KeyboardInterrupt  # before the first result
    fault: SuiteFault | None = session.recorder.fault if session.recorder else None
    if status == pytest.ExitCode.INTERNAL_ERROR and fault is None:
        fault = SuiteFault("pytest raised an internal error; its message is above")
        if not (session.recorder and session.recorder.has_begun):
            raise fault
    _check_has_results(session, status)
    try:
        print_outcome(session, request.output)
    except (BrokenPipeError, SystemExit):  # rich exits if the reader of a pipe has gone
        _discard_output()
    except Exception as error:  # noqa: BLE001 - the results are written, and the reports still must be
        if fault is None:
            fault = OutputFault(f"the outcome was not printed: {type(error).__name__}: {error}")
            fault.__cause__ = error
    ended = ExitStatus.FAILS if session.reasons else ExitStatus.PASSES
    return RunOutcome(ExitStatus.INTERRUPTED if session.interrupted else ended, session.is_resumable, fault)


def _discard_output() -> None:
    """Discard what is still printed, because nobody reads it any more. The reports are written nevertheless."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


class _SessionStarter:
    """A pytest plugin that registers the `ConformanceSession` in pytest.

    The session is created before pytest starts, so that an error in the settings or the corpus is reported at once.


    Attributes:
        uninterruptible: context that defers interruptions while pytest starts its session and its workers. Without it,
            an interruption could leave workers running.
    """

    def __init__(self, session: ConformanceSession) -> None:
        self._session = session
        self.uninterruptible = ExitStack()

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        config.pluginmanager.register(self._session, SESSION_PLUGIN_NAME)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Mark a worker as started by the command `run`, and count it: the diagnosis uses as many processes."""
        node.workerinput[RUN_COMMAND_KEY] = True
        self._session.process_count = node.workerinput["workercount"]

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        self.uninterruptible.enter_context(deferred_signals())

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_setupnodes(self) -> None:
        """Block SIGINT in workers from their start, because Ctrl-C reaches all processes; the workers unblock it."""
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        self.uninterruptible.callback(signal.pthread_sigmask, signal.SIG_SETMASK, before)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self) -> None:
        self.uninterruptible.close()

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Forward the interruption to the `ConformanceSession`, which may not be registered as a plugin yet."""
        self._session.pytest_keyboard_interrupt(excinfo)


def _arguments(session: ConformanceSession, request: RunRequest) -> list[str]:
    """Return the arguments for pytest, which disable the user's configuration, other plugins and terminal output."""
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    for name in ("PYTEST_ADDOPTS", "PYTEST_PLUGINS"):  # the user's own pytest may need them, a run never does
        os.environ.pop(name, None)
    arguments = [str(session.manifest), f"--rootdir={Path.cwd()}", "-c", os.devnull, "--noconftest"]
    arguments += ["-o", f"cache_dir={_cache_folder()}"]
    arguments += [part for name in _DISABLED_PLUGINS for part in ("-p", f"no:{name}")] + [
        "-p",
        "conformance.run.plugin",
    ]
    arguments += _xdist_arguments(request.workers)
    arguments += ["-x"] if request.exit_first else []
    arguments += ["--lf"] if request.last_failed else []
    return arguments


def _cache_folder() -> Path:
    """Return the folder in which pytest stores the last failures of runs that start in the current directory."""
    try:
        caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:  # no home directory is known
        caches = Path(gettempdir())
    here = hashlib.sha256(os.fsencode(Path.cwd())).hexdigest()[:16]
    return caches / "onnx-conformance" / here


def _xdist_arguments(workers: int | None) -> list[str]:
    """Return the arguments for pytest-xdist; its workers do not import modules from the current directory."""
    if workers is None:
        return []
    python = f"{shlex.quote(sys.executable)} -P"
    return ["-p", "xdist.plugin", "--dist", "load", "--tx", f"{workers}*popen//python={python}"]


def _check_has_results(session: ConformanceSession, status: int) -> None:
    """Check that the run has at least one result, because a run without results would pass.

    Raises:
        UsageError: no case is selected, or pytest ended before the first result.
    """
    if session.recorder is not None and session.recorder.has_begun:
        return
    if status == pytest.ExitCode.NO_TESTS_COLLECTED:
        raise UsageError(
            "no-case-selected", "The selection matches no case.", "Run `onnx-conformance list` to see the cases."
        )
    raise UsageError("nothing-run", "No case was run.", "Read the message of pytest above.")
