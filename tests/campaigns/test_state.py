"""What a campaign keeps on disk."""

from __future__ import annotations

from pathlib import Path

import pytest
from campaign_jobs import Squares

import conformance.campaigns.state as module
from conformance.campaigns.campaign import campaign
from conformance.campaigns.job import Piece
from conformance.campaigns.processes import ProcessWorkers
from conformance.campaigns.state import State
from conformance.errors import CampaignError

WORKERS = ProcessWorkers(1, pytest.fail)


class CountingSquares(Squares):
    """Counts the pieces that are done."""

    done = 0

    def piece(self, number):
        type(self).done += 1
        return super().piece(number)


def test_a_campaign_goes_on_where_it_was_stopped(tmp_path):
    CountingSquares.done = 0
    job, file = CountingSquares(), tmp_path / "state.jsonl"
    with State(file, job) as state:
        stopped = campaign(job, WORKERS, state)
        first = [next(stopped) for _ in range(7)]
        stopped.close()
    with State(file, job) as state:
        pieces = list(campaign(job, WORKERS, state))
    assert pieces[:7] == first
    assert sorted(piece.number for piece in pieces) == list(range(20))
    assert CountingSquares.done == 20


def test_a_piece_of_which_the_end_is_missing_was_not_done(tmp_path):
    file = tmp_path / "state.jsonl"
    with State(file, Squares()) as state:
        state.keep(Piece(0, {"square": 0}))
        state.keep(Piece(1, {"square": 1}))
    file.write_bytes(file.read_bytes()[:-5])
    with State(file, Squares()) as state:
        assert state.pieces == (Piece(0, {"square": 0}),)
        state.keep(Piece(1, {"square": 1}))
    with State(file, Squares()) as state:
        assert len(state.pieces) == 2


def test_a_piece_that_is_there_twice_counts_once(tmp_path):
    file = tmp_path / "state.jsonl"
    with State(file, Squares()) as state:
        state.keep(Piece(1, {"square": 1}))
        state.keep(Piece(1, {"square": 1}))
    with State(file, Squares()) as state:
        assert state.pieces == (Piece(1, {"square": 1}),)


def test_two_campaigns_do_not_share_a_state(tmp_path):
    with State(tmp_path / "state", Squares()), pytest.raises(CampaignError, match="in use by another campaign"):
        State(tmp_path / "state", Squares())


def test_the_state_of_another_job_is_refused(tmp_path):
    with State(tmp_path / "state", Squares(20)):
        pass
    with pytest.raises(CampaignError, match="there, count is 20, here 21"):
        State(tmp_path / "state", Squares(21))


def test_the_state_of_another_version_is_refused(tmp_path, monkeypatch):
    with State(tmp_path / "state", Squares()):
        pass
    monkeypatch.setattr(module, "suite_version", lambda: "99.0")
    with pytest.raises(CampaignError, match=r"and this is 99\.0"):
        State(tmp_path / "state", Squares())


@pytest.mark.parametrize(
    "content",
    [b"hello", b"hello\n", b"{}\n", b"\xff\n", b'{"record": "campaign", "format": 1}\n', b"[" * 10000 + b"\n"],
)
def test_what_is_no_state_is_refused_and_left_as_it_is(tmp_path, content):
    file = tmp_path / "state"
    file.write_bytes(content)
    with pytest.raises(CampaignError, match="is not the state of a campaign: line 1"):
        State(file, Squares())
    assert file.read_bytes() == content


@pytest.mark.parametrize(
    "line", [b'{"record": "piece", "number": -1, "result": {"square": 1}}', b'{"number": 1}', b"1"]
)
def test_a_line_that_is_no_piece_is_refused(tmp_path, line):
    file = tmp_path / "state"
    with State(file, Squares()):
        pass
    file.write_bytes(file.read_bytes() + line + b"\n")
    with pytest.raises(CampaignError, match="line 2"):
        State(file, Squares())


def test_a_folder_is_no_state(tmp_path):
    with pytest.raises(CampaignError, match="cannot be read and written"):
        State(tmp_path, Squares())


def test_a_foreign_file_whose_last_line_has_no_end_is_left_as_it_is(tmp_path):
    file = tmp_path / "notes.txt"
    file.write_bytes(b"first line\nlast line")
    with pytest.raises(CampaignError, match="not the state of a campaign"):
        State(file, Squares())
    assert file.read_bytes() == b"first line\nlast line"


@pytest.mark.parametrize("name", ["/dev/zero", "/dev/full"])
def test_an_endless_device_is_no_state(name):
    with pytest.raises(CampaignError, match="no regular file"):
        State(Path(name), Squares())
