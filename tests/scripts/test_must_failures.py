"""scripts/must_failures.py: failures of level must by subject and check, a column for each results file."""

from __future__ import annotations

import subprocess
import sys

import pytest
from corpora import ADAM, EXACT
from recorded_runs import record
from repository import ROOT

from conformance.backends.reference import ReferenceBackend
from conformance.corpus.corpus import open_corpus
from conformance.deviations import catalogue


def counted(*paths):
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "must_failures.py", *map(str, paths)],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, [line.split() for line in done.stdout.splitlines()], done.stderr


class RaisingBackend:
    """Raises on every model."""

    @classmethod
    def prepare(cls, model, device="CPU"):
        raise RuntimeError("out of order")


@pytest.fixture(scope="module")
def runs(tmp_path_factory, small_corpus):
    """A run before, and one after its subject was mended and another came."""
    directory = tmp_path_factory.mktemp("runs")
    wrong = next(one for one in catalogue()["ArgMax"] if one.id == "argmax.last_of_ties").backend
    corpus = open_corpus(small_corpus)
    record(corpus, directory / "before.jsonl", {"acme": wrong})
    record(corpus, directory / "after.jsonl", {"acme": ReferenceBackend, "raising": RaisingBackend})
    return directory


def test_a_column_for_each_file_says_what_complained_how_often_and_who_was_not_run(runs):
    status, lines, _ = counted(runs / "before.jsonl", runs / "after.jsonl")
    must = next(line[-1] for line in lines if line[:2] == ["raising", "cases"])
    assert status == 0
    assert lines[0] == ["subject", "check", "before.jsonl", "after.jsonl"]
    assert ["acme", "exact", "1", "0"] in lines
    assert ["raising", "error", "at", "load", "-", must] in lines
    assert int(must) >= len({ADAM, EXACT})


def test_what_passes_has_no_row(runs):
    _, lines, _ = counted(runs / "after.jsonl")
    assert {line[0] for line in lines} == {"subject", "raising"}


def test_no_file_and_one_that_is_missing_end_with_2(tmp_path):
    assert counted()[0] == 2
    status, _, complaint = counted(tmp_path / "nothing.jsonl")
    assert status == 2
    assert "nothing.jsonl" in complaint
