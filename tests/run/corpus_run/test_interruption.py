"""Interrupted and killed runs: records, leftover processes, and resumption to the same results."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import pytest
from command_outputs import comparable_records
from corpora import SMALL
from interruptible_programs import INTERRUPTIBLE
from isolation_support import LONGEST_WAIT, SUPPORT, processes_in, wait_until
from refusals import assert_bad_input
from repository import DATA

from conformance.run.corpus_run.resume import partial_path
from conformance.run.results.results_file import encode_record, read_results

pytestmark = [
    pytest.mark.programs,
    pytest.mark.skipif(sys.platform != "linux", reason="what processes leave behind is looked for in /proc"),
]

HANGS, RIGHT = "fake_subject:hangs_while_told", "fake_subject:always_right"

FINISHED = 4
"""Number of the small corpus's cases that come before those of Momentum, on which the subject hangs."""


@pytest.fixture
def start_hanging_run(here, small_corpus):
    """Return a function that starts a run in the current directory and waits until the run hangs."""
    begun = []

    def start_hanging_run(*arguments):
        (here / "tmp").mkdir(exist_ok=True)
        (here / "hang").touch()
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
        command = [str(Path(sysconfig.get_path("scripts")) / "onnx-conformance"), "run", "--data", str(small_corpus)]
        process = subprocess.Popen(
            [*INTERRUPTIBLE, *command, "--results", "out.jsonl", "-b", HANGS, *map(str, arguments)],
            cwd=here,
            env={
                **environment,
                "PYTHONPATH": str(SUPPORT),
                "TMPDIR": str(here / "tmp"),
                "HANGS_WHILE": str(here / "hang"),
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        begun.append(process)
        assert wait_until(lambda: results_so_far(here) >= FINISHED or process.poll() is not None)
        return process

    yield start_hanging_run
    for process in begun:
        process.kill()
        process.communicate()


def results_so_far(here) -> int:
    path = partial_path(here / "out.jsonl")
    return path.read_bytes().count(b'{"record":"result"') if path.exists() else 0


def edit_record(results: Path, kind: str, edit) -> None:
    """Change the first record of a kind in a partial results file."""
    path = partial_path(results)
    lines = path.read_bytes().splitlines(keepends=True)
    number = next(number for number, line in enumerate(lines) if json.loads(line)["record"] == kind)
    lines[number] = encode_record(edit(json.loads(lines[number])))
    path.write_bytes(b"".join(lines))


def edit_header(results: Path, edit) -> None:
    """Change the header of a partial results file."""
    edit_record(results, "header", edit)


def nothing_runs(here) -> bool:
    return not processes_in(here / "tmp")


@pytest.mark.variants(1)
@pytest.mark.parametrize(
    ("number", "workers"), [(signal.SIGINT, ()), (signal.SIGTERM, ()), (signal.SIGINT, ("-n", "2"))]
)
def test_interrupted_run_stops_children_and_reports_missing_results(start_hanging_run, here, number, workers):
    process = start_hanging_run(*workers)
    process.send_signal(number)
    _, err = process.communicate(timeout=LONGEST_WAIT)
    footer = read_results(here / "out.jsonl").footer
    assert process.returncode == 130, err
    assert b"Traceback" not in err
    assert (footer.interrupted, footer.outcome) == (True, "fail")
    missing = f"{len(SMALL) - footer.results} of {len(SMALL)}"
    assert any(missing in reason for reason in footer.reasons)
    assert wait_until(lambda: nothing_runs(here))


def test_ctrl_c_during_start_of_workers_prints_no_traceback(here, small_corpus):
    (here / "tmp").mkdir()
    command = [str(Path(sysconfig.get_path("scripts")) / "onnx-conformance"), "run", "--data", str(small_corpus)]
    process = subprocess.Popen(
        [*INTERRUPTIBLE, *command, "-b", RIGHT, "-n", "2"],
        cwd=here,
        env={**os.environ, "PYTHONPATH": str(SUPPORT), "TMPDIR": str(here / "tmp")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        process_group=0,
    )
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    assert wait_until(lambda: any(b"spawn_main" in command_line(number) for number in children.read_text().split()))
    os.killpg(process.pid, signal.SIGINT)
    output, _ = process.communicate(timeout=LONGEST_WAIT)
    assert process.returncode == 130
    assert b"INTERNALERROR" not in output
    assert wait_until(lambda: nothing_runs(here))


def command_line(number: str) -> bytes:
    try:
        return Path(f"/proc/{number}/cmdline").read_bytes()
    except OSError:  # the process has ended
        return b""


@pytest.mark.long
@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["serial", "n2"])
def test_killed_run_leaves_no_process_and_resumes(start_hanging_run, process, here, small_corpus, workers):
    killed = start_hanging_run(*workers)
    killed.kill()
    killed.communicate()
    assert wait_until(lambda: nothing_runs(here))
    with partial_path(here / "out.jsonl").open("ab") as stream:
        stream.write(b'{"record":"result","subject":"half')
    (here / "hang").unlink()
    told = {"HANGS_WHILE": str(here / "hang")}
    again = ("-b", HANGS, "--resume", "out.jsonl", "--data", small_corpus, *workers)
    resumed = process("onnx-conformance", "run", *again, **told)
    whole = ("-b", HANGS, "--results", "whole.jsonl", "--data", small_corpus)
    assert resumed.status == process("onnx-conformance", "run", *whole, **told).status == 0
    assert comparable_records(here / "out.jsonl") == comparable_records(here / "whole.jsonl")
    assert not partial_path(here / "out.jsonl").exists()


def test_killed_run_keeps_earlier_results_file(start_hanging_run, here):
    (here / "out.jsonl").write_text("earlier")
    start_hanging_run().kill()
    assert (here / "out.jsonl").read_text() == "earlier"


def test_interruption_before_first_case_writes_no_file(command, here, small_corpus, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("conformance.run.corpus_run.run_session.RunSession.continue_interrupted_run", interrupt)
    (here / "out.html").write_text("old")
    told = ("-b", RIGHT, "--data", small_corpus, "--results", "out.jsonl", "--html", "out.html")
    assert command("run", *told).status == 130
    assert [(path.name, path.read_text()) for path in here.iterdir()] == [("out.html", "old")]


def test_interruption_of_the_end_names_the_partial_file_and_how_to_continue(command, here, small_corpus, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    told = ("run", "-b", "fake_subject:always_wrong", "--data", small_corpus, "--results", "out.jsonl")
    with monkeypatch.context() as patched:
        patched.setattr("conformance.run.diagnosis.diagnosis_run.diagnose_run", interrupt)
        ended = command(*told, diagnose=True)
    assert ended.status == 130
    assert "out.jsonl.partial" in ended.err
    assert f"{len(SMALL)} results" in ended.err
    assert "--resume out.jsonl" in ended.err
    assert command(*told[:5], "--resume", "out.jsonl", diagnose=True).status == 1
    assert read_results(here / "out.jsonl").footer.diagnoses


def test_interrupted_run_prints_how_many_results_it_has(command, here, small_corpus):
    told = ("-b", "fake_subject:interrupted", "--no-isolation", "--data", small_corpus, "--results", "out.jsonl")
    ended = command("run", *told)
    results = read_results(here / "out.jsonl").footer.results
    assert (ended.status, f"{results} of {len(SMALL)}" in ended.err.splitlines()[0]) == (130, True)


class TestResume:
    @pytest.fixture
    def run(self, command, small_corpus, monkeypatch):
        return lambda *arguments, **options: command("run", "--data", small_corpus, *arguments, **options)

    @pytest.fixture
    def resume(self, run):
        """Return a function that resumes the run of `cut_off`, with more options."""
        return lambda *arguments, name="out.jsonl": run("-b", RIGHT, "--resume", name, *arguments)

    @pytest.fixture
    def cut_off(self, run, here):
        """Partial results file of a run of one subject, cut off after three results."""
        run("-b", RIGHT, "--results", "out.jsonl")
        lines = (here / "out.jsonl").read_bytes().splitlines(keepends=True)
        partial_path(here / "out.jsonl").write_bytes(b"".join(lines[:7]))
        (here / "out.jsonl").rename(here / "whole.jsonl")
        return here / "out.jsonl"

    @pytest.mark.parametrize("name", ["out.jsonl", "out.jsonl.partial"])
    def test_resume_completes_the_results_file(self, resume, here, cut_off, name):
        assert resume(name=name).status == 0
        assert comparable_records(cut_off) == comparable_records(here / "whole.jsonl")

    def test_finished_results_are_kept(self, resume, cut_off):
        kept = partial_path(cut_off).read_bytes()
        resume()
        assert cut_off.read_bytes().startswith(kept)

    def test_resume_continues_repeatedly_interrupted_run(self, run, here, cut_off):
        partial_path(cut_off).unlink()
        told = ("-b", "fake_subject:interrupted", "--no-isolation")
        run(*told, "--results", "out.jsonl")
        assert read_results(cut_off).footer.interrupted
        assert [run(*told, "--resume", "out.jsonl").status for _ in range(3)] == [130, 130, 0]
        assert read_results(cut_off).footer.results == len(SMALL)

    def test_interrupted_run_prints_the_quoted_results_file(self, run, here):
        ended = run("-b", "fake_subject:interrupted", "--no-isolation", "--results", "my results.jsonl")
        assert shlex.split(ended.err.splitlines()[-1])[-2:] == ["--resume", "my results.jsonl"]

    def test_interruption_of_first_case_writes_no_file(self, run, here, monkeypatch):
        def interrupt(*_):
            raise KeyboardInterrupt

        monkeypatch.setattr("conformance.run.corpus_run.runner.Executor.run", interrupt)
        assert run("-b", RIGHT, "--results", "out.jsonl", isolate=True).status == 130
        assert not list(here.iterdir())

    def test_resume_adds_missing_footer(self, resume, here, cut_off):
        lines = (here / "whole.jsonl").read_bytes().splitlines(keepends=True)
        partial_path(cut_off).write_bytes(b"".join(lines[:-1]))
        assert resume().status == 0
        assert comparable_records(cut_off) == comparable_records(here / "whole.jsonl")

    @pytest.mark.variants(2)
    @pytest.mark.parametrize(
        ("options", "what"),
        [
            (("-b", "fake_subject:has_a_version"), "subjects"),
            (("-b", RIGHT, "-b", "reference"), "subjects"),
            (("-b", RIGHT, "-k", "adam"), "selection"),
            (("-b", RIGHT, "--fail-level", "should"), "level"),
            (("-b", RIGHT, "--timeout", "5"), "options"),
        ],
    )
    def test_resume_with_different_options_is_refused(self, run, cut_off, options, what):
        before = partial_path(cut_off).read_bytes()
        ended = run("--resume", "out.jsonl", *options)
        assert (ended.status, ended.code) == (2, "usage.resume-other-run")
        assert ended.err.count(f": {what} is ") == 1
        assert_bad_input(ended)
        assert partial_path(cut_off).read_bytes() == before

    def test_resume_with_different_corpus_is_refused(self, command, cut_off):
        ended = command("run", "-b", RIGHT, "--resume", "out.jsonl", "--data", DATA)
        assert (ended.status, ended.code) == (2, "usage.resume-other-run")
        assert "corpus" in ended.err

    def test_resume_with_different_expectations_is_refused(self, resume, here, cut_off):
        (here / "e.toml").write_text(f'subject = "{RIGHT}"\n[[expect]]\nfail = ["*"]\nreason = "known"\n')
        assert_bad_input(resume("--expect", "e.toml"), "usage.resume-other-run", "expect")

    @pytest.mark.parametrize("backend", [RIGHT, "fake_subject:wrong_on_argmax"])
    def test_resume_of_complete_file_gives_outcome_and_status_of_the_run(self, run, here, backend):
        first = run("-b", backend, "--results", "whole.jsonl")
        before = comparable_records(here / "whole.jsonl")
        again = run("-b", backend, "--resume", "whole.jsonl")
        assert (again.status, again.out) == (first.status, first.out)
        assert "whole.jsonl" in again.err
        assert comparable_records(here / "whole.jsonl") == before

    def test_resume_of_run_that_stopped_on_purpose_is_refused(self, run, here):
        run("-b", "fake_subject:wrong_on_argmax", "-x", "--results", "out.jsonl")
        ended = run("-b", "fake_subject:wrong_on_argmax", "--resume", "out.jsonl")
        assert_bad_input(ended, "results.not-interrupted", "out.jsonl")

    @pytest.mark.parametrize("content", ["", "hello\n", '{"record":"header"}\n'])
    def test_resume_of_unrelated_file_is_refused(self, run, here, content):
        (here / "out.jsonl").write_text(content)
        ended = run("--resume", "out.jsonl")
        assert ended.status == 2
        assert "out.jsonl " in ended.err

    @pytest.mark.parametrize("path", [".", "/"])
    def test_resume_of_a_folder_is_refused(self, run, path):
        assert_bad_input(run("-b", RIGHT, "--resume", path), "job.state-not-a-file", path)

    def test_resume_restores_selection_and_fail_level_of_the_run(self, resume, run, here):
        told = ("-k", "adam or argmax", "--fail-level", "should")
        run("-b", RIGHT, "--results", "out.jsonl", *told)
        lines = (here / "out.jsonl").read_bytes().splitlines(keepends=True)
        (here / "out.jsonl").rename(here / "whole.jsonl")
        partial_path(here / "out.jsonl").write_bytes(b"".join(lines[:3]))
        ended = resume("--html", "out.html")
        assert (ended.status, ended.err) == (0, "")
        assert comparable_records(here / "out.jsonl") == comparable_records(here / "whole.jsonl")
        assert (here / "out.html").exists()

    def test_resume_executes_and_writes_nothing_that_the_file_names(self, run, here, cut_off):
        (here / "precious.html").write_text("precious")
        evil = ["-b", f"exec:/bin/sh -c 'touch {here}/executed'", "--html", "precious.html", "--python", "./evil"]
        edit_header(cut_off, lambda header: header | {"command": shlex.join(["onnx-conformance", "run", *evil])})
        assert_bad_input(run("--resume", "out.jsonl"), "usage.subject-missing", RIGHT)
        assert run("-b", RIGHT, "--resume", "out.jsonl").status == 0
        assert not (here / "executed").exists()
        assert (here / "precious.html").read_text() == "precious"

    def test_resume_starts_no_subject_before_the_file_is_checked(self, run, here, cut_off):
        subject = f"exec:/bin/sh -c 'touch {here}/executed'"
        assert_bad_input(run("-b", subject, "--resume", "out.jsonl"), "usage.resume-other-run", "subjects")
        assert not (here / "executed").exists()

    @pytest.mark.variants(3)
    @pytest.mark.parametrize(
        ("kind", "edit", "code"),
        [
            ("header", {"selections": [{"tag": ["no tag"]}]}, "name.not-in-corpus"),
            ("header", {"selections": [{"keyword": "(" * 2000}]}, "usage.keyword-too-long"),
            ("header", {"selections": [{"keyword": "a b"}]}, "usage.malformed-keyword"),
            ("header", {"selections": [{"shard": {"number": 9, "of": 1}}]}, "results.malformed"),
            ("header", {"clauses": {"adam": {"text": "anything passes", "source": "me"}}}, "usage.resume-other-run"),
            ("case", {"title": "not the title"}, "usage.resume-other-run"),
            ("case", {"case": "test_unknown"}, "usage.resume-other-run"),
            ("result", {"case": "test_unknown"}, "results.malformed"),
            ("result", {"subject": "acme"}, "results.malformed"),
            ("result", {"unexpected": True}, "usage.resume-other-run"),
        ],
    )
    def test_resume_of_file_with_foreign_record_is_refused(self, resume, cut_off, kind, edit, code):
        edit_record(cut_off, kind, lambda record: record | edit)
        before = partial_path(cut_off).read_bytes()
        assert_bad_input(resume(), code)
        assert partial_path(cut_off).read_bytes() == before

    @pytest.mark.parametrize(
        ("options", "what"), [(("--require", "Adam"), "require"), (("--baseline", "whole.jsonl"), "baseline")]
    )
    def test_resume_with_different_pass_criterion_is_refused(self, resume, cut_off, options, what):
        assert_bad_input(resume(*options), "usage.resume-other-run", f": {what} is ")

    def test_resume_of_missing_file_is_refused(self, run):
        assert run("--resume", "missing.jsonl").status == 2

    def test_run_with_altered_corpus_keeps_earlier_results_file(self, command, here, corpus_copy):
        (here / "out.jsonl").write_text("earlier")
        path = corpus_copy / "node" / SMALL[-1] / "model.onnx"
        path.write_bytes(path.read_bytes() + b"?")
        assert command("run", "-b", RIGHT, "--data", corpus_copy, "--results", "out.jsonl").status == 2
        assert (here / "out.jsonl").read_text() == "earlier"
        assert not partial_path(here / "out.jsonl").exists()


STEP_THAT_DOES_NOT_END = """
import ctypes, os, sys, threading
from conformance.commands import cli

def wait_forever(_):
    threading.Timer(0.5, os.kill, (os.getpid(), int(sys.argv[1]))).start()
    lock = ctypes.create_string_buffer(256)
    while True:
        ctypes.CDLL(None).pthread_mutex_lock(lock)

cli.create_app = wait_forever
cli.main()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_during_a_long_step_of_a_library_ends_the_command(number: signal.Signals) -> None:
    command = [*INTERRUPTIBLE, sys.executable, "-c", STEP_THAT_DOES_NOT_END, str(int(number))]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST_WAIT, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "")


TWO_SIGNALS = """
import os, signal, threading, time
from conformance.commands import cli

def take_the_first(**_):
    for seconds in (0.2, 0.25, 0.6):
        threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT)).start()
    for name in ("first", "second"):
        try:
            time.sleep(5)
        except KeyboardInterrupt:
            print(name, flush=True)

cli.create_app = lambda _: take_the_first
cli.main()
"""


def test_second_ctrl_c_soon_after_the_first_has_an_effect() -> None:
    command = [*INTERRUPTIBLE, sys.executable, "-c", TWO_SIGNALS]
    started = time.monotonic()
    ended = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST_WAIT, check=False)
    assert ended.stdout.split() == ["first", "second"]
    assert time.monotonic() - started < 5


def test_interrupted_run_searches_no_explanation(command, here, small_corpus, monkeypatch):
    monkeypatch.setattr("conformance.run.diagnosis.diagnosis_run.diagnose_run", lambda *_: pytest.fail("it was called"))
    told = ("-b", "fake_subject:wrong_and_interrupted", "--data", small_corpus, "--no-isolation")
    assert command("run", *told, "--results", "out.jsonl", diagnose=True).status == 130
    assert any(row.verdict.is_defect for row in read_results(here / "out.jsonl").rows.values())
