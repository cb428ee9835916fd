"""Temporary directories: removed even after SIGKILL, and replaced targets are restored."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest
from isolation_support import wait_until

from conformance.files.temp_dir import supervised_temp_dir
from conformance.processes.helper import REPLACED_NAME

KILLED = """
import os, signal, sys
from pathlib import Path
from conformance.files.temp_dir import supervised_temp_dir
from conformance.processes.helper import REPLACED_NAME

here = Path(sys.argv[1])
with supervised_temp_dir(here, ".target-", here / "target") as scratch:
    (scratch / "new").mkdir()
    (scratch / "new" / "file").write_text("new")
    for step in sys.argv[2:]:
        source, target = here / "target", scratch / REPLACED_NAME
        source.rename(target) if step == "retire" else (scratch / "new").rename(source)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def here(tmp_path):
    """Return a folder that contains the target folder."""
    (tmp_path / "target").mkdir()
    (tmp_path / "target" / "file").write_text("old")
    return tmp_path


def test_temp_dir_is_removed_at_the_end(tmp_path):
    with supervised_temp_dir(tmp_path, "mine-") as folder:
        assert list(tmp_path.iterdir()) == [folder]
        assert folder.name.startswith("mine-")
        (folder / "file").write_text("")
    assert list(tmp_path.iterdir()) == []


def test_error_in_the_block_restores_the_target(here):
    def retire_and_fail():
        with supervised_temp_dir(here, ".target-", here / "target") as folder:
            (here / "target").rename(folder / REPLACED_NAME)
            raise OSError(28, os.strerror(28))

    with pytest.raises(OSError, match=os.strerror(28)):
        retire_and_fail()
    assert [path.name for path in here.rglob("*")] == ["target", "file"]


def test_missing_parent_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError), supervised_temp_dir(tmp_path / "missing", "mine-"):
        raise AssertionError("entered")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("steps", "content"), [((), "old"), (("retire",), "old"), (("retire", "replace"), "new")], ids=len
)
def test_killed_process_leaves_only_a_complete_target(here, steps, content):
    ended = subprocess.run([sys.executable, "-c", KILLED, here, *steps], check=False)
    assert ended.returncode == -signal.SIGKILL
    assert wait_until(lambda: [path.name for path in here.iterdir()] == ["target"])
    assert (here / "target" / "file").read_text() == content
