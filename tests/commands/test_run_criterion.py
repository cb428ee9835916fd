"""Pass criterion of `run`: required operators, a baseline, repeats and expectations."""

from __future__ import annotations

import json
import re

import pytest
from command_outputs import expectations_text, read_records, results_by_key
from corpora import ADAM, EXACT, SMALL

from conformance.base.verdicts import Verdict
from conformance.run.results.outcome_counts import OutcomeCounts
from conformance.run.results.records import Expected
from conformance.run.results.results_file import read_results

RIGHT, WRONG, FAULTY, VARIES = (
    "fake_subject:always_right",
    "fake_subject:always_wrong",
    "fake_subject:follows_environment",
    "fake_subject:varies_on_argmax",
)


BASE = "fake_subject:wrong_on_argmax"


class TestCriterion:
    def test_require_fails_unsupported_operator(self, run_with_faults):
        assert run_with_faults("-b", FAULTY, "--require", "ArgMax", faults="unsupported:Adam").status == 0
        ended = run_with_faults("-b", FAULTY, "--require", "Adam", faults="unsupported:Adam")
        assert ended.status == 1
        assert re.search(rf"^  {ADAM} .*\bunsupported .*{FAULTY}", ended.out, re.MULTILINE)
        assert "required: Adam" in ended.out

    @pytest.mark.parametrize("selection", [("-k", "argmax"), ("--case", EXACT)], ids=str)
    def test_require_fails_operator_without_selected_case(self, run_apart, selection):
        ended = run_apart("-b", RIGHT, "--no-isolation", "--require", "Adam", *selection)
        assert ended.status == 1
        assert re.search(rf"^  Adam .* {RIGHT}$", ended.out, re.MULTILINE)
        assert run_apart("-b", RIGHT, "--no-isolation", "--require", "ArgMax", *selection).status == 0

    def test_require_judges_merged_run_instead_of_shard(self, run, command, small_corpus, here):
        for number in (1, 2):
            told = ("-b", RIGHT, "--require", "Softmax", "--shard", f"{number}/2", "--results", f"{number}.jsonl")
            assert run(*told).status == 0
        assert command("merge", "1.jsonl", "2.jsonl", "--output", "all.jsonl").status == 0
        run("-b", RIGHT, "--require", "Softmax", "-k", "adam", "--results", "some.jsonl")
        assert command("merge", "some.jsonl", "--output", "all.jsonl").status == 1
        (reason,) = read_results(here / "all.jsonl").footer.reasons
        assert reason.startswith("Softmax ")

    def test_require_ignores_graph_optimizers(self, run, here):
        for subjects in (("-b", RIGHT, "-o", "identity"), ("-b", RIGHT)):
            run(*subjects, "--require", "Adam", "--no-isolation", "--results", "out.jsonl")
            assert not any("Adam" in reason for reason in read_results(here / "out.jsonl").footer.reasons)

    @pytest.mark.parametrize(
        ("name", "names"),
        [
            ("Adma", "Adam?"),
            ("Xyz", "Adagrad, Adam, ArgMax, Momentum, Softmax"),
            ("Conv", "generate --onnx --operator Conv"),
        ],
    )
    def test_require_of_unknown_operator_lists_known_operators(self, run_with_faults, name, names):
        ended = run_with_faults("-b", RIGHT, "--require", name)
        assert ended.status == 2
        assert (ended.code, name in ended.err) == ("name.no-such-operator", True)
        assert names in ended.err

    def test_with_a_baseline_only_regressions_fail(self, run_with_faults):
        run_with_faults("-b", FAULTY, "--results", "old.jsonl", faults="fail:Adam")
        assert run_with_faults("-b", FAULTY, faults="fail:Adam").status == 1
        assert run_with_faults("-b", FAULTY, "--baseline", "old.jsonl", faults="fail:Adam").status == 0
        chosen = ("--baseline", "old.jsonl", "--case", ADAM)
        assert run_with_faults("-b", FAULTY, *chosen, faults="fail:Adam").status == 0
        ended = run_with_faults("-b", FAULTY, "--baseline", "old.jsonl", faults="fail:Adam fail:Adagrad")
        assert ended.status == 1
        assert re.search(rf"test_adagrad_\S+ fails on {FAULTY}, but in the baseline: pass", ended.out)

    def test_case_that_was_judged_in_the_baseline_and_is_unsupported_fails(self, run_with_faults):
        run_with_faults("-b", FAULTY, "--results", "old.jsonl", faults="unsupported:Adam")
        assert run_with_faults("-b", FAULTY, "--baseline", "old.jsonl", faults="unsupported:Adam").status == 0
        ended = run_with_faults("-b", FAULTY, "--baseline", "old.jsonl", faults="unsupported:Adam unsupported:Adagrad")
        assert ended.status == 1
        assert re.search(rf"test_adagrad_\S+ is unsupported on {FAULTY}, but in the baseline: pass", ended.out)

    def test_failure_in_which_more_is_wrong_than_in_the_baseline_fails(self, run_with_faults, here):
        run_with_faults("-b", FAULTY, "--results", "old.jsonl", faults="fail:Adam")
        lines = read_records(here / "old.jsonl")
        for output in (output for line in lines if line.get("verdict") == "fail" for output in line["outputs"]):
            output["wrong_kinds"] = ["near"] if "violation" in output else []
        for name, digest in (("old", lines[0]["corpus"]["digest"]), ("other", "0" * 64)):
            lines[0]["corpus"]["digest"] = digest
            (here / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        told = ("-b", FAULTY, "--results", "new.jsonl", "--baseline")
        assert run_with_faults(*told, "other.jsonl", faults="fail:Adam").status == 0
        assert run_with_faults(*told, "old.jsonl", faults="fail:Adam").status == 1
        run = read_results(here / "new.jsonl")
        unexpected = {row.case: "near" in row.baseline_wrong for row in run.rows.values() if row.unexpected}
        assert unexpected == {ADAM: True}

    def test_baseline_of_different_corpus_is_used_with_note(self, run_with_faults, here):
        run_with_faults("-b", FAULTY, "--results", "old.jsonl", faults="fail:Adam")
        lines = read_records(here / "old.jsonl")
        lines[0]["corpus"] |= {"version": "0.9.0", "digest": "0" * 64}
        (here / "old.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        ended = run_with_faults("-b", FAULTY, "--baseline", "old.jsonl", faults="fail:Adam")
        assert ended.status == 0
        assert re.search(r"old\.jsonl, .*0\.9\.0", ended.out)

    @pytest.mark.parametrize(
        ("content", "code"),
        [
            ("", "results.truncated"),
            ('{"record": "header"}\n', "results.malformed"),
            ('{"record": "header", "format": 1}\n', "results.other-format"),
        ],
    )
    def test_baseline_with_invalid_content_is_refused(self, run_with_faults, here, content, code):
        (here / "old.jsonl").write_text(content)
        ended = run_with_faults("-b", RIGHT, "--baseline", "old.jsonl")
        assert (ended.status, ended.code) == (2, code)

    def test_baseline_without_the_subject_is_refused(self, run_with_faults):
        run_with_faults("-b", WRONG, "--results", "old.jsonl")
        ended = run_with_faults("-b", RIGHT, "--baseline", "old.jsonl")
        assert ended.status == 2
        assert (ended.code, RIGHT in ended.err) == ("results.subject-missing", True)

    @pytest.mark.parametrize(
        "workers", [(), pytest.param(("-n", "2"), marks=pytest.mark.long)], ids=["one process", "two"]
    )
    def test_relative_to_leaves_out_failures_of_the_base(self, run_apart, here, workers):
        told = ("--no-isolation", "--relative-to", BASE, "--results", "out.jsonl", *workers)
        assert run_apart("-b", "fake_subject:zero_on_argmax", *told).status == 0
        results = results_by_key(here / "out.jsonl").values()
        failing = {result["case"] for result in results if result["verdict"] == "fail"}
        assert failing == {result["case"] for result in results if result["baseline"] == "fail"} != set()
        assert {result["subject"] for result in results} == {"fake_subject:zero_on_argmax"}
        run = read_results(here / "out.jsonl")
        assert run.header.criterion.baseline.relative_to.startswith(BASE)
        assert (run.footer.diagnoses, run.footer.unexplained) == ([], [])
        assert OutcomeCounts.of_run(run).known_failures == len(failing)

    def test_relative_to_counts_other_failures(self, run, here):
        assert run("-b", WRONG, "--relative-to", BASE, "--results", "out.jsonl").status == 1
        results = results_by_key(here / "out.jsonl").values()
        unexpected = {result["case"]: result["baseline"] for result in results if result["unexpected"]}
        assert (ADAM in unexpected, set(unexpected.values())) == (True, {"pass"})

    def test_relative_to_uses_the_baseline_file(self, run, here):
        run("-b", BASE, "--results", "old.jsonl")
        told = ("-b", "fake_subject:zero_on_argmax", "--baseline", "old.jsonl", "--relative-to")
        assert run(*told, BASE).status == 0
        ended = run(*told, "fake_subject:wrong_on_argmin")
        assert (ended.status, ended.code, BASE in ended.err) == (2, "results.subject-missing", True)

    def test_relative_to_a_tested_subject_is_refused(self, run):
        ended = run("-b", BASE, "--relative-to", BASE)
        assert (ended.status, ended.code) == (2, "usage.subject-twice")

    @pytest.mark.parametrize(
        "workers", [(), pytest.param(("-n", "2"), marks=pytest.mark.long)], ids=["one process", "two"]
    )
    def test_repeat_with_varying_verdict_fails_run(self, process, small_corpus, here, workers):
        told = ("--no-isolation", "--data", small_corpus, "--repeat", "4", "--results", "out.jsonl", *workers)
        ended = process("fork", "run", "-b", VARIES, *told)
        assert ended.status == 1
        assert re.search(rf"2 cases of \w+ vary|{EXACT} varies from run to run", ended.out)
        results = results_by_key(here / "out.jsonl")
        assert {case: results[VARIES, case]["repeats"] for case in (ADAM, EXACT)} == {
            ADAM: {"pass": 4},
            EXACT: {"fail": 2, "pass": 2},
        }

    def test_stale_entry_outside_its_condition_is_ignored(self, run_with_faults, here):
        (here / "e.toml").write_text(expectations_text(FAULTY, "test_gone", more='when = {version = "<1.31"}\n'))
        assert run_with_faults("-b", FAULTY, "--expect", "e.toml").status == 0

    def test_stale_entry_within_its_condition_fails_run(self, run_with_faults, here):
        (here / "e.toml").write_text(expectations_text(FAULTY, "test_gone", more='when = {version = ">=1.31"}\n'))
        ended = run_with_faults("-b", FAULTY, "--expect", "e.toml")
        assert ended.status == 1
        assert re.search(r"e\.toml:3: .*test_gone", ended.out)

    def test_results_have_issue_and_criterion(self, run_with_faults, here):
        (here / "e.toml").write_text(expectations_text(FAULTY, ADAM, more='issue = "https://example.org/1"\n'))
        told = ("--expect", "e.toml", "--require", "Adam", "--results", "out.jsonl")
        assert run_with_faults("-b", FAULTY, *told, faults="fail:Adam").status == 0
        found = read_results(here / "out.jsonl")
        assert found.header.criterion.require == ["Adam"]
        assert found.header.criterion.expected_results == len(SMALL)
        expected = next(result.expected for result in found.results.values() if result.case == ADAM)
        assert expected == Expected(Verdict.FAIL, "known", "https://example.org/1", "e.toml:5")
