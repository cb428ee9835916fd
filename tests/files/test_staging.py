"""Files that are being written: what a killed writer leaves, and what a living one is left."""

from __future__ import annotations

import signal
import subprocess
import sys

from conformance.files.regular import write_whole
from conformance.files.staging import staged

KILLED = """
import os, signal, sys
from pathlib import Path
from conformance.files.regular import write_pieces

def pieces():
    yield b"half"
    os.kill(os.getpid(), signal.SIGKILL)

write_pieces(Path(sys.argv[1]), pieces())
"""


def kill_while_writing(target):
    ended = subprocess.run([sys.executable, "-c", KILLED, str(target)], check=False)
    assert ended.returncode == -signal.SIGKILL


def test_the_next_writer_removes_what_a_killed_one_left(tmp_path):
    (tmp_path / "report").write_text("old")
    kill_while_writing(tmp_path / "report")
    assert (tmp_path / "report").read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 2
    write_whole(tmp_path / "another", "text")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["another", "report"]


def test_the_file_of_a_living_writer_stays(tmp_path):
    with staged(tmp_path) as (stream, path):
        write_whole(tmp_path / "another", "text")
        stream.write(b"mine")
        path.rename(tmp_path / "mine")
    assert (tmp_path / "mine").read_bytes() == b"mine"


def test_files_of_others_stay(tmp_path):
    names = [".onnx-conformance-notes", ".report-12345678", "report.part"]
    for name in names:
        (tmp_path / name).touch()
    write_whole(tmp_path / "report", "text")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*names, "report"])
