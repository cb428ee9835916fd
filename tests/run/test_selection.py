"""Shards: every case is in one, and a run of one says so."""

from __future__ import annotations

from collections import Counter

import pytest
from corpora import SMALL
from outputs import expecting, results_of

from conformance.errors import UsageError
from conformance.results.file import read
from conformance.run.selection import Shard

RIGHT = "fake_backends:AlwaysRight"


class TestShards:
    @pytest.mark.parametrize("of", [1, 2, 3, 7, 8])
    def test_every_case_is_in_exactly_one_and_they_are_balanced(self, whole_corpus, of):
        cases = whole_corpus.cases
        parts = [Shard(number, of).of_cases(cases) for number in range(1, of + 1)]
        assert Counter(case for part in parts for case in part) == Counter(list(cases))
        assert max(map(len, parts)) - min(map(len, parts)) <= 1

    @pytest.mark.parametrize("text", ["", "0/2", "3/2", "1", "1/0", "a/b", "1/2/3", "-1/2", "1/99999"])
    def test_what_is_none_is_refused(self, text):
        with pytest.raises(UsageError, match="is not a shard"):
            Shard.read(text)

    def test_a_run_of_one_says_so(self, moody_run, here):
        assert moody_run("-b", RIGHT, "--shard", "2/3", "--results", "out.jsonl").status == 0
        header = read(here / "out.jsonl").header
        assert header["selection"]["--shard"] == "2/3"
        assert {case for _, case in results_of(here / "out.jsonl")} == set(sorted(SMALL)[1::3])

    def test_several_processes_run_the_same(self, process, small_corpus, here):
        told = ("--data", small_corpus, "--shard", "2/3", "--results", "out.jsonl", "-n", "2")
        assert process("onnx-conformance", "run", "-b", RIGHT, *told).status == 0
        assert {case for _, case in results_of(here / "out.jsonl")} == set(sorted(SMALL)[1::3])

    def test_a_pattern_that_matches_nothing_in_it_shuts_nothing(self, moody_run, here):
        (here / "e.toml").write_text(expecting(RIGHT, "test_gone"))
        assert moody_run("-b", RIGHT, "--expect", "e.toml", "--shard", "1/2").status == 0
