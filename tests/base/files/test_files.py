"""Files: atomic writes, deferred signals, and temporary files and folders."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from isolation_support import wait_until
from refusals import assert_raises

from conformance.base.files.atomic_write import (
    check_distinct_targets,
    check_results_target,
    check_target,
    deferred_signals,
    install_signal_deferral,
    supervised_temp_dir,
    write_text_atomically,
)
from conformance.base.processes.helper import REPLACED_NAME

# Atomic writing to regular files, and direct writing to links, pipes, devices and standard output.


def test_link_is_followed_and_kept(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write_text_atomically(tmp_path / "link", "text")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "text"


@pytest.mark.parametrize("mode", [0o600, 0o666])
def test_replaced_file_keeps_its_permissions_whatever_new_files_have(tmp_path, mode):
    (tmp_path / "file").touch()
    (tmp_path / "file").chmod(mode)
    write_text_atomically(tmp_path / "file", "text")
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == mode


def test_pipe_is_written_directly(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    read = []
    reader = threading.Thread(target=lambda: read.append((tmp_path / "pipe").read_text()))
    reader.start()
    write_text_atomically(tmp_path / "pipe", "text" * 100_000)
    reader.join()
    assert read == ["text" * 100_000]
    assert (tmp_path / "pipe").is_fifo()


def test_early_end_of_a_pipe_reader_is_ignored(tmp_path):
    read, write = os.pipe()
    os.close(read)
    target = tmp_path / "pipe"
    target.symlink_to(f"/dev/fd/{write}")
    write_text_atomically(target, "text")
    os.close(write)
    assert target.is_symlink()


def test_full_device_is_an_error():
    with assert_raises("usage.target-not-writable", "/dev/full", os.strerror(errno.ENOSPC)):
        write_text_atomically(Path("/dev/full"), "text")
    assert Path("/dev/full").is_char_device()


@pytest.mark.parametrize("name", ["-", "/dev/stdout"])
def test_standard_output_is_written_directly(name, capfdbinary):
    write_text_atomically(Path(name), "text")
    assert capfdbinary.readouterr().out == b"text"


def test_equal_targets_are_rejected(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with assert_raises("usage.duplicate-target", tmp_path / "real"):
        check_distinct_targets([tmp_path / "link", tmp_path / "real"])


def test_device_as_results_target_is_rejected():
    with assert_raises("usage.results-target-not-regular", "/dev/null"):
        check_results_target(Path("/dev/null"))


def test_directory_as_target_is_rejected(tmp_path):
    with assert_raises("usage.target-is-directory", tmp_path):
        check_target(tmp_path)


def test_failed_write_leaves_no_file(tmp_path, monkeypatch):
    monkeypatch.setattr("pathlib.Path.replace", lambda *_: (_ for _ in ()).throw(OSError(5, "Input/output error")))
    with assert_raises("usage.target-not-writable", tmp_path / "file", "Input/output error"):
        write_text_atomically(tmp_path / "file", "text")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.long
def test_report_to_standard_output_has_no_other_text(command, small_corpus):
    ended = command("run", "-b", "reference", "--data", small_corpus, "--markdown", "-")
    assert ended.out.startswith("## ")
    assert "PASSED" in ended.err


# Deferred signals: an interruption is handled after the block, not inside it.


@pytest.fixture
def interruptible():
    """Install the default SIGINT handler, which a shell disables for background jobs."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_interruption_waits_for_the_block():
    done = []
    with pytest.raises(KeyboardInterrupt):
        run_interrupted_block(done)
    assert done == ["counted", "written"]


@pytest.mark.usefixtures("interruptible")
def test_interruption_is_handled_between_blocks():
    done = []
    with pytest.raises(KeyboardInterrupt), install_signal_deferral():
        run_interrupted_block(done)
        run_interrupted_block(done)
    assert done == ["counted", "written"]


@pytest.mark.usefixtures("interruptible")
def test_interruption_waits_for_the_outermost_block():
    done = []
    with pytest.raises(KeyboardInterrupt):
        with install_signal_deferral(), deferred_signals():
            run_interrupted_block(done)
            done.append("done")
        done.append("never")
    assert done == ["counted", "written", "done"]


@pytest.mark.usefixtures("interruptible")
def test_interruption_outside_blocks_is_immediate():
    done = []
    with pytest.raises(KeyboardInterrupt), install_signal_deferral():
        with deferred_signals():
            done.append("counted")
        os.kill(os.getpid(), signal.SIGINT)
        done.append("never")
    assert done == ["counted"]


@pytest.mark.usefixtures("interruptible")
def test_previous_handler_is_restored():
    with install_signal_deferral(), deferred_signals():
        assert signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def run_interrupted_block(done):
    with deferred_signals():
        done.append("counted")
        os.kill(os.getpid(), signal.SIGINT)
        done.append("written")


# Temporary directories: removed even after SIGKILL, and replaced targets are restored.


KILLED = """
import os, signal, sys
from pathlib import Path
from conformance.base.files.atomic_write import supervised_temp_dir
from conformance.base.processes.helper import REPLACED_NAME

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
