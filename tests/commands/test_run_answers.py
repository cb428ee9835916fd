"""What `run` and `explain` answer: what is wrong, by cause, with evidence, and what to do next."""

from __future__ import annotations

import re

import pytest
from corpora import ADAM, EXACT, SILENT, SMALL
from refusals import assert_bad_input

RIGHT, WRONG = "fake_backends:AlwaysRight", "fake_backends:AlwaysWrong"


class TestOfBackends:
    def test_a_failure_has_title_element_values_distance_and_clause(self, run):
        told = run("-b", WRONG, "--case", ADAM, "--no-diagnosis").out
        assert f"{ADAM}: Adam computes the example of its page" in told
        assert re.search(r"X_new\[0\]: got \S+ \(0x\w+\), expected 1\.0250363 \(0x\w+\)", told)
        assert re.search(r"\d ULP apart, \S+ times its bound \(± 4\.29e-07\), 2 wrong in all", told)
        assert "clause adam.x_new (ai.onnx.preview.training Adam-1, pseudo-code): X_new =" in told

    def test_causes_are_counted_before_cases(self, run):
        told = run("-b", WRONG, "--no-diagnosis").out
        assert re.search(rf"^{WRONG}: \d causes, \d cases$", told, re.MULTILINE)

    def test_a_class_that_bears_an_emoji_s_name_keeps_it(self, run, here):
        (here / "given.py").write_text("from fake_backends import AlwaysWrong as New\n")
        assert "\ngiven:New: 1 cause" in run("-b", "given:New", "--case", ADAM, "--no-diagnosis").out

    def test_of_many_cases_of_a_cause_the_smallest_alone_is_shown(self, run):
        ended = run("-b", "raising_backends:RaisesOnRun", "--no-diagnosis")
        assert re.search(r"^1\. error: .* \(\d cases\)$", ended.out, re.MULTILINE), ended.out
        assert ended.out.count("     > ") == 1

    def test_v_names_every_case(self, run):
        told = run("-b", WRONG, "-v", "--level", "should").out
        judged = [id for id in SMALL if id != SILENT]
        assert [id for id in judged if id not in told] == []

    def test_q_leaves_all_but_the_gate(self, run):
        assert run("-b", WRONG, "-q", "--case", ADAM).out.splitlines() == [
            "The gate does not hold:",
            f"  {ADAM} fails on {WRONG}",
            f"  {WRONG} passed nothing",
        ]

    def test_v_and_q_at_once_are_refused(self, run):
        assert run("-b", WRONG, "-v", "-q").status == 2

    def test_nothing_is_said_of_causes_where_none_is(self, run):
        assert "cause" not in run("-b", RIGHT).out

    def test_a_subject_that_never_started_says_why(self, run):
        told = run("-b", "exec:sh -c 'echo no licence found >&2; exit 3'", "--case", ADAM).out
        assert "never started" in told
        assert "exited with status 3 before it answered" in told
        assert "no licence found" in told

    def test_what_a_subject_says_is_quoted_escaped_and_bounded(self, run, here):
        (here / "given_loud.py").write_text(
            "def prepare(model, device):\n    raise ValueError('\\x1b[2J' + 'long ' * 300 + '\\nline' * 300)\n"
        )
        told = run("-b", "given_loud", "--case", ADAM).out
        assert "     > ValueError: \\x1b[2Jlong long" in told
        assert max(map(len, told.splitlines())) < 400
        assert "more lines" in told
        assert len(told.splitlines()) < 30


class TestNext:
    def test_it_names_the_command_that_tells_more(self, run, command, small_corpus):
        told = run("-b", WRONG, "--case", ADAM, "--results", "out.jsonl").out
        assert f"Next: onnx-conformance explain {ADAM} -r out.jsonl --data {small_corpus}" in told
        assert command("explain", ADAM, "-r", "out.jsonl", "--data", small_corpus).status == 0

    def test_it_names_the_reports_that_were_written(self, run):
        assert "Wrote deep/out.html." in run("-b", RIGHT, "--html", "deep/out.html").out


class TestOfGraphOptimizers:
    def test_the_check_and_its_complaint_are_the_cause(self, command):
        subject = "fake_optimizers:names_nodes_of_the_caller"
        ended = command("run", "-o", subject, "--level", "should", "-k", "argmax_pass_domains")
        assert re.search(r"^1\. mutation: the caller's model is changed \(\d+ cases\)$", ended.out, re.MULTILINE), ended
        assert "mutation (run once): the caller's model is changed: graph.node[0].name changed from" in ended.out


class TestExplainWithResults:
    @pytest.fixture
    def told(self, run, command, small_corpus):
        run("-b", WRONG, "-b", RIGHT, "--results", "out.jsonl", "--no-diagnosis")
        return command("explain", ADAM, "-r", "out.jsonl", "--data", small_corpus).out

    def test_the_evidence_of_each_subject_stands_after_the_case(self, told):
        before, _, after = told.partition(f"\n{WRONG} 0.0.7\n")
        assert "clause adam.x_new" in before
        assert "fail: ran, and an output is wrong; phase: compare" in after
        assert "X_new, data set 0, bound: has 2 wrong of 2 elements" in after
        assert f"\n{RIGHT} 0.0.7\n    pass: ran" in after

    def test_it_tells_the_cause_and_the_command(self, told, small_corpus):
        assert "    cause: adam.x_new, bound: X_new has wrong elements" in told
        again = f"run -b {WRONG} --data {small_corpus} --in-process --case {ADAM}"
        assert f"run it again: onnx-conformance {again}\n" in told

    def test_results_of_another_corpus_are_refused(self, run, command):
        run("-b", RIGHT, "--case", ADAM, "--results", "out.jsonl")
        ended = command("explain", ADAM, "-r", "out.jsonl")
        assert_bad_input(ended, "out.jsonl is of corpus", "--data")

    def test_a_case_without_results_is_refused(self, run, command, small_corpus):
        run("-b", RIGHT, "--case", ADAM, "--results", "out.jsonl")
        ended = command("explain", EXACT, "-r", "out.jsonl", "--data", small_corpus)
        assert_bad_input(ended, f"out.jsonl has no result of {EXACT}")

    @pytest.mark.parametrize(
        ("content", "told"),
        [
            ("", "it has no footer"),
            ('{"record": "header"}\n', "line 1"),
            ('{"event": "test", "ok": true}\n', "is not a results file of this suite"),
            ("<xml/>\n", "is not a results file of this suite"),
        ],
    )
    def test_what_is_no_results_file_of_the_suite_is_refused(self, command, small_corpus, here, content, told):
        (here / "out.jsonl").write_text(content)
        assert_bad_input(command("explain", ADAM, "-r", "out.jsonl", "--data", small_corpus), "out.jsonl is", told)

    def test_results_that_are_not_there_are_refused(self, command, small_corpus):
        assert_bad_input(command("explain", ADAM, "-r", "gone.jsonl", "--data", small_corpus), "gone.jsonl")

    def test_what_a_subject_says_is_quoted_escaped_and_bounded(self, run, command, small_corpus, here):
        (here / "given_loud.py").write_text(
            "import sys\n"
            "def prepare(model, device):\n"
            "    sys.stderr.write('\\x1b[2Jnoise\\n' * 99)\n"
            "    raise ValueError('::error::\\x1b[2J' + 'long ' * 300 + '\\nline' * 300)\n"
        )
        run("-b", "given_loud", "--case", ADAM, "--results", "out.jsonl")
        told = command("explain", ADAM, "-r", "out.jsonl", "--data", small_corpus).out.partition("given_loud")[2]
        assert "\x1b" not in told
        assert "    > ValueError: ::error::\\x1b[2Jlong long" in told
        assert len(told.splitlines()) < 30
        assert max(map(len, told.splitlines())) < 400
