"""Where files are written: whole or not at all, and never in the place of what is no regular file."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest

from conformance.errors import UsageError
from conformance.files.regular import check_apart, check_results_target, check_target, write_whole


def test_a_link_is_followed_and_stays(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write_whole(tmp_path / "link", "text")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "text"


def test_a_file_keeps_its_permissions(tmp_path):
    (tmp_path / "file").touch(0o600)
    write_whole(tmp_path / "file", "text")
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o600


def test_a_pipe_is_written_into_and_stays_one(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    read = []
    reader = threading.Thread(target=lambda: read.append((tmp_path / "pipe").read_text()))
    reader.start()
    write_whole(tmp_path / "pipe", "text" * 100_000)
    reader.join()
    assert read == ["text" * 100_000]
    assert (tmp_path / "pipe").is_fifo()


def test_a_reader_of_a_pipe_may_stop_early(tmp_path):
    read, write = os.pipe()
    os.close(read)
    target = tmp_path / "pipe"
    target.symlink_to(f"/dev/fd/{write}")
    write_whole(target, "text")
    os.close(write)
    assert target.is_symlink()


def test_a_full_device_is_told_by_its_name_and_stays_one():
    with pytest.raises(UsageError, match="/dev/full cannot be written: No space left"):
        write_whole(Path("/dev/full"), "text")
    assert Path("/dev/full").is_char_device()


@pytest.mark.parametrize("name", ["-", "/dev/stdout"])
def test_standard_output_is_written_as_it_is(name, capfdbinary):
    write_whole(Path(name), "text")
    assert capfdbinary.readouterr().out == b"text"


def test_two_outputs_into_one_file_are_refused(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with pytest.raises(UsageError, match="Two outputs go to"):
        check_apart([tmp_path / "link", tmp_path / "real"])


def test_results_are_refused_where_there_is_no_regular_file():
    with pytest.raises(UsageError, match="is no regular file"):
        check_results_target(Path("/dev/null"))


def test_a_directory_is_refused(tmp_path):
    with pytest.raises(UsageError, match="is a directory"):
        check_target(tmp_path)


def test_nothing_is_left_where_writing_fails(tmp_path, monkeypatch):
    monkeypatch.setattr("pathlib.Path.replace", lambda *_: (_ for _ in ()).throw(OSError(5, "Input/output error")))
    with pytest.raises(UsageError, match="cannot be written: Input/output error"):
        write_whole(tmp_path / "file", "text")
    assert list(tmp_path.iterdir()) == []


def test_a_report_to_standard_output_stands_there_alone(command, small_corpus):
    ended = command("run", "-b", "reference", "--data", small_corpus, "--markdown", "-")
    assert ended.out.startswith("## ")
    assert "The gate holds." in ended.err
