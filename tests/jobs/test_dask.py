"""Jobs on Dask workers, in local clusters."""

from __future__ import annotations

import socket

import pytest
from distributed import LocalCluster
from fake_jobs import DiesOnce, Endless, Faulty, GivenUp, Square, Squares, WithoutSubject
from refusals import assert_raises

from conformance.errors import SuiteFault
from conformance.jobs.dask import DaskWorkers
from conformance.jobs.job import run_job
from conformance.jobs.process_pool import create_workers

SQUARES = {number: Square(number**2) for number in range(20)}


@pytest.fixture(scope="module")
def cluster():
    """Two workers in this process."""
    options = {"processes": False, "dashboard_address": ":0", "silence_logs": "CRITICAL"}
    with LocalCluster(n_workers=2, threads_per_worker=1, protocol="tcp", **options) as made:
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
    options = {"processes": True, "dashboard_address": ":0", "silence_logs": "CRITICAL"}
    with LocalCluster(n_workers=1, threads_per_worker=1, **options) as cluster:
        job = DiesOnce(marker=str(tmp_path / "died"))
        assert results(job, DaskWorkers(cluster.scheduler_address, lambda _: None)) == SQUARES


def test_dask_workers_dying_on_one_chunk_end_job(cluster):
    with assert_raises("job.workers-died", 3):
        results(GivenUp(), DaskWorkers(cluster.scheduler_address, pytest.fail))


def test_dask_workers_lost_scheduler_is_error():
    options = {"processes": False, "dashboard_address": ":0", "silence_logs": "CRITICAL"}
    cluster = LocalCluster(n_workers=1, threads_per_worker=1, protocol="tcp", **options)
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


def test_dask_workers_invalid_address_is_error():
    with assert_raises("job.scheduler-unreachable", "nowhere"):
        results(Squares(), DaskWorkers("nowhere", pytest.fail))


@pytest.mark.parametrize("answer", [b'{"square": 361}', b'{"square": 9}', b'{"square": -1}'])
def test_answer_of_worker_for_another_chunk_is_refused(cluster, monkeypatch, answer):
    monkeypatch.setattr("conformance.jobs.dask.run_chunk", AnswersOnly(answer))
    with assert_raises("job.malformed-result", cluster.scheduler_address):
        results(Squares(), DaskWorkers(cluster.scheduler_address, lambda _: None))


@pytest.mark.parametrize("answer", [b"[]", b'{"square": "x"}', b"{}", Square(1), b'{"square": 1}' + b" " * 200, None])
def test_answer_of_worker_that_is_not_a_result_is_refused(cluster, monkeypatch, answer):
    monkeypatch.setattr("conformance.jobs.dask.run_chunk", AnswersOnly(answer))
    monkeypatch.setattr("conformance.jobs.dask.MAX_RESULT_BYTES", 100)
    with assert_raises("job.malformed-result", cluster.scheduler_address):
        results(Squares(), DaskWorkers(cluster.scheduler_address, lambda _: None))


class AnswersOnly:
    """A task of a hostile worker, which gives one answer for every chunk."""

    __name__ = "answers_only"

    def __init__(self, answer):
        self.answer = answer

    def __call__(self, job, number):
        return self.answer
