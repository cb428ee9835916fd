"""Runs the corpus through pytest with the suite's plugin and none of the user's, and tells what came of it."""

from __future__ import annotations

import hashlib
import os
import shlex
import sys
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import gettempdir
from typing import TYPE_CHECKING, Any

import pytest

from conformance.errors import ConformanceError, ExitStatus, SuiteFault, UsageError
from conformance.files.undisturbed import often_undisturbed, undisturbed
from conformance.run.items import IS_OF_RUN, PLUGIN
from conformance.run.session import ConformanceSession
from conformance.run.terminal import Telling, print_outcome

if TYPE_CHECKING:
    from conformance.run.resuming import Begun
    from conformance.run.settings import Settings

_LEFT_OUT = ("terminal", "faulthandler", "warnings", "unraisableexception", "threadexception", "nfplugin", "tmpdir")
"""pytest's own plugins that cost time or leave a folder, and tell a conformance run nothing."""


@dataclass(frozen=True)
class Request:
    """What to run, and how.

    Attributes:
        settings: what to run.
        workers: in how many processes: a number or `auto`; empty for this process alone.
        exit_first: stop at the first surprise.
        last_failed: run only what failed the last time.
        begun: a run to continue, or None.
        telling: how the outcome is printed.
    """

    settings: Settings
    workers: str = ""
    exit_first: bool = False
    last_failed: bool = False
    begun: Begun | None = None
    telling: Telling = field(default_factory=Telling)


def run_corpus(request: Request) -> ExitStatus:
    """Run the corpus, print the table, and return the exit status.

    Raises:
        ConformanceError: the request, the corpus, a subject or an expectations file is wrong.
        SuiteFault: pytest broke down.
        KeyboardInterrupt: the user ended it before anything was run.
    """
    session = ConformanceSession(request.settings, begun=request.begun)
    host = _Host(session)
    plugins: list[object] = [host]
    if sys.stderr.isatty():
        from conformance.run.progress import ProgressBar

        plugins.append(ProgressBar(session))
    with often_undisturbed():
        try:
            status = pytest.main(_arguments(session, request), plugins=plugins)
        finally:
            host.beginning.close()
            session.processes.stop()
            if session.recorder is not None and not session.recorder.has_begun:
                session.recorder.abandon()
    if session.abandoned is not None:
        raise session.abandoned
    if session.interrupted and not (session.recorder and session.recorder.has_begun):
        raise KeyboardInterrupt  # before pytest's session had begun
    if status == pytest.ExitCode.INTERNAL_ERROR:
        raise SuiteFault("the run broke down; pytest's message above says where")
    _refuse_nothing(session, status)
    print_outcome(session, request.telling)
    if session.interrupted:
        return ExitStatus.INTERRUPTED
    return ExitStatus.FAILS if session.reasons else ExitStatus.HOLDS


class _Host:
    """Hands pytest the session that was made before it started, so that mistakes end before anything runs.

    Attributes:
        beginning: holds interruptions back while pytest begins its session and xdist its workers: what is begun is then
            ended in order, as it is at any later time.
    """

    def __init__(self, session: ConformanceSession) -> None:
        self._session = session
        self.beginning = ExitStack()

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        config.pluginmanager.register(self._session, PLUGIN)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell xdist's workers whose they are, and count them: as many may seek explanations at the end."""
        node.workerinput[IS_OF_RUN] = True
        self._session.processes_of_run = node.workerinput["workercount"]

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        self.beginning.enter_context(undisturbed())

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self) -> None:
        self.beginning.close()

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Have the session know of an interruption that comes before it is registered, too."""
        self._session.pytest_keyboard_interrupt(excinfo)


def _arguments(session: ConformanceSession, request: Request) -> list[str]:
    """The command line for pytest; the user's files, plugins and its terminal output are kept out."""
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    os.environ.pop("PYTEST_ADDOPTS", None)
    arguments = [str(session.manifest), f"--rootdir={Path.cwd()}", "-c", os.devnull, "--noconftest"]
    arguments += ["-o", f"cache_dir={_cache()}"]
    arguments += [part for name in _LEFT_OUT for part in ("-p", f"no:{name}")] + ["-p", "conformance.run.plugin"]
    arguments += _workers(request.workers)
    arguments += ["-x"] if request.exit_first else []
    arguments += ["--lf"] if request.last_failed else []
    return arguments


def _cache() -> Path:
    """Where pytest remembers what failed the last time, for each directory that runs are started in."""
    try:
        caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:  # nobody's home is known
        caches = Path(gettempdir())
    here = hashlib.sha256(os.fsencode(Path.cwd())).hexdigest()[:16]
    return caches / "onnx-conformance" / here


def _workers(number: str) -> list[str]:
    """What has xdist start that many processes, in which nothing that lies in the user's directory is imported.

    Raises:
        UsageError: it is no number of processes.
    """
    if not number:
        return []
    from conformance.campaigns.processes import processors

    count = processors() if number in {"auto", "logical"} else number
    if not str(count).isdecimal():
        raise UsageError(f"-n {number} is no number of processes.", "Give a number, or auto.")
    python = f"{shlex.quote(sys.executable)} -P"
    return ["-p", "xdist.plugin", "--dist", "load", "--tx", f"{count}*popen//python={python}"] if int(count) else []


def _refuse_nothing(session: ConformanceSession, status: int) -> None:
    """A run without a result is an error, never a green run on nothing.

    Raises:
        ConformanceError: nothing was run.
    """
    if session.recorder is not None and session.recorder.has_begun:
        return
    if status == pytest.ExitCode.NO_TESTS_COLLECTED:
        raise UsageError("The selection matches no case.", "See `onnx-conformance list` for what there is.")
    raise ConformanceError("Nothing was run.", "Look at pytest's message above.")
