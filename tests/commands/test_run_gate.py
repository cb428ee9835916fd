"""What the gate of `run` is told: required operators, a baseline, repeats and expectations."""

from __future__ import annotations

import json
import re

import pytest
from corpora import ADAM, EXACT, SMALL
from outputs import expecting, records, results_of

from conformance.results.file import read

RIGHT, WRONG, MOODY, VARIES = (
    "fake_backends:AlwaysRight",
    "fake_backends:AlwaysWrong",
    "moody_backends:DoesAsTold",
    "moody_backends:VariesOnArgMax",
)


class TestTheGate:
    def test_a_required_operator_may_not_be_unsupported(self, moody_run):
        assert moody_run("-b", MOODY, "--require", "ArgMax", mood="unsupported:Adam").status == 0
        ended = moody_run("-b", MOODY, "--require", "Adam", mood="unsupported:Adam")
        assert ended.status == 1
        assert f"{ADAM} is unsupported on {MOODY} though the operator is required" in ended.out
        assert "required: Adam" in ended.out

    @pytest.mark.parametrize("selection", [("-k", "argmax"), ("--case", EXACT), ("-k", "argmax", "-n", "2")], ids=str)
    def test_a_required_operator_must_be_among_what_is_selected(self, run_apart, selection):
        ended = run_apart("-b", RIGHT, "--require", "Adam", *selection)
        assert ended.status == 1
        assert f"Adam is required, and no case of it was run on {RIGHT}" in ended.out
        assert run_apart("-b", RIGHT, "--require", "ArgMax", *selection).status == 0

    def test_a_shard_may_lack_a_required_operator_and_the_merged_run_may_not(self, run, command, small_corpus, here):
        for number in (1, 2):
            told = ("-b", RIGHT, "--require", "Softmax", "--shard", f"{number}/2", "--results", f"{number}.jsonl")
            assert run(*told).status == 0
        assert command("merge", "1.jsonl", "2.jsonl", "-o", "all.jsonl").status == 0
        run("-b", RIGHT, "--require", "Softmax", "-k", "adam", "--results", "some.jsonl")
        assert command("merge", "some.jsonl", "-o", "all.jsonl").status == 1
        assert "Softmax is required, and no case of it" in " ".join(read(here / "all.jsonl").footer["reasons"])

    def test_a_graph_optimizer_beside_a_backend_need_not_have_its_operators(self, run):
        told = ("--require", "Adam", "--in-process")
        ended = run("-b", RIGHT, "-o", "identity", *told)
        assert "Adam is required" not in ended.out
        assert "Adam is required" not in run("-b", RIGHT, *told).out

    @pytest.mark.parametrize(
        ("name", "mend"), [("Adma", "Did you mean Adam?"), ("Conv", "Adagrad, Adam, ArgMax, Momentum, Softmax")]
    )
    def test_an_unknown_required_operator_is_refused_with_what_there_is(self, moody_run, name, mend):
        ended = moody_run("-b", RIGHT, "--require", name)
        assert ended.status == 2
        assert f"no case of an operator {name}" in ended.err
        assert mend in ended.err

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
        expected = next(result["expected"] for result in found.results.values() if result["case"] == ADAM)
        assert expected == {
            "verdict": "fail",
            "reason": "known",
            "place": "e.toml:5",
            "issue": "https://example.org/1",
        }
