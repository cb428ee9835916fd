"""Start of subjects: failures, several attempts, other Pythons, and harness commands."""

from __future__ import annotations

import signal
import sys
import venv

import pytest
from command_outputs import read_records, results_by_key
from corpora import SMALL
from isolation_support import HANG, isolated_subject, processes_in, wait_until
from refusals import assert_raises
from repository import exec_subject

from conformance.base.errors import SubjectError, UnknownName
from conformance.run.judging.backend import judge_backend
from conformance.run.results.results_file import read_results
from conformance.subjects.calling.subject_names import SubjectKind, SubjectName
from conformance.subjects.isolation.protocol import Limits, parse_memory_size
from conformance.subjects.isolation.start_subjects import StartingSubjects, client_of
from conformance.subjects.isolation.subject_client import START_ATTEMPTS, SubjectClient

RIGHT = "fake_subject:always_right"

# code of a module, by the name of the module
AT_START = {
    "exits_at_start": "import os; os._exit(0)",
    "segfaults_at_start": "import ctypes; ctypes.string_at(0)",
    "hangs_at_start": "import time; time.sleep(1000)",
}
SLOW = "import time; time.sleep(1)\nfrom fake_subject import always_right\nprepare = always_right.prepare\n"

# code of a harness that does not answer `start`, and a part of the failure's message
NO_START = {
    "import sys": "exited with status 0 before it answered `start`",
    "print('hello')": "with invalid JSON (JSONDecodeError): 'hello'",
    'print(\'{"seq":1,"loaded":true}\')': "violates the protocol",
    'print(\'{"seq":1,"version":2,"name":"a","runtime_version":"1","language":"C","kind":"backend"}\')': "violates",
}


@pytest.fixture
def module(here, monkeypatch):
    """Return a function that writes a module to the current folder."""

    def module(name, source):
        (here / f"{name}.py").write_text(source)
        return name

    return module


@pytest.mark.variants(1)
@pytest.mark.parametrize("name", AT_START)
def test_run_subject_that_does_not_start_has_error_for_every_case(process, module, here, small_corpus, name):
    module(name, AT_START[name])
    arguments = ("--timeout", HANG, "--data", small_corpus, "--results", "out.jsonl")
    ended = process("fork", "run", "-b", name, "-b", RIGHT, *arguments, TMPDIR=str(here))
    results = results_by_key(here / "out.jsonl")
    verdicts = {(subject, result["verdict"], result["phase"]) for (subject, _), result in results.items()}
    assert ended.status == 1
    assert len(results) == 2 * len(SMALL)
    assert verdicts == {(name, "error", "start"), (RIGHT, "pass", None)}
    assert f"{START_ATTEMPTS} attempts: " in results[name, SMALL[0]]["message"]
    assert processes_in(here) == []


@pytest.mark.long
def test_run_with_workers_reports_subject_that_does_not_start(process, module, here, small_corpus):
    module("exits_at_start", AT_START["exits_at_start"])
    arguments = ("-n", "2", "--data", small_corpus, "--results", "out.jsonl")
    ended = process("fork", "run", "-b", "exits_at_start", "-b", RIGHT, *arguments, TMPDIR=str(here))
    assert ended.status == 1
    assert len(results_by_key(here / "out.jsonl")) == 2 * len(SMALL)
    assert {record["version"] for record in read_records(here / "out.jsonl")[0]["subjects"]} == {"unknown", "0.0.7"}


def test_slow_start_is_awaited(module, case_of):
    subject = isolated_subject(module("slow_to_start", SLOW))
    outcome = judge_backend(subject.target, case_of(SMALL[0]))
    client_of(subject).stop()
    assert outcome.verdict == "pass"


@pytest.mark.parametrize(("source", "failure"), NO_START.items(), ids=["ends", "text", "other", "version"])
def test_harness_that_does_not_answer_start_fails(module, source, failure):
    module("harness", f"{source}\n")
    subject = isolated_subject(exec_subject(sys.executable, "harness.py"))
    assert failure in client_of(subject).info().failure


def test_harness_error_at_start_has_hint_and_code(module):
    module(
        "harness", 'print(\'{"seq":1,"error":"Acme is not installed.","hint":"Install it.","code":"subject.acme"}\')\n'
    )
    with assert_raises("subject.acme", "Acme", "Install it."):
        isolated_subject(exec_subject(sys.executable, "harness.py"))


def test_harness_of_other_kind_is_refused(module):
    module = "conformance.subjects.adapters.reference:ReferenceBackend"
    harness = exec_subject(sys.executable, "-m", "conformance.subjects.calling.harness", module)
    with assert_raises("subject.wrong-kind", harness):
        isolated_subject(harness, kind=SubjectKind.OPTIMIZER)


class TestOtherPython:
    @pytest.fixture
    def other_python(self, tmp_path):
        """A virtual environment with one module, which has other_python version than here."""
        directory = tmp_path / "other_python"
        venv.create(directory, with_pip=False)
        (packages,) = (directory / "lib").glob("python*/site-packages")
        (packages / "packaging.py").write_text("__version__ = 'of its own'\n")
        return directory

    @pytest.fixture
    def version_module(self, module):
        return module(
            "tells_its_python",
            "import sys, packaging\nfrom fake_subject import always_right\n"
            "prepare, __version__ = always_right.prepare, f'{packaging.__version__} in {sys.prefix}'\n",
        )

    @pytest.mark.parametrize("workers", [(), pytest.param(("-n", "2"), marks=pytest.mark.long)], ids=["serial", "n2"])
    def test_modules_of_other_python_come_before_those_of_suite(
        self, process, other_python, version_module, here, small_corpus, workers
    ):
        python = other_python / "bin" / "python"
        arguments = ("--python", python, "--data", small_corpus, "--results", "out.jsonl", *workers)
        ended = process("fork", "run", "-b", version_module, *arguments)
        assert ended.status == 0, ended.err
        assert read_results(here / "out.jsonl").header.subjects[0].version == f"of its own in {other_python}"

    @pytest.mark.parametrize(
        ("options", "named"),
        [
            (("--python", "nowhere/python"), "nowhere/python"),
            (("--python", sys.executable, "--no-isolation"), "--python"),
        ],
        ids=["missing", "no isolation"],
    )
    def test_unusable_python_is_refused(self, command, options, named):
        ended = command("run", "-b", RIGHT, *options)
        assert (ended.status, named in ended.err) == (2, True)


@pytest.mark.parametrize("command", ["", "   ", "no_such_program_anywhere", "'unbalanced"])
def test_exec_subject_invalid_command_is_refused(command):
    with pytest.raises(UnknownName, match="exec:"):
        isolated_subject(f"exec:{command}")


def test_subject_that_cannot_load_leaves_no_process(tmp_path, monkeypatch):
    monkeypatch.setenv("MARKED", str(tmp_path))
    with pytest.raises(SubjectError):
        StartingSubjects(
            [SubjectName.parse(text, SubjectKind.BACKEND) for text in (RIGHT, "json")], Limits(30), {}
        ).subjects()
    assert processes_in(tmp_path) == []


def test_exec_subject_is_not_run_by_shell(here):
    with pytest.raises(UnknownName):
        isolated_subject("exec:touch;touch made_by_a_shell")
    assert list(here.iterdir()) == []


def test_results_of_exec_subject_have_language(process, here, small_corpus):
    harness = exec_subject(sys.executable, "-m", "conformance.subjects.calling.harness", "fake_subject:always_right")
    ended = process("fork", "run", "-b", harness, "--data", small_corpus, "--results", "out.jsonl")
    assert ended.status == 0
    (subject,) = read_results(here / "out.jsonl").header.subjects
    assert (subject.id, subject.kind, subject.version, subject.language) == (harness, "backend", "0.0.7", "Python")


@pytest.mark.parametrize(
    ("text", "count"), [("", 0), ("1048576", 2**20), ("4G", 2**32), ("512MiB", 2**29), ("2m", 2**21)]
)
def test_parse_memory_size_returns_bytes(text, count):
    assert parse_memory_size(text) == count


@pytest.mark.parametrize("option", [("--memory", "much"), ("--memory", "0"), ("--timeout", "0"), ("--timeout", "-1")])
def test_invalid_limit_is_refused(command, option):
    ended = command("run", "-b", RIGHT, *option)
    assert ended.status == 2
    assert "Traceback" not in ended.err


def test_refusal_to_start_with_little_memory_names_the_limit(here):
    (here / "needs_more.py").write_text("raise ImportError('failed to map segment')\n")
    for limits, is_named in ((Limits(60), False), (Limits(60, memory=2**30), True)):
        client = SubjectClient(SubjectName.parse("needs_more", SubjectKind.BACKEND), limits)
        with assert_raises("subject.import-failed") as refused:
            client.info()
        assert ("--memory" in refused.value.hint) is is_named


INTERRUPTED_START = """
import signal, sys
from conformance.subjects.isolation import subject_client
from conformance.subjects.isolation.protocol import Limits

create = subject_client.ScratchFolders.create
subject_client.ScratchFolders.create = lambda: (create(), signal.raise_signal(signal.SIGINT))[0]
subject_client.SubjectProcess([sys.executable, "-c", "input()"], Limits(30))
"""


INTERRUPTED_THREAD = """
import os, signal, time
from conformance.subjects.calling.subject_names import SubjectKind, SubjectName
from conformance.subjects.isolation import subject_client
from conformance.subjects.isolation.protocol import Limits
from conformance.subjects.isolation.start_subjects import StartingSubjects

create = subject_client.ScratchFolders.create
subject_client.ScratchFolders.create = lambda: (
    time.sleep(DELAY), create(), os.kill(os.getpid(), signal.SIGINT), time.sleep(0.3)
)[1]
StartingSubjects([SubjectName.parse("reference", SubjectKind.BACKEND)], Limits(30), {}).subjects()
"""


@pytest.mark.parametrize(
    "start",
    [INTERRUPTED_START, *(INTERRUPTED_THREAD.replace("DELAY", delay) for delay in ("0", "0.3"))],
    ids=["main", "thread", "while waiting for the thread"],
)
def test_interruption_between_folders_and_process_leaves_no_folder(process, tmp_path, start):
    (tmp_path / "tmp").mkdir()
    ended = process("python", "-c", start, TMPDIR=str(tmp_path / "tmp"))
    assert (ended.status, "KeyboardInterrupt" in ended.err) == (-signal.SIGINT, True)
    assert wait_until(lambda: not list((tmp_path / "tmp").iterdir()))
