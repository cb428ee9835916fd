"""How a command ends: one table, and no traceback."""

from __future__ import annotations

import re
import signal
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest
from repository import ROOT

from conformance.cli import _noted_interruptions
from conformance.errors import ExitStatus

TABLE = [(int(status), status.meaning) for status in ExitStatus]


def test_the_documentation_has_the_table_of_the_code():
    rows = re.findall(r"^\| (\d+) \| (.+) \|$", (ROOT / "docs" / "ci.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert [(int(status), meaning) for status, meaning in rows] == TABLE


def test_help_has_the_table_of_the_code(command):
    help = " ".join(command("--help").out.split())
    assert all(f"{status} {meaning}" in help for status, meaning in TABLE)


def test_a_fault_of_the_suite_is_one_sentence_and_a_file(command, monkeypatch):
    monkeypatch.setattr("conformance.corpus.corpus.bundled", lambda: 1 / 0)
    ended = command("verify")
    (trace,) = re.findall(r"report it with (\S+),", ended.err)
    assert (ended.status, "a fault of onnx-conformance: ZeroDivisionError" in ended.err) == (3, True)
    assert "Traceback" not in ended.err
    assert "Traceback" in Path(trace).read_text(encoding="utf-8")
    Path(trace).unlink()


def test_help_is_told_without_loading_what_runs_and_reports(process):
    heavy = {"numpy", "onnx", "jsonschema_rs", "jinja2", "pytest"}
    program = f"import sys, conformance.cli; print(sorted({heavy} & set(sys.modules)))"
    assert process("python", "-c", program).out == "[]\n"


class TestInterruptions:
    @pytest.fixture
    def clock(self, monkeypatch):
        """A clock that stands still until it is set."""
        now = SimpleNamespace(seconds=100.0)
        monkeypatch.setattr("conformance.cli.time", SimpleNamespace(monotonic=lambda: now.seconds))
        return now

    @pytest.fixture
    def usual(self):
        """Signals as a terminal has them."""
        handlers = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
        before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
        yield handlers
        for number, handler in before.items():
            signal.signal(number, handler)

    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
    def test_either_signal_interrupts_any_verb(self, command, monkeypatch, usual, number):
        monkeypatch.setattr("conformance.corpus.corpus.bundled", lambda: signal.raise_signal(number))
        assert command("verify").status == ExitStatus.INTERRUPTED
        assert {number: signal.getsignal(number) for number in usual} == usual

    def test_what_comes_within_a_second_is_the_same_interruption(self, usual, clock):
        with _noted_interruptions() as noted:
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGTERM)
            clock.seconds += 0.9
            signal.raise_signal(signal.SIGINT)
            clock.seconds += 0.2
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
        assert len(noted) == 2

    def test_a_signal_that_is_ignored_stays_ignored(self, usual):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        with _noted_interruptions() as noted:
            signal.raise_signal(signal.SIGINT)
        assert (noted, signal.getsignal(signal.SIGINT)) == ([], signal.SIG_IGN)


def test_where_there_is_no_posix_it_says_so(process):
    program = "import os, conformance.cli as cli; os.name = 'nt'; cli.main()"
    ended = process("python", "-c", program)
    assert (ended.status, ended.err.splitlines()[0]) == (2, "error: onnx-conformance runs on Linux and macOS.")


def test_the_metadata_name_the_systems_that_it_runs_on():
    classifiers = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["classifiers"]
    systems = {name.partition(" :: ")[2] for name in classifiers if name.startswith("Operating System")}
    assert systems == {"POSIX", "MacOS"}
    assert "Windows is not supported" in " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
