"""Campaigns on processes of this machine."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest
from campaign_jobs import AlwaysDies, DiesOnce, Endless, Faulty, Squares, WithoutSubject
from repository import SUPPORT

from conformance.campaigns.campaign import campaign
from conformance.campaigns.choice import workers_of
from conformance.campaigns.processes import ProcessWorkers
from conformance.errors import CampaignError, SubjectError, SuiteFault, UsageError

SQUARES = {number: {"square": number**2} for number in range(20)}


def results(job, workers, state=None):
    pieces = list(campaign(job, workers, state))
    assert len({piece.number for piece in pieces}) == len(pieces)
    return {piece.number: piece.result for piece in pieces}


@pytest.mark.parametrize("count", [1, 3])
def test_every_piece_is_done_once(count):
    assert results(Squares(), workers_of(count, None, pytest.fail)) == SQUARES


def test_a_piece_whose_worker_is_killed_is_done_by_another(tmp_path):
    notices = []
    job = DiesOnce(marker=str(tmp_path / "died"))
    assert results(job, ProcessWorkers(2, notices.append)) == SQUARES
    assert notices == ["A worker died (by SIGKILL) at piece 3, which is done again."]


def test_a_piece_that_kills_every_worker_ends_the_campaign():
    with pytest.raises(CampaignError, match="Piece 3 cannot be done: 3 workers died of it, the last by SIGKILL"):
        results(AlwaysDies(), ProcessWorkers(2, lambda _: None))


@pytest.mark.parametrize("count", [1, 2])
def test_a_job_that_cannot_be_opened_says_why(count):
    with pytest.raises(SubjectError, match="no backend nonsuch"):
        results(WithoutSubject(), ProcessWorkers(count, pytest.fail))


def test_what_a_piece_raises_is_a_fault_of_ours():
    with pytest.raises(SuiteFault, match="ZeroDivisionError"):
        results(Faulty(), ProcessWorkers(2, pytest.fail))


def test_a_campaign_without_end_stops_where_it_is_left():
    pieces = campaign(Endless(), ProcessWorkers(2, pytest.fail))
    first = [next(pieces).number for _ in range(5)]
    pieces.close()
    assert len(set(first)) == 5


def test_workers_end_with_the_process_that_started_them(tmp_path):
    script = (
        f"import sys; sys.path.append({str(SUPPORT)!r})\n"
        "from campaign_jobs import Sleeps\n"
        "from conformance.campaigns.processes import ProcessWorkers\n"
        f"if __name__ == '__main__': list(ProcessWorkers(2, print).done(Sleeps(folder={str(tmp_path)!r}), range(2)))\n"
    )
    program = tmp_path / "parent.py"
    program.write_text(script)
    with subprocess.Popen([sys.executable, str(program)]) as parent:
        wait_until(lambda: sum(file.name.isdigit() for file in tmp_path.iterdir()) == 2)
        parent.kill()
    workers = [int(file.name) for file in tmp_path.iterdir() if file.name.isdigit()]
    wait_until(lambda: not any(map(is_running, workers)))
    assert len(workers) == 2


@pytest.mark.parametrize(("count", "dask", "sentence"), [(0, None, "no work"), (2, "tcp://x", "exclude each other")])
def test_workers_that_cannot_be_are_refused(count, dask, sentence):
    with pytest.raises(UsageError, match=sentence):
        workers_of(count, dask, pytest.fail)


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
    return True
