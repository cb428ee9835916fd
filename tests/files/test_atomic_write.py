"""Atomic writing to regular files, and direct writing to links, pipes, devices and standard output."""

from __future__ import annotations

import errno
import os
import stat
import threading
from pathlib import Path

import pytest
from refusals import assert_raises

from conformance.files.atomic_write import (
    check_distinct_targets,
    check_results_target,
    check_target,
    write_text_atomically,
)


def test_link_is_followed_and_kept(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write_text_atomically(tmp_path / "link", "text")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "text"


def test_replaced_file_keeps_its_permissions(tmp_path):
    (tmp_path / "file").touch(0o600)
    write_text_atomically(tmp_path / "file", "text")
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o600


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


def test_report_to_standard_output_has_no_other_text(command, small_corpus):
    ended = command("run", "-b", "reference", "--data", small_corpus, "--markdown", "-")
    assert ended.out.startswith("## ")
    assert "PASSED" in ended.err
