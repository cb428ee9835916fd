"""A run that is interrupted says so and leaves nothing running; one that is killed is continued to the same results."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from corpora import SMALL
from interruptible import INTERRUPTIBLE
from isolation_support import LONGEST_WAIT, SUPPORT, processes_in, until
from outputs import comparable
from repository import DATA

from conformance.results.file import read
from conformance.run.partial import partial_of

pytestmark = [
    pytest.mark.programs,
    pytest.mark.skipif(sys.platform != "linux", reason="what processes leave behind is looked for in /proc"),
]

HANGS, RIGHT = "isolation_faults:hangs_while_told", "fake_backends:AlwaysRight"

FINISHED = 4
"""How many of the small corpus's cases come before those of Momentum, on which the subject hangs."""


@pytest.fixture
def begin(here, small_corpus):
    """Starts a run that hangs, in the current directory, and waits until all before that is done."""
    begun = []

    def begin(*arguments):
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
        assert until(lambda: results_so_far(here) >= FINISHED or process.poll() is not None)
        return process

    yield begin
    for process in begun:
        process.kill()
        process.communicate()


def results_so_far(here) -> int:
    path = partial_of(here / "out.jsonl")
    return path.read_bytes().count(b'{"record":"result"') if path.exists() else 0


def nothing_runs(here) -> bool:
    return not processes_in(here / "tmp")


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["serial", "n2"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
def test_an_interrupted_run_ends_its_children_and_says_so(begin, here, number, workers):
    process = begin(*workers)
    process.send_signal(number)
    _, err = process.communicate(timeout=LONGEST_WAIT)
    footer = read(here / "out.jsonl").footer
    assert process.returncode == 130, err
    assert b"Traceback" not in err
    assert (footer["interrupted"], footer["gate"]) == (True, "fail")
    assert any("results are missing: the run was interrupted" in reason for reason in footer["reasons"])
    assert until(lambda: nothing_runs(here))


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["serial", "n2"])
def test_a_killed_run_leaves_nothing_running_and_is_continued(begin, process, here, small_corpus, workers):
    killed = begin(*workers)
    killed.kill()
    killed.communicate()
    assert until(lambda: nothing_runs(here))
    with partial_of(here / "out.jsonl").open("ab") as stream:
        stream.write(b'{"record":"result","subject":"half')
    (here / "hang").unlink()
    told = {"HANGS_WHILE": str(here / "hang")}
    resumed = process("onnx-conformance", "run", "--resume", "out.jsonl", "--data", small_corpus, *workers, **told)
    whole = ("-b", HANGS, "--results", "whole.jsonl", "--data", small_corpus)
    assert resumed.status == process("onnx-conformance", "run", *whole, **told).status == 0
    assert comparable(here / "out.jsonl") == comparable(here / "whole.jsonl")
    assert not partial_of(here / "out.jsonl").exists()


def test_a_killed_run_leaves_the_results_of_an_earlier_one(begin, here):
    (here / "out.jsonl").write_text("earlier")
    begin().kill()
    assert (here / "out.jsonl").read_text() == "earlier"


def test_an_interruption_before_anything_is_run_is_one_too_and_leaves_nothing(command, here, small_corpus, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("conformance.run.session.ConformanceSession.pytest_configure", interrupt)
    (here / "out.html").write_text("old")
    told = ("-b", RIGHT, "--data", small_corpus, "--results", "out.jsonl", "--html", "out.html")
    assert command("run", *told).status == 130
    assert [(path.name, path.read_text()) for path in here.iterdir()] == [("out.html", "old")]


class TestResume:
    @pytest.fixture
    def run(self, command, small_corpus, monkeypatch):
        return lambda *arguments: command("run", "--data", small_corpus, *arguments)

    @pytest.fixture
    def cut_off(self, run, here):
        """A run of one subject that was cut off after three results."""
        run("-b", RIGHT, "--results", "out.jsonl")
        lines = (here / "out.jsonl").read_bytes().splitlines(keepends=True)
        partial_of(here / "out.jsonl").write_bytes(b"".join(lines[:7]))
        (here / "out.jsonl").rename(here / "whole.jsonl")
        return here / "out.jsonl"

    @pytest.mark.parametrize("name", ["out.jsonl", "out.jsonl.partial"])
    def test_the_rest_is_run_and_the_file_is_whole(self, run, here, cut_off, name):
        assert run("--resume", name).status == 0
        assert comparable(cut_off) == comparable(here / "whole.jsonl")

    def test_finished_results_are_kept(self, run, cut_off):
        kept = partial_of(cut_off).read_bytes()
        run("--resume", "out.jsonl")
        assert cut_off.read_bytes().startswith(kept)

    def test_an_interrupted_run_is_continued_from_its_results(self, run, here, cut_off):
        partial_of(cut_off).unlink()
        run("-b", "fake_backends:Interrupted", "--in-process", "--results", "out.jsonl")
        assert read(cut_off).footer["interrupted"]
        assert [run("--resume", "out.jsonl", "--in-process").status for _ in range(3)] == [130, 130, 0]
        assert read(cut_off).footer["results"] == len(SMALL)

    def test_a_run_that_is_interrupted_as_it_collects_has_all_its_cases_still_to_run(self, run, cut_off, monkeypatch):
        def interrupt(*_):
            raise KeyboardInterrupt

        partial_of(cut_off).unlink()
        with monkeypatch.context() as patched:
            patched.setattr("conformance.run.items.CorpusFile.collect", interrupt)
            assert run("-b", RIGHT, "--results", "out.jsonl").status == 130
        assert run("--resume", "out.jsonl").status == 0
        assert read(cut_off).header["corpus"]["selected"] == len(SMALL)

    def test_a_run_of_which_only_the_footer_is_missing_gets_it(self, run, here, cut_off):
        lines = (here / "whole.jsonl").read_bytes().splitlines(keepends=True)
        partial_of(cut_off).write_bytes(b"".join(lines[:-1]))
        assert run("--resume", "out.jsonl").status == 0
        assert comparable(cut_off) == comparable(here / "whole.jsonl")

    @pytest.mark.parametrize(
        ("options", "what"),
        [
            (("-b", "fake_backends:HasAVersion"), "its subjects"),
            (("-b", RIGHT, "-b", "reference"), "its subjects"),
            (("-k", "adam"), "its selection"),
            (("--level", "should"), "its selection"),
        ],
    )
    def test_another_run_is_refused_and_the_file_is_left(self, run, cut_off, options, what):
        before = partial_of(cut_off).read_bytes()
        ended = run("--resume", "out.jsonl", *options)
        assert ended.status == 2
        assert f"is of another run, by {what}" in ended.err
        assert partial_of(cut_off).read_bytes() == before

    def test_another_corpus_is_refused(self, command, cut_off):
        ended = command("run", "--resume", "out.jsonl", "--data", DATA)
        assert ended.status == 2
        assert "is of another run, by its corpus" in ended.err

    def test_other_expectations_are_refused(self, run, here, cut_off):
        (here / "e.toml").write_text(
            f'subject = "{RIGHT}"\n[[expect]]\ncases = ["*"]\nverdict = "fail"\nreason = "known"\n'
        )
        ended = run("--resume", "out.jsonl", "--expect", "e.toml")
        assert ended.status == 2
        assert "see --expect" in ended.err

    def test_a_whole_file_is_refused(self, run, here, cut_off):
        ended = run("--resume", "whole.jsonl")
        assert ended.status == 2
        assert "is whole: there is nothing to continue" in ended.err

    @pytest.mark.parametrize("content", ["", "hello\n", '{"record":"header"}\n'])
    def test_a_foreign_file_is_refused(self, run, here, content):
        (here / "out.jsonl").write_text(content)
        ended = run("--resume", "out.jsonl")
        assert ended.status == 2
        assert "out.jsonl " in ended.err

    def test_the_options_of_the_run_are_those_it_was_begun_with(self, command, run, here):
        (here / "e.toml").write_text(f'subject = "{RIGHT}"\n')
        told = (
            "-b",
            RIGHT,
            "--results",
            "out.jsonl",
            "-k",
            "adam or argmax",
            "--require",
            "Adam",
            "--expect",
            "e.toml",
        )
        run(*told, "--html", "out.html", "--json", "a b.json", "--level", "should", "--no-diagnosis")
        lines = (here / "out.jsonl").read_bytes().splitlines(keepends=True)
        (here / "out.jsonl").rename(here / "whole.jsonl")
        partial_of(here / "out.jsonl").write_bytes(b"".join(lines[:3]))
        (here / "a b.json").unlink()
        (here / "out.html").unlink()
        ended = command("run", "--resume", "out.jsonl")
        assert (ended.status, ended.err) == (0, "")
        assert comparable(here / "out.jsonl") == comparable(here / "whole.jsonl")
        assert (here / "out.html").exists()
        assert (here / "a b.json").exists()

    @pytest.mark.parametrize(
        ("options", "what"), [(("--require", "Adam"), "its require"), (("--baseline", "whole.jsonl"), "its baseline")]
    )
    def test_a_gate_by_other_rules_is_refused(self, run, cut_off, options, what):
        ended = run("--resume", "out.jsonl", *options)
        assert ended.status == 2
        assert f"is of another run, by {what}" in ended.err

    def test_a_missing_file_is_refused(self, run):
        assert run("--resume", "missing.jsonl").status == 2

    def test_an_abandoned_run_leaves_the_results_of_an_earlier_one(self, command, here, corpus_copy):
        (here / "out.jsonl").write_text("earlier")
        path = corpus_copy / "node" / SMALL[-1] / "model.onnx"
        path.write_bytes(path.read_bytes() + b"?")
        assert command("run", "-b", RIGHT, "--data", corpus_copy, "--results", "out.jsonl").status == 2
        assert (here / "out.jsonl").read_text() == "earlier"
        assert not partial_of(here / "out.jsonl").exists()
