"""Partial results files."""

from __future__ import annotations

import errno
import os

import pytest
from command_outputs import read_records
from refusals import assert_raises

from conformance.run.resume import PartialResults, partial_path


def test_second_run_into_a_file_is_rejected(tmp_path):
    first = PartialResults(tmp_path / "results.jsonl")
    with assert_raises("usage.results-locked", "results.jsonl"):
        PartialResults(tmp_path / "results.jsonl")
    first.abandon()
    PartialResults(tmp_path / "results.jsonl").abandon()
    assert list(tmp_path.iterdir()) == []


def test_command_into_a_locked_file_is_rejected(command, small_corpus, here):
    first = PartialResults(here / "out.jsonl")
    ended = command("run", "-b", "reference", "--data", small_corpus, "--results", "out.jsonl")
    first.abandon()
    assert (ended.status, ended.code) == (2, "usage.results-locked")


def test_earlier_records_stay_until_a_run_begins(tmp_path):
    left = partial_path(tmp_path / "results.jsonl")
    left.write_text("left")
    PartialResults(tmp_path / "results.jsonl").abandon()
    assert left.read_text() == "left"


def test_target_of_a_link_is_written(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "real")
    file = PartialResults(tmp_path / "link")
    file.begin()
    file.write(b'{"record":"header"}\n')
    file.finish()
    assert (tmp_path / "link").is_symlink()
    assert read_records(tmp_path / "real") == [{"record": "header"}]


def test_full_temporary_folder_ends_the_run_and_keeps_results(command, small_corpus, here, monkeypatch):
    """A full disk is no verdict about the backend, and the run can be resumed."""
    run = ("run", "-b", "reference", "--data", small_corpus)
    open_file, written = os.open, []

    def fill_disk(path, *arguments, **options):
        is_ours = "/onnx-conformance-" in str(path) and "/models/" in str(path)
        if is_ours and len(written) > 3:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written.extend([path] * is_ours)
        return open_file(path, *arguments, **options)

    with monkeypatch.context() as full:
        full.setattr(os, "open", fill_disk)
        ended = command(*run, "--results", "out.jsonl", isolate=True)
    assert (ended.status, ended.code) == (2, "storage.temporary-file")
    before = len(read_records(partial_path(here / "out.jsonl")))
    assert before > 1
    assert command(*run, "--results", "out.jsonl", "--resume", "out.jsonl.partial", isolate=True).status == 0


@pytest.mark.parametrize(("records", "is_kept"), [(1, False), (3, True)])
def test_records_before_a_full_disk_are_kept_for_resuming(tmp_path, monkeypatch, records, is_kept):
    def fail(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    file = PartialResults(tmp_path / "results.jsonl")
    file.begin()
    for _ in range(records):
        file.write(b"{}\n")
    monkeypatch.setattr("conformance.run.resume.os.write", fail)
    with assert_raises("usage.cannot-write", "results.jsonl"):
        file.write(b"{}\n")
    monkeypatch.undo()
    file.abandon()
    assert partial_path(tmp_path / "results.jsonl").exists() == is_kept
