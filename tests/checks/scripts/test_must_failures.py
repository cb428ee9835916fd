"""checks/measurements/must_failures.py: failures of level must by subject and check."""

from __future__ import annotations

import pytest
from corpora import ADAM, EXACT
from recorded_runs import record_run
from script_modules import run_script

from conformance.corpus.cases.corpus import open_corpus
from conformance.run.mutants import catalogue
from conformance.subjects.adapters.reference import ReferenceBackend


def count_failures(*paths):
    status, out, err = run_script("must_failures", *paths)
    return status, [line.split() for line in out.splitlines()], err


class RaisingBackend:
    """Raises on every model."""

    @classmethod
    def prepare(cls, model, device="CPU"):
        raise RuntimeError("out of order")


@pytest.fixture(scope="module")
def runs(tmp_path_factory, small_corpus):
    """Record a run before and after: the subject is fixed, and another subject is added."""
    directory = tmp_path_factory.mktemp("runs")
    wrong = next(one for one in catalogue()["ArgMax"] if one.id == "argmax.last_of_ties").backend
    corpus = open_corpus(small_corpus)
    record_run(corpus, directory / "before.jsonl", {"acme": wrong})
    record_run(corpus, directory / "after.jsonl", {"acme": ReferenceBackend, "raising": RaisingBackend})
    return directory


def test_table_has_a_column_for_each_file_and_dashes_for_missing_subjects(runs):
    status, lines, _ = count_failures(runs / "before.jsonl", runs / "after.jsonl")
    must = next(line[-1] for line in lines if line[:2] == ["raising", "cases"])
    assert status == 0
    assert lines[0] == ["subject", "check", "before.jsonl", "after.jsonl"]
    assert ["acme", "exact", "1", "0"] in lines
    assert ["raising", "error", "at", "load", "-", must] in lines
    assert int(must) >= len({ADAM, EXACT})


def test_table_passing_subject_has_no_row(runs):
    _, lines, _ = count_failures(runs / "after.jsonl")
    assert {line[0] for line in lines} == {"subject", "raising"}


def test_must_failures_without_readable_file_exits_with_2(tmp_path):
    assert count_failures()[0] == 2
    status, _, violation = count_failures(tmp_path / "nothing.jsonl")
    assert status == 2
    assert "nothing.jsonl" in violation
