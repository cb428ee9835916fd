"""State files of jobs."""

from __future__ import annotations

from pathlib import Path

import pytest
from fake_jobs import Square, Squares
from refusals import assert_raises

import conformance.jobs.job as module
from conformance.jobs.job import ChunkResult, JobState, run_job
from conformance.jobs.process_pool import ProcessWorkers

WORKERS = ProcessWorkers(1, pytest.fail)


class CountingSquares(Squares):
    """Counts the chunks that it does."""

    done = 0

    def run_chunk(self, number):
        type(self).done += 1
        return super().run_chunk(number)


def test_job_state_stopped_job_continues(tmp_path):
    CountingSquares.done = 0
    job, file = CountingSquares(), tmp_path / "state.jsonl"
    with JobState(file, job) as state:
        stopped = run_job(job, WORKERS, state)
        first = [next(stopped) for _ in range(7)]
        stopped.close()
    with JobState(file, job) as state:
        chunks = list(run_job(job, WORKERS, state))
    assert chunks[:7] == first
    assert sorted(chunk.number for chunk in chunks) == list(range(20))
    assert CountingSquares.done == 20


def test_job_state_incomplete_last_line_is_removed(tmp_path):
    file = tmp_path / "state.jsonl"
    with JobState(file, Squares()) as state:
        state.add(ChunkResult(0, Square(0)))
        state.add(ChunkResult(1, Square(1)))
    file.write_bytes(file.read_bytes()[:-5])
    with JobState(file, Squares()) as state:
        assert list(state.chunks()) == [ChunkResult(0, Square(0))]
        state.add(ChunkResult(1, Square(1)))
    with JobState(file, Squares()) as state:
        assert len(list(state.chunks())) == 2


def test_job_state_repeated_chunk_counts_once(tmp_path):
    file = tmp_path / "state.jsonl"
    with JobState(file, Squares()) as state:
        state.add(ChunkResult(1, Square(1)))
        state.add(ChunkResult(1, Square(1)))
    with JobState(file, Squares()) as state:
        assert list(state.chunks()) == [ChunkResult(1, Square(1))]


def test_job_state_in_use_is_refused(tmp_path):
    with JobState(tmp_path / "state", Squares()), assert_raises("job.state-in-use", tmp_path / "state"):
        JobState(tmp_path / "state", Squares())


def test_job_state_of_other_job_is_refused(tmp_path):
    with JobState(tmp_path / "state", Squares(20)):
        pass
    with assert_raises("job.other-job", "count", 20, 21):
        JobState(tmp_path / "state", Squares(21))


def test_job_state_of_other_version_is_refused(tmp_path, monkeypatch):
    with JobState(tmp_path / "state", Squares()):
        pass
    monkeypatch.setattr(module, "suite_version", lambda: "99.0")
    with assert_raises("job.other-version", "99.0"):
        JobState(tmp_path / "state", Squares())


@pytest.mark.parametrize(
    "content",
    [b"hello", b"hello\n", b"{}\n", b"\xff\n", b'{"record": "job", "format": 1}\n', b"[" * 10000 + b"\n"],
)
def test_job_state_other_file_is_refused_and_unchanged(tmp_path, content):
    file = tmp_path / "state"
    file.write_bytes(content)
    with assert_raises("job.malformed-state", file, "line 1"):
        JobState(file, Squares())
    assert file.read_bytes() == content


@pytest.mark.parametrize(
    "line", [b'{"record": "chunk", "number": -1, "result": {"square": 1}}', b'{"number": 1}', b"1"]
)
def test_job_state_malformed_chunk_is_refused(tmp_path, line):
    file = tmp_path / "state"
    with JobState(file, Squares()):
        pass
    file.write_bytes(file.read_bytes() + line + b"\n")
    with assert_raises("job.malformed-state", file, "line 2"):
        JobState(file, Squares())


def test_job_state_folder_is_refused(tmp_path):
    with assert_raises("job.state-not-a-file", tmp_path):
        JobState(tmp_path, Squares())


def test_job_state_other_file_without_final_newline_is_unchanged(tmp_path):
    file = tmp_path / "notes.txt"
    file.write_bytes(b"first line\nlast line")
    with assert_raises("job.malformed-state", file):
        JobState(file, Squares())
    assert file.read_bytes() == b"first line\nlast line"


@pytest.mark.parametrize("name", ["/dev/zero", "/dev/full"])
def test_job_state_device_is_refused(name):
    with assert_raises("job.state-not-a-file", name):
        JobState(Path(name), Squares())


@pytest.mark.parametrize("chunk", [ChunkResult(20, Square(400)), ChunkResult(3, Square(16))])
def test_job_state_with_result_of_no_chunk_is_refused(tmp_path, chunk):
    file = tmp_path / "state.jsonl"
    with JobState(file, Squares()) as state:
        state.add(chunk)
    content = file.read_bytes()
    with assert_raises("job.malformed-state", file, "line 2"), JobState(file, Squares()):
        pass
    assert file.read_bytes() == content
