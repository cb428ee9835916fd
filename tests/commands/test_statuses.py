"""Exit statuses of commands, without tracebacks."""

from __future__ import annotations

import re
import signal
import sys
import time
import tomllib
from importlib import import_module, metadata
from pathlib import Path
from types import SimpleNamespace

import pytest
from repository import ROOT

from conformance.base import plugins
from conformance.base.errors import ExitStatus
from conformance.base.plugins import check_dependencies, wrong_dependency
from conformance.commands.cli import _interruptions

TABLE = [(int(status), status.meaning) for status in ExitStatus]


def test_reference_page_has_every_exit_status():
    page = (ROOT / "docs" / "reference" / "exit-statuses.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| ([^|]+) \|", page, re.MULTILINE)
    assert [int(status) for status, _ in rows] == [status for status, _ in TABLE]


def test_help_has_the_table_of_the_code(command):
    help = " ".join(command("--help").out.split())
    assert all(f"{status} {meaning}" in help for status, meaning in TABLE)


def test_internal_error_prints_one_line_and_writes_traceback(command, monkeypatch):
    monkeypatch.setattr("conformance.corpus.cases.corpus.bundled_corpus_path", lambda: 1 / 0)
    ended = command("verify")
    (trace,) = re.findall(r"report it with (\S+),", ended.err)
    assert (ended.status, ": ZeroDivisionError: " in ended.err) == (3, True)
    assert "Traceback" not in ended.err
    assert "Traceback" in Path(trace).read_text(encoding="utf-8")
    Path(trace).unlink()


def test_help_is_told_without_loading_what_runs_and_reports(process):
    heavy = {"numpy", "onnx", "jsonschema_rs", "jinja2", "pytest"}
    program = f"import sys, conformance.commands.cli; print(sorted({heavy} & set(sys.modules)))"
    assert process("python", "-c", program).out == "[]\n"


class TestInterruptions:
    @pytest.fixture
    def clock(self, monkeypatch):
        """Clock that advances only when a test sets it."""
        now = SimpleNamespace(seconds=100.0)
        monkeypatch.setattr("conformance.commands.cli.time", SimpleNamespace(monotonic=lambda: now.seconds))
        return now

    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
    def test_either_signal_interrupts_any_verb(self, command, monkeypatch, default_handlers, number):
        monkeypatch.setattr("conformance.corpus.cases.corpus.bundled_corpus_path", lambda: signal.raise_signal(number))
        assert command("verify").status == ExitStatus.INTERRUPTED
        assert {number: signal.getsignal(number) for number in default_handlers} == default_handlers

    def test_sigint_within_a_second_counts_once(self, default_handlers, clock):
        with _interruptions() as noted:
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGTERM)
            clock.seconds += 0.9
            signal.raise_signal(signal.SIGINT)
            clock.seconds += 0.2
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
        assert len(noted) == 2

    @pytest.mark.parametrize(("seconds", "is_deferred"), [(0.3, True), (5.0, False)])
    def test_signal_during_an_import_interrupts_after_it_or_in_the_end(
        self, default_handlers, tmp_path, monkeypatch, seconds, is_deferred
    ):
        text = f"import signal, time\nsignal.raise_signal(signal.SIGINT)\ntime.sleep({seconds})\n"
        (tmp_path / "slow_to_import.py").write_text(text, encoding="utf-8")
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.setattr("conformance.commands.cli._LONGEST_IMPORT_SECONDS", 1.0)
        with _interruptions(), pytest.raises(KeyboardInterrupt):
            import_module("slow_to_import")
            time.sleep(60)
        assert ("slow_to_import" in sys.modules) is is_deferred
        sys.modules.pop("slow_to_import", None)

    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
    def test_interruption_in_destructor_is_not_lost(self, default_handlers, number):
        class InterruptedAtItsEnd:
            def __del__(self) -> None:
                signal.raise_signal(number)

        with _interruptions() as noted, pytest.raises(KeyboardInterrupt):
            thing = InterruptedAtItsEnd()
            del thing
            time.sleep(60)
        assert len(noted) == 1

    def test_ignored_signal_stays_ignored(self, default_handlers):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        with _interruptions() as noted:
            signal.raise_signal(signal.SIGINT)
        assert (noted, signal.getsignal(signal.SIGINT)) == ([], signal.SIG_IGN)


@pytest.mark.parametrize("module", ["typer", "conformance.commands.corpus"])
def test_interruption_during_start_ends_without_traceback(process, here, module):
    interrupts = "import os, signal; os.kill(os.getpid(), signal.SIGINT); __import__('time').sleep(20)"
    program = (
        "import importlib.abc, runpy, signal, sys\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "class Interruption(importlib.abc.MetaPathFinder):\n"
        "    def find_spec(self, name, path, target=None):\n"
        f"        if name == {module!r}: exec({interrupts!r})\n"
        "sys.meta_path.insert(0, Interruption())\n"
        "sys.argv[1:] = ['list']\n"
        "runpy.run_module('conformance', run_name='__main__')\n"
    )
    ended = process("python", "-c", program)
    assert (ended.status, ended.out, ended.err) == (130, "", "")


def test_system_without_posix_is_refused(process):
    program = "import os, conformance.commands.cli as cli; os.name = 'nt'; cli.main()"
    ended = process("python", "-c", program)
    assert (ended.status, ended.err.splitlines()[0]) == (2, "error: onnx-conformance runs on Linux and macOS.")


def test_metadata_names_supported_systems():
    classifiers = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["classifiers"]
    systems = {name.partition(" :: ")[2] for name in classifiers if name.startswith("Operating System")}
    assert systems == {"POSIX", "MacOS"}
    assert "WSL" in (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.fixture
def install(monkeypatch):
    """Return a function that gives a package another version, or none."""

    def pretend(name, version):
        def found(asked):
            if asked == name and version is None:
                raise metadata.PackageNotFoundError(asked)
            return version if asked == name else metadata.version(asked)

        monkeypatch.setattr(plugins, "version", found)

    return pretend


def test_installed_packages_are_accepted():
    check_dependencies()


@pytest.mark.parametrize("version", ["1.21", "1.21.0", "1.21.0rc1", "1.100", "2.0.dev3"])
def test_admitted_version_is_accepted(install, version):
    install("onnx", version)
    check_dependencies()


@pytest.mark.parametrize(
    ("name", "version", "code"),
    [
        ("onnx", "1.17.0", "dependency.too-old"),
        ("numpy", "1.26.4", "dependency.too-old"),
        ("protobuf", "3.20.3", "dependency.too-old"),
        ("typer", "0.29.0", "dependency.too-new"),
        ("ml-dtypes", None, "dependency.missing"),
    ],
)
def test_wrong_version_is_named(install, name, version, code):
    install(name, version)
    error = wrong_dependency()
    assert error.code == code
    assert error.problem.startswith(f"{name} {version or ''}")
    assert f"'{name}>=" in error.hint


def test_package_with_the_module_of_another_package_is_accepted(install, monkeypatch):
    install("onnx", None)
    monkeypatch.setattr(plugins, "packages_distributions", lambda: {"onnx": ["tomlkit"]})
    assert plugins.installed_name("onnx") == "tomlkit"
    monkeypatch.setattr(plugins, "packages_distributions", lambda: {"onnx": ["onnx"]})
    assert wrong_dependency().code == "dependency.missing"


def test_internal_error_with_a_wrong_version_is_a_usage_error(install, command, monkeypatch):
    monkeypatch.setattr("conformance.corpus.cases.corpus.bundled_corpus_path", lambda: 1 / 0)
    install("onnx", "1.17.0")
    ended = command("verify")
    assert (ended.status, "onnx 1.17.0" in ended.err) == (2, True)


def test_run_with_a_wrong_version_judges_nothing(install, command, small_corpus):
    install("numpy", "1.26.4")
    ended = command("run", "-b", "reference", "--data", small_corpus)
    assert (ended.status, "numpy 1.26.4" in ended.err, ended.out) == (2, True, "")
