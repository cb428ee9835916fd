"""Runs the corpus through pytest with the suite's plugin and none of the user's, and tells what came of it."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from conformance.errors import ConformanceError, UsageError
from conformance.report.writing import Outputs, write_reports
from conformance.run.items import PLUGIN
from conformance.run.session import ConformanceSession
from conformance.run.settings import Settings
from conformance.run.terminal import ProgressBar, print_outcome

if TYPE_CHECKING:
    from collections.abc import Iterator

HOLDS, FAILS = 0, 1

_LEFT_OUT = ("terminal", "faulthandler", "warnings", "unraisableexception", "threadexception", "nfplugin")
"""pytest's own plugins that cost time per case or at start-up and tell a conformance run nothing."""


@dataclass(frozen=True)
class Request:
    """What to run, how, and which reports to write.

    Attributes:
        settings: what to run.
        keyword: pytest's `-k`.
        workers: xdist's `-n`: a number or `auto`; empty for this process alone.
        exit_first: stop at the first surprise.
        last_failed: run only what failed the last time.
        outputs: which reports to write, and where.
    """

    settings: Settings
    keyword: str = ""
    workers: str = ""
    exit_first: bool = False
    last_failed: bool = False
    outputs: Outputs = field(default_factory=Outputs)


def run_corpus(request: Request) -> int:
    """Run the corpus, write what was asked for, print the table, and return the exit status.

    Raises:
        ConformanceError: the request, the corpus, a subject or an expectations file is wrong.
    """
    if not request.outputs.wanted:
        return _run(request.settings, request)
    request.outputs.check()
    if request.settings.results is not None:
        return _run_and_report(request.settings, request)
    with tempfile.TemporaryDirectory() as scratch:
        settings = Settings(**{**vars(request.settings), "results": Path(scratch) / "results.jsonl"})
        return _run_and_report(settings, request)


def _run_and_report(settings: Settings, request: Request) -> int:
    status = _run(settings, request)
    assert settings.results is not None
    write_reports([settings.results], request.outputs)
    return status


def _run(settings: Settings, request: Request) -> int:
    session = ConformanceSession(settings)
    plugins: list[object] = [_Host(session)]
    if sys.stderr.isatty():
        plugins.append(ProgressBar(session))
    try:
        with _ended_as_by_ctrl_c():
            status = pytest.main(_arguments(session, request), plugins=plugins)
    finally:
        session.processes.stop()
    if session.abandoned is not None:
        raise session.abandoned
    if status == pytest.ExitCode.INTERNAL_ERROR:
        raise ConformanceError(
            "The run broke down.", "This is a fault of the suite; pytest's message above says where."
        )
    _refuse_nothing(session, status)
    print_outcome(session)
    return FAILS if session.reasons else HOLDS


@contextmanager
def _ended_as_by_ctrl_c() -> Iterator[None]:
    """SIGTERM ends the run as the user does: with the results so far, and the subjects' processes ended."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


class _Host:
    """Hands pytest the session that was made before it started, so that mistakes end before anything runs."""

    def __init__(self, session: ConformanceSession) -> None:
        self._session = session

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        config.pluginmanager.register(self._session, PLUGIN)


def _arguments(session: ConformanceSession, request: Request) -> list[str]:
    """The command line for pytest; the user's files, plugins and its terminal output are kept out."""
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    os.environ.pop("PYTEST_ADDOPTS", None)
    settings = session.settings
    arguments = [str(session.manifest), f"--rootdir={Path.cwd()}", "-c", os.devnull, "--noconftest"]
    arguments += [part for name in _LEFT_OUT for part in ("-p", f"no:{name}")] + ["-p", "conformance.run.plugin"]
    arguments += [f"--onnx-{named.kind}={named.text}" for named in settings.subjects]
    arguments += [f"--onnx-case={case}" for case in settings.cases]
    arguments += [f"--onnx-data={settings.data.resolve()}"] if settings.data else []
    arguments += [f"--onnx-claims={name}" for name in settings.claims]
    arguments += [f"--onnx-shard={settings.shard}"] if settings.shard else []
    arguments += [f"--onnx-repeat={settings.repeat}"] if settings.repeat > 1 else []
    arguments += ["--onnx-in-process"] if settings.in_process else []
    arguments += [f"--onnx-timeout={settings.limits.timeout}", f"--onnx-memory={settings.limits.memory or ''}"]
    arguments += [] if settings.diagnosis else ["--onnx-no-diagnosis"]
    arguments += ["-k", request.keyword] if request.keyword else []
    arguments += ["-p", "xdist.plugin", "-n", request.workers] if request.workers else []
    arguments += ["-x"] if request.exit_first else []
    arguments += ["--lf"] if request.last_failed else []
    return arguments


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
