"""A results file while it is written: one run at a time, and what is counted is what is written."""

from __future__ import annotations

import pytest
from outputs import records

from conformance.errors import UsageError
from conformance.run.partial import PartialResults, partial_of


def test_a_second_run_into_the_same_file_is_refused(tmp_path):
    first = PartialResults(tmp_path / "results.jsonl")
    with pytest.raises(UsageError, match="Another run is writing"):
        PartialResults(tmp_path / "results.jsonl")
    first.abandon()
    PartialResults(tmp_path / "results.jsonl").abandon()
    assert list(tmp_path.iterdir()) == []


def test_a_command_into_the_file_of_another_run_ends_with_2(command, small_corpus, here):
    first = PartialResults(here / "out.jsonl")
    ended = command("run", "-b", "reference", "--data", small_corpus, "--results", "out.jsonl")
    first.abandon()
    assert (ended.status, "Another run is writing out.jsonl" in ended.err) == (2, True)


def test_what_another_run_left_stays_until_a_run_begins(tmp_path):
    left = partial_of(tmp_path / "results.jsonl")
    left.write_text("left")
    PartialResults(tmp_path / "results.jsonl").abandon()
    assert left.read_text() == "left"


def test_the_target_of_a_link_is_written(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "real")
    file = PartialResults(tmp_path / "link")
    file.begin()
    file.write({"record": "header"})
    file.finish()
    assert (tmp_path / "link").is_symlink()
    assert records(tmp_path / "real") == [{"record": "header"}]
