"""Jobs on processes of this machine."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from fake_jobs import AlwaysDies, DiesOnce, Endless, Faulty, Square, Squares, WithoutSubject
from refusals import assert_raises
from repository import SUPPORT

from conformance.base.errors import SuiteFault
from conformance.base.jobs.job import run_job
from conformance.base.jobs.process_pool import CHUNK_ATTEMPTS, ProcessWorkers, create_workers

SQUARES = {number: Square(number**2) for number in range(20)}


def results(job, workers, state=None):
    chunks = list(run_job(job, workers, state))
    assert len({chunk.number for chunk in chunks}) == len(chunks)
    return {chunk.number: chunk.result for chunk in chunks}


@pytest.mark.parametrize("count", [1, 3])
def test_process_workers_do_every_chunk_once(count):
    assert results(Squares(), create_workers(count, None, pytest.fail)) == SQUARES


def test_process_workers_repeat_chunk_of_killed_worker(tmp_path):
    notices = []
    job = DiesOnce(marker=str(tmp_path / "died"))
    assert results(job, ProcessWorkers(2, notices.append)) == SQUARES
    (notice,) = notices
    assert ("SIGKILL" in notice, "chunk 3" in notice) == (True, True)


def test_process_workers_dying_on_one_chunk_end_job():
    with assert_raises("job.workers-died", "chunk 3", CHUNK_ATTEMPTS, "SIGKILL"):
        results(AlwaysDies(), ProcessWorkers(2, lambda _: None))


@pytest.mark.parametrize("count", [1, 2])
def test_process_workers_job_that_cannot_open_raises_its_error(count):
    with assert_raises("subject.import-failed", "nonsuch"):
        results(WithoutSubject(), ProcessWorkers(count, pytest.fail))


def test_process_workers_unexpected_exception_is_suite_fault():
    with pytest.raises(SuiteFault, match="ZeroDivisionError"):
        results(Faulty(), ProcessWorkers(2, pytest.fail))


def test_process_workers_stop_when_iterator_closes():
    chunks = run_job(Endless(), ProcessWorkers(2, pytest.fail))
    first = [next(chunks).number for _ in range(5)]
    chunks.close()
    assert len(set(first)) == 5


def test_process_workers_end_with_parent_process(tmp_path):
    script = (
        f"import sys; sys.path.append({str(SUPPORT)!r})\n"
        "from fake_jobs import Sleeps\n"
        "from conformance.base.jobs.process_pool import ProcessWorkers\n"
        f"if __name__ == '__main__': list(ProcessWorkers(2, print).run(Sleeps(folder={str(tmp_path)!r}), range(2)))\n"
    )
    program = tmp_path / "parent.py"
    program.write_text(script)
    with subprocess.Popen([sys.executable, str(program)]) as parent:
        wait_until(lambda: sum(file.name.isdigit() for file in tmp_path.iterdir()) == 2)
        parent.kill()
    workers = [int(file.name) for file in tmp_path.iterdir() if file.name.isdigit()]
    wait_until(lambda: not any(map(is_running, workers)))
    assert len(workers) == 2


@pytest.mark.parametrize(
    ("count", "dask", "code"), [(0, None, "usage.invalid-worker-count"), (2, "tcp://x", "usage.workers-and-dask")]
)
def test_create_workers_invalid_options_are_refused(count, dask, code):
    with assert_raises(code, "-n"):
        create_workers(count, dask, pytest.fail)


def wait_until(holds, patience=60.0):
    end = time.monotonic() + patience
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def is_running(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{process}/stat")
    # A process that adopts orphans, as a run does, keeps the entry of an ended process until it is asked for.
    return not state.exists() or state.read_text().rpartition(")")[2].split()[0] != "Z"
