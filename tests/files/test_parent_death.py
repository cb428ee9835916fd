"""Programs that die with the process that started them."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from isolation_support import wait_until

from conformance.files.parent_death import killed_with_parent

PARENT = """
import os, signal, subprocess, sys
from conformance.files.parent_death import killed_with_parent
code = "import time; print(1, flush=True); time.sleep(600)"
child = subprocess.Popen(killed_with_parent([sys.executable, "-c", code]), stdout=subprocess.PIPE)
child.stdout.readline()
print(child.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def is_running(number: int) -> bool:
    stat = Path(f"/proc/{number}/stat")
    try:
        return stat.read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux kills a process with its parent")
def test_program_dies_with_killed_parent() -> None:
    ended = subprocess.run([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True, check=False)
    assert ended.returncode == -signal.SIGKILL
    assert wait_until(lambda: not is_running(int(ended.stdout)))


def test_status_and_signals_are_those_of_the_program() -> None:
    code = "import signal, sys; sys.exit(signal.getsignal(signal.SIGINT) is signal.default_int_handler and 7)"
    assert subprocess.run(killed_with_parent([sys.executable, "-c", code]), check=False).returncode == 7
    assert subprocess.run(killed_with_parent(["sh", "-c", "kill -PIPE $$; exit 3"]), check=False).returncode == -13
