"""Runs with subjects in the same process: a subject that exits fails the run, and interruptions reach it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from corpora import SMALL
from isolation_support import LONGEST_WAIT, SUPPORT, processes_in, wait_until

from conformance.base.errors import ExitStatus
from conformance.base.processes.start import ChildDied, report_status_and_exit, run_in_child
from conformance.run.corpus_run.resume import partial_path
from conformance.run.results.results_file import read_results

ENDS = "fake_subject:exits_0_midway"

SUBJECT = """
import atexit, os
from fake_subject import always_right, always_wrong

if {when!r} == "import":
    os._exit(0)
if {when!r} == "atexit":
    atexit.register(os._exit, 0)

prepare = always_wrong.prepare
"""

CRASHES_AT_ITS_END = """
import atexit, os
from pathlib import Path
from fake_subject import always_right

def crash():
    Path("ended").touch()
    os.abort()

if "PYTEST_XDIST_WORKER" in os.environ:
    atexit.register(crash)
prepare = always_right.prepare
"""


@pytest.mark.parametrize(
    ("ends", "how"),
    [(lambda: os._exit(0), "status 0"), (lambda: os.kill(os.getpid(), signal.SIGKILL), "SIGKILL")],
    ids=["exit", "killed"],
)
def test_child_that_ends_without_status_raises_child_died(ends, how):
    with pytest.raises(ChildDied, match=how):
        if run_in_child() is None:
            ends()


def test_reported_status_is_status_of_run():
    status = run_in_child()
    if status is None:
        report_status_and_exit(ExitStatus.FAILS)
    assert status is ExitStatus.FAILS


def test_report_status_without_supervisor_returns():
    assert report_status_and_exit(ExitStatus.PASSES) is None


class TestWatchedRun:
    def test_subject_that_exits_fails_run_and_keeps_results(self, run_watched, here):
        ended = run_watched("-b", ENDS, "--results", "out.jsonl")
        assert ended.status == 1
        assert re.search(r"^FAILED\n.*\bstatus 0\b", ended.err, re.MULTILINE)
        assert "--resume out.jsonl" in ended.err
        assert partial_path(here / "out.jsonl").read_bytes().count(b'{"record":"result"') == 4

    @pytest.mark.variants(1)
    @pytest.mark.parametrize("when", ["import", "atexit"])
    def test_subject_that_exits_never_passes_run(self, run_watched, here, when):
        (here / "given.py").write_text(SUBJECT.format(when=when))
        assert run_watched("-b", "given").status == 1

    def test_watched_run_keeps_usual_exit_status(self, run_watched):
        assert run_watched("-b", "fake_subject:always_right").status == 0
        assert run_watched("-b", "nothing_like_it").status == 2

    @pytest.mark.long
    def test_worker_exits_without_exit_handlers_of_runtime(self, run_watched, here):
        (here / "given.py").write_text(CRASHES_AT_ITS_END)
        assert run_watched("-b", "given", "-n", "2").status == 0
        assert not (here / "ended").exists()

    @pytest.fixture
    def run_watched(self, process, small_corpus):
        return lambda *told: process("onnx-conformance", "run", "--no-isolation", "--data", small_corpus, *told)


@pytest.mark.variants(1)
@pytest.mark.skipif(sys.platform != "linux", reason="what processes leave behind is looked for in /proc")
@pytest.mark.parametrize(
    "number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=["SIGINT", "SIGTERM", "SIGKILL"]
)
def test_interrupted_command_interrupts_run(here, small_corpus, number):
    (here / "hang").touch()
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    command = [str(Path(sysconfig.get_path("scripts")) / "onnx-conformance"), "run", "--no-isolation"]
    process = subprocess.Popen(
        [*command, "--data", str(small_corpus), "-b", "fake_subject:hangs_while_told", "--results", "out.jsonl"],
        cwd=here,
        env={**kept, "PYTHONPATH": str(SUPPORT), "HANGS_WHILE": str(here / "hang")},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 - there are no threads
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    begun = partial_path(here / "out.jsonl")
    assert wait_until(lambda: begun.exists() and begun.read_bytes().count(b'{"record":"result"') == 4)
    process.send_signal(number)
    process.wait(LONGEST_WAIT)
    assert wait_until(lambda: not processes_in(here))
    if number == signal.SIGKILL:
        assert begun.exists()
    else:
        assert process.returncode == ExitStatus.INTERRUPTED
        assert read_results(here / "out.jsonl").footer.results == 4 < len(SMALL)
