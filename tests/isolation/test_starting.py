"""Subjects that do not start: three attempts, then a verdict for every case at once; what the user can mend ends it."""

from __future__ import annotations

import sys
import venv

import pytest
from corpora import SMALL
from isolation_support import HANG, apart, processes_in
from outputs import records, results_of

from conformance.errors import SubjectError, UnknownName
from conformance.isolation.host import ATTEMPTS
from conformance.isolation.limits import Limits, bytes_of
from conformance.isolation.starting import StartingSubjects, host_of
from conformance.judging.backend import judge_backend
from conformance.results.file import read
from conformance.subjects.naming import SubjectKind, SubjectName

RIGHT = "fake_backends:AlwaysRight"

# what a module does when it is imported, by the name that the module gets
AT_START = {
    "exits_at_start": "import os; os._exit(0)",
    "segfaults_at_start": "import ctypes; ctypes.string_at(0)",
    "hangs_at_start": "import time; time.sleep(1000)",
}
SLOW = "import time; time.sleep(1)\nfrom fake_backends import AlwaysRight\nprepare = AlwaysRight.prepare\n"

# what a harness does instead of answering `start`, and a part of what is told
NO_START = {
    "import sys": "exited with status 0 before it answered `start`",
    "print('hello')": "with what is not JSON (JSONDecodeError): 'hello'",
    'print(\'{"seq":1,"loaded":true}\')': "with what is no such answer",
    'print(\'{"seq":1,"version":2,"name":"a","runtime_version":"1","language":"C","kind":"backend"}\')': "no such",
}


@pytest.fixture
def module(here, monkeypatch):
    """Writes a module into the current directory."""

    def module(name, source):
        (here / f"{name}.py").write_text(source)
        return name

    return module


@pytest.mark.parametrize("name", AT_START)
def test_every_case_is_an_error_of_the_start_and_other_subjects_go_on(process, module, here, small_corpus, name):
    module(name, AT_START[name])
    arguments = ("--timeout", HANG, "--data", small_corpus, "--results", "out.jsonl")
    ended = process("onnx-conformance", "run", "-b", name, "-b", RIGHT, *arguments, TMPDIR=str(here))
    results = results_of(here / "out.jsonl")
    verdicts = {(subject, result["verdict"], result["phase"]) for (subject, _), result in results.items()}
    assert ended.status == 1
    assert len(results) == 2 * len(SMALL)
    assert verdicts == {(name, "error", "start"), (RIGHT, "pass", None)}
    assert f"not started in {ATTEMPTS} attempts: " in results[name, SMALL[0]]["message"]
    assert processes_in(here) == []


def test_a_subject_that_does_not_start_is_told_to_both_workers(process, module, here, small_corpus):
    module("exits_at_start", AT_START["exits_at_start"])
    arguments = ("-n", "2", "--data", small_corpus, "--results", "out.jsonl")
    ended = process("onnx-conformance", "run", "-b", "exits_at_start", "-b", RIGHT, *arguments, TMPDIR=str(here))
    assert ended.status == 1
    assert len(results_of(here / "out.jsonl")) == 2 * len(SMALL)
    assert {record["version"] for record in records(here / "out.jsonl")[0]["subjects"]} == {"unknown", "0.0.7"}


def test_a_slow_start_is_waited_for(module, case_of):
    subject = apart(module("slow_to_start", SLOW))
    outcome = judge_backend(subject.target, case_of(SMALL[0]))
    host_of(subject).stop()
    assert outcome.verdict == "pass"


@pytest.mark.parametrize(("source", "told"), NO_START.items(), ids=["ends", "text", "other", "version"])
def test_a_harness_that_does_not_answer_start_is_not_started(module, source, told):
    module("harness", f"{source}\n")
    subject = apart(f"exec:{sys.executable} harness.py")
    assert told in host_of(subject).introduced().failure


def test_a_harness_may_say_what_the_user_can_mend(module):
    module("harness", 'print(\'{"seq":1,"error":"Acme is not installed.","mend":"Install it."}\')\n')
    with pytest.raises(SubjectError, match=r"Acme is not installed\.\nInstall it\."):
        apart(f"exec:{sys.executable} harness.py")


def test_a_harness_of_another_kind_is_refused(module):
    harness = f"exec:{sys.executable} -m conformance.isolation.harness reference"
    with pytest.raises(SubjectError, match="is not a graph optimizer, but a backend"):
        apart(harness, kind=SubjectKind.OPTIMIZER)


class TestInAnotherPython:
    @pytest.fixture
    def another(self, tmp_path):
        """An environment in which nothing is installed but one module, which has another version of a library."""
        directory = tmp_path / "another"
        venv.create(directory, with_pip=False)
        (packages,) = (directory / "lib").glob("python*/site-packages")
        (packages / "packaging.py").write_text("__version__ = 'of its own'\n")
        return directory

    @pytest.fixture
    def told(self, module):
        return module(
            "tells_its_python",
            "import sys, packaging\nfrom fake_backends import AlwaysRight\n"
            "prepare, __version__ = AlwaysRight.prepare, f'{packaging.__version__} in {sys.prefix}'\n",
        )

    @pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["serial", "n2"])
    def test_what_is_installed_there_comes_first_and_the_suite_s_after_it(
        self, process, another, told, here, small_corpus, workers
    ):
        python = another / "bin" / "python"
        arguments = ("--python", python, "--data", small_corpus, "--results", "out.jsonl", *workers)
        ended = process("onnx-conformance", "run", "-b", told, *arguments)
        assert ended.status == 0, ended.err
        assert read(here / "out.jsonl").header["subjects"][0]["version"] == f"of its own in {another}"

    @pytest.mark.parametrize(
        ("options", "problem"),
        [
            (("--python", "nowhere/python"), "is no program"),
            (("--python", sys.executable, "--in-process"), "--python is"),
        ],
        ids=["missing", "in process"],
    )
    def test_one_that_nothing_can_run_in_is_refused(self, command, options, problem):
        ended = command("run", "-b", RIGHT, *options)
        assert (ended.status, problem in ended.err) == (2, True)


@pytest.mark.parametrize("command", ["", "   ", "no_such_program_anywhere", "'unbalanced"])
def test_a_command_that_is_none_is_refused(command):
    with pytest.raises(UnknownName, match="exec:"):
        apart(f"exec:{command}")


def test_one_that_cannot_be_hosted_leaves_none_running(tmp_path, monkeypatch):
    monkeypatch.setenv("MARKED", str(tmp_path))
    with pytest.raises(SubjectError):
        StartingSubjects(
            [SubjectName.of(text, SubjectKind.BACKEND) for text in (RIGHT, "json")], Limits(30), {}
        ).subjects()
    assert processes_in(tmp_path) == []


def test_a_command_is_not_run_by_a_shell(here):
    with pytest.raises(UnknownName):
        apart("exec:touch;touch made_by_a_shell")
    assert list(here.iterdir()) == []


def test_a_program_of_another_language_is_told_with_its_language(process, here, small_corpus):
    harness = f"exec:{sys.executable} -m conformance.isolation.harness fake_backends:AlwaysRight"
    ended = process("onnx-conformance", "run", "-b", harness, "--data", small_corpus, "--results", "out.jsonl")
    assert ended.status == 0
    assert read(here / "out.jsonl").header["subjects"] == [
        {"id": harness, "kind": "backend", "version": "0.0.7", "language": "Python"}
    ]


@pytest.mark.parametrize(("text", "count"), [("", 0), ("4096", 4096), ("4G", 2**32), ("512MiB", 2**29), ("1k", 1024)])
def test_an_amount_of_memory_is_read(text, count):
    assert bytes_of(text) == count


@pytest.mark.parametrize("option", [("--memory", "much"), ("--memory", "0"), ("--timeout", "0"), ("--timeout", "-1")])
def test_a_limit_that_is_none_is_refused(command, option):
    ended = command("run", "-b", RIGHT, *option)
    assert ended.status == 2
    assert "Traceback" not in ended.err
