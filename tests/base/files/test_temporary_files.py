"""Temporary files of writers that were killed, and of writers that are alive."""

from __future__ import annotations

import signal
import subprocess
import sys

from conformance.base.files.atomic_write import open_temporary_file, write_text_atomically

KILLED = """
import os, signal, sys
from pathlib import Path
from conformance.base.files.atomic_write import write_chunks_atomically

def chunks():
    yield b"half"
    os.kill(os.getpid(), signal.SIGKILL)

write_chunks_atomically(Path(sys.argv[1]), chunks())
"""


def kill_while_writing(target):
    ended = subprocess.run([sys.executable, "-c", KILLED, str(target)], check=False)
    assert ended.returncode == -signal.SIGKILL


def test_next_writer_removes_files_of_killed_writers(tmp_path):
    (tmp_path / "report").write_text("old")
    kill_while_writing(tmp_path / "report")
    assert (tmp_path / "report").read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 2
    write_text_atomically(tmp_path / "another", "text")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["another", "report"]


def test_file_of_a_living_writer_is_kept(tmp_path):
    with open_temporary_file(tmp_path) as (stream, path):
        write_text_atomically(tmp_path / "another", "text")
        stream.write(b"mine")
        path.rename(tmp_path / "mine")
    assert (tmp_path / "mine").read_bytes() == b"mine"


def test_files_with_other_names_are_kept(tmp_path):
    names = [".onnx-conformance-notes", ".report-12345678", "report.part"]
    for name in names:
        (tmp_path / name).touch()
    write_text_atomically(tmp_path / "report", "text")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*names, "report"])
