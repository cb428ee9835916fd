"""What a CI uses of `run` and `report`: the gate's settings, formats and shards."""

from __future__ import annotations

import json
import re
from collections import Counter

import pytest
from support import ADAM, EXACT, SMALL, expecting, records, results_of

from conformance.errors import UsageError
from conformance.results.file import read
from conformance.run.selection import Shard

RIGHT, WRONG = "fake_backends:AlwaysRight", "fake_backends:AlwaysWrong"
MOODY, VARIES = "moody_backends:DoesAsTold", "moody_backends:VariesOnArgMax"


class TestTheGate:
    def test_a_required_operator_may_not_be_unsupported(self, moody_run):
        assert moody_run("-b", MOODY, "--require", "ArgMax", mood="unsupported:Adam").status == 0
        ended = moody_run("-b", MOODY, "--require", "Adam", mood="unsupported:Adam")
        assert ended.status == 1
        assert f"{ADAM} is unsupported on {MOODY} though the operator is required" in ended.out
        assert "required: Adam" in ended.out

    def test_an_unknown_required_operator_is_refused_with_those_there_are(self, moody_run):
        ended = moody_run("-b", RIGHT, "--require", "Adma")
        assert ended.status == 2
        assert "no case of an operator Adma" in ended.err
        assert "Adagrad, Adam, ArgMax, Momentum, Softmax" in ended.err

    def test_with_a_baseline_only_regressions_fail(self, moody_run):
        moody_run("-b", MOODY, "--results", "old.jsonl", mood="fail:Adam")
        assert moody_run("-b", MOODY, mood="fail:Adam").status == 1
        assert moody_run("-b", MOODY, "--baseline", "old.jsonl", mood="fail:Adam").status == 0
        ended = moody_run("-b", MOODY, "--baseline", "old.jsonl", mood="fail:Adam fail:Adagrad")
        assert ended.status == 1
        assert re.search(rf"test_adagrad_\S+ fails on {MOODY}, in the baseline pass", ended.out)

    def test_a_baseline_of_another_corpus_is_taken_with_a_note(self, moody_run, here):
        moody_run("-b", MOODY, "--results", "old.jsonl", mood="fail:Adam")
        lines = records(here / "old.jsonl")
        lines[0]["corpus"] |= {"version": "0.9.0", "digest": "0" * 64}
        (here / "old.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        ended = moody_run("-b", MOODY, "--baseline", "old.jsonl", mood="fail:Adam")
        assert ended.status == 0
        assert "baseline: old.jsonl, of another corpus (0.9.0)" in ended.out

    @pytest.mark.parametrize("content", ["", '{"record": "header"}\n'])
    def test_a_baseline_that_cannot_be_trusted_is_refused(self, moody_run, here, content):
        (here / "old.jsonl").write_text(content)
        assert moody_run("-b", RIGHT, "--baseline", "old.jsonl").status == 2

    def test_a_baseline_of_other_subjects_is_refused(self, moody_run):
        moody_run("-b", WRONG, "--results", "old.jsonl")
        ended = moody_run("-b", RIGHT, "--baseline", "old.jsonl")
        assert ended.status == 2
        assert f"old.jsonl has no result of {RIGHT}" in ended.err

    @pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["one process", "two"])
    def test_a_varying_verdict_shuts_it(self, process, small_corpus, here, workers):
        told = ("--data", small_corpus, "--repeat", "4", "--results", "out.jsonl", *workers)
        ended = process("onnx-conformance", "run", "-b", VARIES, *told)
        assert ended.status == 1
        assert re.search(rf"2 cases of \w+ vary|{EXACT} varies from run to run", ended.out)
        results = results_of(here / "out.jsonl")
        assert {case: results[VARIES, case]["repeats"] for case in (ADAM, EXACT)} == {
            ADAM: {"pass": 4},
            EXACT: {"fail": 2, "pass": 2},
        }

    def test_an_entry_that_does_not_apply_is_not_stale(self, moody_run, here):
        (here / "e.toml").write_text(expecting(MOODY, "test_gone", more='when = {version = "<1.31"}\n'))
        assert moody_run("-b", MOODY, "--expect", "e.toml").status == 0

    def test_one_that_applies_is(self, moody_run, here):
        (here / "e.toml").write_text(expecting(MOODY, "test_gone", more='when = {version = ">=1.31"}\n'))
        ended = moody_run("-b", MOODY, "--expect", "e.toml")
        assert ended.status == 1
        assert "e.toml:3: the entry (test_gone) matches no case: remove it" in ended.out

    def test_an_issue_and_the_rules_are_in_the_results(self, moody_run, here):
        (here / "e.toml").write_text(expecting(MOODY, ADAM, more='issue = "https://example.org/1"\n'))
        told = ("--expect", "e.toml", "--require", "Adam", "--results", "out.jsonl")
        assert moody_run("-b", MOODY, *told, mood="fail:Adam").status == 0
        found = read(here / "out.jsonl")
        assert found.header["rules"]["require"] == ["Adam"]
        assert found.header["rules"]["due"] == len(SMALL)
        expected = next(result["expected"] for result in found.results if result["case"] == ADAM)
        assert expected == {
            "verdict": "fail",
            "reason": "known",
            "place": "e.toml:5",
            "issue": "https://example.org/1",
        }


class TestFormats:
    OPTIONS = ("--html", "--junit", "--ctrf", "--markdown", "--badge", "--json")

    @pytest.mark.parametrize("option", OPTIONS)
    def test_a_run_writes_what_a_report_writes(self, moody_run, command, here, option):
        moody_run("-b", WRONG, "--results", "out.jsonl", option, "run.out")
        assert command("report", "out.jsonl", option, "report.out").status == 0
        assert (here / "run.out").read_bytes() == (here / "report.out").read_bytes()

    @pytest.mark.parametrize("option", OPTIONS)
    def test_an_output_that_cannot_be_written_is_refused_before_anything_runs(self, moody_run, here, option):
        (here / "given").write_text("")
        assert moody_run("-b", "fake_backends:KillsItsProcess", option, "given/out").status == 2

    def test_a_report_of_nothing_is_refused(self, moody_run, command):
        moody_run("-b", RIGHT, "--results", "out.jsonl")
        ended = command("report", "out.jsonl")
        assert ended.status == 2
        assert "No report is asked for" in ended.err

    def test_where_one_cannot_be_written_none_is(self, moody_run, command, here):
        moody_run("-b", RIGHT, "--results", "out.jsonl")
        (here / "given").write_text("")
        assert command("report", "out.jsonl", "--badge", "out.svg", "--junit", "given/out").status == 2
        assert not (here / "out.svg").exists()


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
