"""Campaigns on workers of Dask's, with its own local clusters."""

from __future__ import annotations

import socket

import pytest
from campaign_jobs import DiesOnce, Endless, Faulty, GivenUp, Squares, WithoutSubject
from distributed import LocalCluster

from conformance.campaigns.campaign import campaign
from conformance.campaigns.choice import workers_of
from conformance.campaigns.dask import DaskWorkers
from conformance.errors import CampaignError, SuiteFault

SQUARES = {number: {"square": number**2} for number in range(20)}


@pytest.fixture(scope="module")
def cluster():
    """Two workers in this process."""
    options = {"processes": False, "dashboard_address": ":0", "silence_logs": "CRITICAL"}
    with LocalCluster(n_workers=2, threads_per_worker=1, protocol="tcp", **options) as made:
        yield made


def results(job, workers):
    pieces = list(campaign(job, workers))
    assert len({piece.number for piece in pieces}) == len(pieces)
    return {piece.number: piece.result for piece in pieces}


def test_every_piece_is_done_once(cluster):
    assert results(Squares(), workers_of(None, cluster.scheduler_address, pytest.fail)) == SQUARES


def test_a_campaign_without_end_stops_where_it_is_left(cluster):
    pieces = campaign(Endless(), DaskWorkers(cluster.scheduler_address, pytest.fail))
    first = [next(pieces).number for _ in range(5)]
    pieces.close()
    assert len(set(first)) == 5


def test_workers_of_another_version_get_no_piece(cluster):
    notices = []
    workers = DaskWorkers(cluster.scheduler_address, notices.append, version="99.0")
    with pytest.raises(CampaignError, match=r"it has onnx-conformance .*, and this is 99\.0"):
        results(Squares(), workers)
    assert len(notices) == 2


def test_workers_without_the_subject_get_no_piece(cluster):
    with pytest.raises(CampaignError, match="There is no backend nonsuch"):
        results(WithoutSubject(), DaskWorkers(cluster.scheduler_address, lambda _: None))


def test_what_a_piece_raises_is_a_fault_of_ours(cluster):
    with pytest.raises(SuiteFault, match="ZeroDivisionError"):
        results(Faulty(), DaskWorkers(cluster.scheduler_address, pytest.fail))


def test_a_piece_whose_worker_is_killed_is_done_by_another(tmp_path):
    options = {"processes": True, "dashboard_address": ":0", "silence_logs": "CRITICAL"}
    with LocalCluster(n_workers=1, threads_per_worker=1, **options) as cluster:
        job = DiesOnce(marker=str(tmp_path / "died"))
        assert results(job, DaskWorkers(cluster.scheduler_address, lambda _: None)) == SQUARES


def test_a_piece_that_the_scheduler_gives_up_ends_the_campaign(cluster):
    with pytest.raises(CampaignError, match="Piece 3 cannot be done: several workers died of it"):
        results(GivenUp(), DaskWorkers(cluster.scheduler_address, pytest.fail))


def test_a_scheduler_that_goes_away_is_told():
    options = {"processes": False, "dashboard_address": ":0", "silence_logs": "CRITICAL"}
    cluster = LocalCluster(n_workers=1, threads_per_worker=1, protocol="tcp", **options)
    pieces = campaign(Endless(), DaskWorkers(cluster.scheduler_address, lambda _: None))
    next(pieces)
    cluster.close()
    with pytest.raises(CampaignError, match="went away"):
        list(pieces)


def test_a_scheduler_that_is_not_there_is_told():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{unused.getsockname()[1]}"
    with pytest.raises(CampaignError, match="No Dask scheduler answers"):
        results(Squares(), DaskWorkers(address, pytest.fail, connecting=0.2))


def test_what_is_no_address_is_told():
    with pytest.raises(CampaignError, match="No Dask scheduler answers at nowhere"):
        results(Squares(), DaskWorkers("nowhere", pytest.fail))
