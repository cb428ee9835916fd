"""A run with subjects in its own process: whoever ends that process ends no run green, and interruptions reach it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from corpora import SMALL
from isolation_support import LONGEST_WAIT, SUPPORT, processes_in, until

from conformance.errors import ExitStatus
from conformance.results.file import read
from conformance.run.partial import partial_of
from conformance.run.watching import EndedFromWithin, end_watched, watch

ENDS = "fake_backends:KillsItsProcess"

SUBJECT = """
import atexit, os
from fake_backends import AlwaysRight, AlwaysWrong

if {when!r} == "import":
    os._exit(0)
if {when!r} == "atexit":
    atexit.register(os._exit, 0)

prepare = AlwaysWrong.prepare
"""

CRASHES_AT_ITS_END = """
import atexit, os
from pathlib import Path
from fake_backends import AlwaysRight

def crash():
    Path("ended").touch()
    os.abort()

if "PYTEST_XDIST_WORKER" in os.environ:
    atexit.register(crash)
prepare = AlwaysRight.prepare
"""


@pytest.mark.parametrize(
    ("ends", "how"),
    [(lambda: os._exit(0), "status 0"), (lambda: os.kill(os.getpid(), signal.SIGKILL), "SIGKILL")],
    ids=["exit", "killed"],
)
def test_a_process_that_ends_without_telling_its_status_is_noticed(ends, how):
    with pytest.raises(EndedFromWithin, match=how):
        if watch() is None:
            ends()


def test_the_status_that_it_tells_is_that_of_the_run():
    status = watch()
    if status is None:
        end_watched(ExitStatus.FAILS)
    assert status is ExitStatus.FAILS


def test_a_process_that_nobody_watches_goes_on():
    assert end_watched(ExitStatus.HOLDS) is None


class TestInARun:
    def test_a_subject_that_ends_the_process_shuts_the_gate_and_what_there_was_is_kept(self, run_watched, here):
        ended = run_watched("-b", ENDS, "--results", "out.jsonl")
        assert ended.status == 1
        assert "The gate does not hold: the process exited with status 0 before the run was done" in ended.err
        assert "--resume out.jsonl" in ended.err
        assert partial_of(here / "out.jsonl").read_bytes().count(b'{"record":"result"') == 4

    @pytest.mark.parametrize("when", ["import", "atexit"])
    def test_no_way_out_is_green(self, run_watched, here, when):
        (here / "given.py").write_text(SUBJECT.format(when=when))
        assert run_watched("-b", "given").status == 1

    def test_what_the_subject_cannot_end_ends_as_usual(self, run_watched):
        assert run_watched("-b", "fake_backends:AlwaysRight").status == 0
        assert run_watched("-b", "nothing_like_it").status == 2

    def test_a_worker_ends_before_a_runtime_does_in_its_own_way(self, run_watched, here):
        (here / "given.py").write_text(CRASHES_AT_ITS_END)
        assert run_watched("-b", "given", "-n", "2").status == 0
        assert not (here / "ended").exists()

    @pytest.fixture
    def run_watched(self, process, small_corpus):
        return lambda *told: process("onnx-conformance", "run", "--in-process", "--data", small_corpus, *told)


@pytest.mark.skipif(sys.platform != "linux", reason="what processes leave behind is looked for in /proc")
@pytest.mark.parametrize(
    "number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=["SIGINT", "SIGTERM", "SIGKILL"]
)
def test_what_interrupts_the_command_interrupts_the_run(here, small_corpus, number):
    (here / "hang").touch()
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    command = [str(Path(sysconfig.get_path("scripts")) / "onnx-conformance"), "run", "--in-process"]
    process = subprocess.Popen(
        [*command, "--data", str(small_corpus), "-b", "isolation_faults:hangs_while_told", "--results", "out.jsonl"],
        cwd=here,
        env={**kept, "PYTHONPATH": str(SUPPORT), "HANGS_WHILE": str(here / "hang")},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 - there are no threads
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    begun = partial_of(here / "out.jsonl")
    assert until(lambda: begun.exists() and begun.read_bytes().count(b'{"record":"result"') == 4)
    process.send_signal(number)
    process.wait(LONGEST_WAIT)
    assert until(lambda: not processes_in(here))
    if number == signal.SIGKILL:
        assert begun.exists()
    else:
        assert process.returncode == ExitStatus.INTERRUPTED
        assert read(here / "out.jsonl").footer["results"] == 4 < len(SMALL)
