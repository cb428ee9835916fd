"""Jobs: their state, and workers in processes and on Dask."""

from __future__ import annotations

import socket
import sys
import threading
from pathlib import Path

import pytest
from dask_clusters import make_cluster
from fake_jobs import DiesOnce, Endless, Faulty, GivenUp, Square, Squares, WithoutSubject
from refusals import assert_raises

import conformance.base.jobs.job as module
from conformance.base.errors import SuiteFault
from conformance.base.jobs.dask import DaskWorkers
from conformance.base.jobs.job import ChunkResult, JobState, run_job
from conformance.base.jobs.process_pool import ProcessWorkers, create_workers

# Jobs on Dask workers, in local clusters.


SQUARES = {number: Square(number**2) for number in range(20)}


@pytest.fixture(scope="module")
def cluster():
    """Two workers in this process."""
    with make_cluster(2) as made:
        yield made


def results(job, workers):
    chunks = list(run_job(job, workers))
    assert len({chunk.number for chunk in chunks}) == len(chunks)
    return {chunk.number: chunk.result for chunk in chunks}


def test_dask_workers_do_every_chunk_once(cluster):
    assert results(Squares(), create_workers(None, cluster.scheduler_address, pytest.fail)) == SQUARES


def test_dask_workers_stop_when_iterator_closes(cluster):
    chunks = run_job(Endless(), DaskWorkers(cluster.scheduler_address, pytest.fail))
    first = [next(chunks).number for _ in range(5)]
    chunks.close()
    assert len(set(first)) == 5


def test_dask_workers_of_other_version_are_refused(cluster):
    notices = []
    workers = DaskWorkers(cluster.scheduler_address, notices.append, version="99.0")
    with assert_raises("job.no-usable-worker", "99.0"):
        results(Squares(), workers)
    assert len(notices) == 2


def test_dask_workers_without_subject_are_refused(cluster):
    with assert_raises("job.no-usable-worker", "nonsuch"):
        results(WithoutSubject(), DaskWorkers(cluster.scheduler_address, lambda _: None))


def test_dask_workers_unexpected_exception_is_suite_fault(cluster):
    with pytest.raises(SuiteFault, match="ZeroDivisionError"):
        results(Faulty(), DaskWorkers(cluster.scheduler_address, pytest.fail))


def test_dask_workers_repeat_chunk_of_killed_worker(tmp_path):
    with make_cluster(1, processes=True) as cluster:
        job = DiesOnce(marker=str(tmp_path / "died"))
        assert results(job, DaskWorkers(cluster.scheduler_address, lambda _: None)) == SQUARES


def test_dask_workers_dying_on_one_chunk_end_job(cluster):
    with assert_raises("job.workers-died", 3):
        results(GivenUp(), DaskWorkers(cluster.scheduler_address, pytest.fail))


def test_dask_without_keys_of_tls_is_error():
    with assert_raises("job.scheduler-transport", "tls://127.0.0.1:9"):
        results(Squares(), DaskWorkers("tls://127.0.0.1:9", pytest.fail))


def test_dask_workers_lost_scheduler_is_error():
    cluster = make_cluster(1)
    chunks = run_job(Endless(), DaskWorkers(cluster.scheduler_address, lambda _: None))
    next(chunks)
    cluster.close()
    with assert_raises("job.scheduler-lost", cluster.scheduler_address):
        list(chunks)


def test_dask_workers_unreachable_scheduler_is_error():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{unused.getsockname()[1]}"
    with assert_raises("job.scheduler-unreachable", address):
        results(Squares(), DaskWorkers(address, pytest.fail, connecting=0.2))


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 200 OK\r\n\r\n", b"\xff" * 100], ids=["silence", "HTTP", "noise"])
def test_dask_workers_another_program_at_the_address_is_error(answer):
    def serve() -> None:
        with server.accept()[0] as connection:
            connection.sendall(answer)
            is_over.wait()

    is_over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=serve, daemon=True).start()
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        with assert_raises("job.scheduler-unreachable", address):
            results(Squares(), DaskWorkers(address, pytest.fail, connecting=0.2))
        is_over.set()


def test_dask_workers_without_dask_is_error(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with assert_raises("usage.dask-missing"):
        results(Squares(), DaskWorkers("tcp://127.0.0.1:9", pytest.fail))


def test_dask_workers_invalid_address_is_error():
    with assert_raises("job.scheduler-unreachable", "nowhere"):
        results(Squares(), DaskWorkers("nowhere", pytest.fail))


WRONG_CHUNKS = (b'{"square": 361}', b'{"square": 9}', b'{"square": -1}')
NO_RESULTS = (b"[]", b'{"square": "x"}', b"{}", Square(1), b'{"square": 1}' + b" " * 200, None)


@pytest.mark.parametrize("answer", [*WRONG_CHUNKS, *NO_RESULTS])
def test_answer_of_worker_that_is_not_the_result_of_the_chunk_is_refused(cluster, monkeypatch, answer):
    monkeypatch.setattr("conformance.base.jobs.dask.run_chunk", AnswersOnly(answer))
    monkeypatch.setattr("conformance.base.jobs.dask.MAX_RESULT_BYTES", 100)
    with assert_raises("job.malformed-result", cluster.scheduler_address):
        results(Squares(), DaskWorkers(cluster.scheduler_address, lambda _: None))


class AnswersOnly:
    """A task of a hostile worker, which gives one answer for every chunk."""

    __name__ = "answers_only"

    def __init__(self, answer):
        self.answer = answer

    def __call__(self, job, number):
        return self.answer


# State files of jobs.


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
    [b"hello\nlast line", b"hello\n", b"{}\n", b"\xff\n", b'{"record": "job", "format": 1}\n', b"[" * 10000 + b"\n"],
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
