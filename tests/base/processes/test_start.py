"""Programs that die with the process that started them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from isolation_support import SUPPORT, wait_until

from conformance.base.processes.start import run_program

PARENT = """
import os, signal, sys
from conformance.base.processes.start import start_program
child = start_program([sys.executable, "-c", "import time; print(1, flush=True); time.sleep(600)"])
child.stdout.readline()
print(child.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""

WORKER = """
from conformance.base.processes.start import start_worker
from fake_jobs import send_blocked_signals
if __name__ == "__main__":
    connection, process = start_worker(send_blocked_signals)
    print(connection.recv())
    process.join()
"""

IGNORED = "import signal as s; print([int(number) for number in s.Signals if s.getsignal(number) == s.SIG_IGN])"


def is_running(number: int) -> bool:
    stat = Path(f"/proc/{number}/stat")
    try:
        return stat.read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux kills a process with its parent")
def test_start_program_dies_with_killed_parent() -> None:
    ended = subprocess.run([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True, check=False)
    assert ended.returncode == -signal.SIGKILL
    assert wait_until(lambda: not is_running(int(ended.stdout)))


def test_run_program_returns_status_of_the_program() -> None:
    assert run_program([sys.executable, "-c", "raise SystemExit(7)"]).returncode == 7
    assert run_program(["sh", "-c", "kill -PIPE $$; exit 3"]).returncode == -signal.SIGPIPE


def test_run_program_that_does_not_exist_raises_os_error() -> None:
    with pytest.raises(FileNotFoundError):
        run_program(["no_such_program_anywhere"])


@pytest.mark.parametrize("disposition", [signal.SIG_IGN, signal.SIG_DFL], ids=["background", "foreground"])
def test_run_program_inherits_ignored_interrupt(disposition: signal.Handlers) -> None:
    """A shell ignores SIGINT for a command in the background, and then it must not interrupt the command's programs."""
    before = signal.signal(signal.SIGINT, disposition)
    try:
        direct = subprocess.run([sys.executable, "-c", IGNORED], capture_output=True, check=True).stdout
        assert run_program([sys.executable, "-c", IGNORED]).stdout == direct
    finally:
        signal.signal(signal.SIGINT, before)
    assert (str(int(signal.SIGINT)).encode() in direct.strip(b"[]\n").split(b", ")) == (disposition is signal.SIG_IGN)


def test_start_worker_blocks_interrupt_until_worker_ignores_it(tmp_path: Path) -> None:
    """Also in the first worker: Python then starts a process of its own, which unblocks the interrupt."""
    program = tmp_path / "program.py"
    program.write_text(WORKER)
    variables = {**os.environ, "PYTHONPATH": str(SUPPORT)}
    ended = subprocess.run([sys.executable, str(program)], env=variables, capture_output=True, text=True, check=True)
    assert ended.stdout == f"[{int(signal.SIGINT)}]\n"
