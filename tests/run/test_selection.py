"""Shards of a run."""

from __future__ import annotations

from collections import Counter

import pytest
from command_outputs import expectations_text, results_by_key
from corpora import SMALL
from refusals import assert_raises

from conformance.results.file import read_results
from conformance.run.selection import Shard

RIGHT = "fake_subject:always_right"


class TestShards:
    @pytest.mark.parametrize("of", [1, 2, 3, 7, 8])
    def test_shards_partition_cases_equally(self, whole_corpus, of):
        cases = whole_corpus.cases
        parts = [Shard(number, of).select(cases) for number in range(1, of + 1)]
        assert Counter(case for part in parts for case in part) == Counter(list(cases))
        assert max(map(len, parts)) - min(map(len, parts)) <= 1

    @pytest.mark.parametrize("text", ["", "0/2", "3/2", "1", "1/0", "a/b", "1/2/3", "-1/2", "1/99999"])
    def test_malformed_shard_is_rejected(self, text):
        with assert_raises("usage.malformed-shard", text):
            Shard.parse(text)

    def test_header_has_the_shard(self, run_with_faults, here):
        assert run_with_faults("-b", RIGHT, "--shard", "2/3", "--results", "out.jsonl").status == 0
        header = read_results(here / "out.jsonl").header
        assert header.selection["--shard"] == "2/3"
        assert {case for _, case in results_by_key(here / "out.jsonl")} == set(sorted(SMALL)[1::3])

    def test_parallel_run_has_the_same_cases(self, process, small_corpus, here):
        told = ("--data", small_corpus, "--shard", "2/3", "--results", "out.jsonl", "-n", "2")
        assert process("onnx-conformance", "run", "-b", RIGHT, *told).status == 0
        assert {case for _, case in results_by_key(here / "out.jsonl")} == set(sorted(SMALL)[1::3])

    def test_shard_tolerates_patterns_without_match(self, run_with_faults, here):
        (here / "e.toml").write_text(expectations_text(RIGHT, "test_gone"))
        assert run_with_faults("-b", RIGHT, "--expect", "e.toml", "--shard", "1/2").status == 0
