"""Folders that go with whoever made them, also by SIGKILL, and what is being replaced is put back."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest
from isolation_support import until

from conformance.files.scratch import OLD, scratch_folder

KILLED = """
import os, signal, sys
from pathlib import Path
from conformance.files.scratch import OLD, scratch_folder

here = Path(sys.argv[1])
with scratch_folder(here, ".target-", here / "target") as scratch:
    (scratch / "new").mkdir()
    (scratch / "new" / "file").write_text("new")
    for step in sys.argv[2:]:
        (here / "target").rename(scratch / OLD) if step == "retire" else (scratch / "new").rename(here / "target")
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def here(tmp_path):
    """A folder with one of another name in it."""
    (tmp_path / "target").mkdir()
    (tmp_path / "target" / "file").write_text("old")
    return tmp_path


def test_it_is_there_and_then_it_is_not(tmp_path):
    with scratch_folder(tmp_path, "mine-") as folder:
        assert list(tmp_path.iterdir()) == [folder]
        assert folder.name.startswith("mine-")
        (folder / "file").write_text("")
    assert list(tmp_path.iterdir()) == []


def test_an_error_is_raised_and_what_was_retired_is_back(here):
    def retire_and_fail():
        with scratch_folder(here, ".target-", here / "target") as folder:
            (here / "target").rename(folder / OLD)
            raise OSError(28, os.strerror(28))

    with pytest.raises(OSError, match=os.strerror(28)):
        retire_and_fail()
    assert [path.name for path in here.rglob("*")] == ["target", "file"]


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError), scratch_folder(tmp_path / "missing", "mine-"):
        raise AssertionError("entered")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("steps", "content"), [((), "old"), (("retire",), "old"), (("retire", "replace"), "new")], ids=len
)
def test_after_sigkill_nothing_is_left_but_one_whole_target(here, steps, content):
    ended = subprocess.run([sys.executable, "-c", KILLED, here, *steps], check=False)
    assert ended.returncode == -signal.SIGKILL
    assert until(lambda: [path.name for path in here.iterdir()] == ["target"])
    assert (here / "target" / "file").read_text() == content
