"""Terminal output of `run` and `explain`: failures by cause, evidence, and the next command."""

from __future__ import annotations

import re

import pytest
from corpora import ADAM, EXACT, SILENT, SMALL, case_title
from refusals import assert_bad_input

RIGHT, WRONG = "fake_subject:always_right", "fake_subject:always_wrong"


class TestBackends:
    def test_run_failure_shows_title_element_distance_and_clause(self, run, small_corpus):
        told = run("-b", WRONG, "--case", ADAM, "--no-diagnosis").out
        assert f"{ADAM}: {case_title(small_corpus, ADAM)}" in told
        assert re.search(r"X_new\[0\]: got \S+ \(0x\w+\), expected 1\.0250363 \(0x\w+\)", told)
        assert re.search(r"off by [^,]+ ULP, \S+ times its bound \(± \d\.\d+e-07\), 2 wrong in all", told)
        assert "clause adam.v_new (ai.onnx.preview.training Adam-1, pseudo-code): V_new =" in told

    def test_causes_are_counted_before_cases(self, run):
        told = run("-b", WRONG, "--no-diagnosis").out
        assert re.search(rf"^{WRONG}: \d causes, \d cases$", told, re.MULTILINE)

    def test_run_keeps_subject_named_like_an_emoji(self, run, here):
        (here / "given.py").write_text("from fake_subject import always_wrong as New\n")
        assert "\ngiven:New: 1 cause" in run("-b", "given:New", "--case", ADAM, "--no-diagnosis").out

    @pytest.mark.parametrize(
        ("statement", "is_told"), [("{}[node.op_type]", True), ("raise ValueError('size')", False)]
    )
    def test_run_says_how_a_backend_reports_a_missing_operator(self, run, here, statement, is_told):
        (here / "given_lacking.py").write_text(
            "from fake_subject import always_right\n"
            "def prepare(model, device):\n"
            "    for node in model.graph.node:\n"
            f"        if node.op_type == 'Adam': {statement}\n"
            "    return always_right(model)\n"
        )
        before_causes = run("-b", "given_lacking", "--no-diagnosis").out.partition("\n1. ")[0]
        told = [line for line in before_causes.splitlines() if "Implemented" in line]
        assert len(told) == is_told
        assert all("Adam end" in line and "KeyError" in line for line in told)

    def test_run_counts_missing_operators_as_one_cause_and_names_untested_operators(self, run, here):
        (here / "given_table.py").write_text(
            "from fake_subject import always_right\n"
            "def prepare(model, device):\n"
            "    [{'ArgMax': 1, 'Softmax': 1}[node.op_type] for node in model.graph.node]\n"
            "    return always_right(model)\n"
        )
        told = run("-b", "given_table", "--no-diagnosis").out
        assert len(re.findall(r"^\d+\. ", told, re.MULTILINE)) == 1
        assert told.count(" on given_table") == 3
        assert "--operator Softmax" in told
        assert "generate" not in run("-b", "given_table", "--no-diagnosis", "--tag", "float").out
        assert "--operator Softmax" in run("-b", "given_table", "--no-diagnosis", "--operator", "Softmax").out
        assert "generate" not in run("-b", "given_table", "--no-diagnosis", "--operator", "ArgMax").out

    @pytest.mark.parametrize(("below", "is_told"), [(13, True), (14, False)])
    def test_run_names_the_older_versions_in_which_alone_an_operator_fails(self, command, here, below, is_told):
        (here / "given_new.py").write_text(
            "from fake_subject import always_right, always_wrong\n"
            "def prepare(model, device):\n"
            f"    is_old = model.opset_import[0].version < {below}\n"
            "    return (always_wrong if is_old else always_right)(model)\n"
        )
        cases = ("test_argmax_ties_opset_12_last", "test_argmax_ties_float_last")
        named = [f"--case={case}" for case in cases]
        ended = command("run", "-b", "given_new", "--no-diagnosis", *named, "--html", "page.html")
        assert ("ArgMax-12" in ended.out) is is_told
        assert ("(ArgMax-12)" in (here / "page.html").read_text()) is is_told
        assert ended.status == 1

    def test_run_shows_only_smallest_case_of_cause(self, run):
        ended = run("-b", "fake_subject:raises_on_run", "--no-diagnosis")
        assert re.search(r"^1\. error: .* \(\d cases\)$", ended.out, re.MULTILINE), ended.out
        assert ended.out.count("     > ") == 1

    def test_v_names_every_case(self, run):
        told = run("-b", WRONG, "-v", "--fail-level", "should").out
        judged = [id for id in SMALL if id != SILENT]
        assert [id for id in judged if id not in told] == []

    def test_crash_under_a_limit_of_memory_names_the_limit(self, run_isolated):
        ended = run_isolated("-b", "exec:sh -c 'kill -SEGV $$'", "--case", ADAM, "--memory", "512M")
        assert [name for name in ("SIGSEGV", "--memory", "512 MiB") if name not in ended.out] == []

    def test_q_leaves_all_but_the_gate(self, run):
        assert run("-b", WRONG, "-q", "--case", ADAM).out.splitlines() == [
            "FAILED: 1 of 1 judged",
            f"  {WRONG} passed nothing",
            f"  {ADAM} fails on {WRONG}",
        ]

    def test_v_and_q_at_once_are_refused(self, run):
        assert run("-b", WRONG, "-v", "-q").status == 2

    def test_run_without_failures_mentions_no_cause(self, run):
        assert "cause" not in run("-b", RIGHT).out

    def test_run_shows_stderr_of_subject_that_never_started(self, run):
        told = run("-b", "exec:sh -c 'echo licence:none >&2; exit 3'", "--case", ADAM).out
        assert re.search(r"^1\. .*never started: .* status 3\b", told, re.MULTILINE)
        assert "licence:none" in told

    def test_subject_message_is_quoted_escaped_and_bounded(self, run, here):
        (here / "given_loud.py").write_text(
            "def prepare(model, device):\n    raise ValueError('\\x1b[2J' + 'long ' * 300 + '\\nline' * 300)\n"
        )
        told = run("-b", "given_loud", "--case", ADAM).out
        assert "     > ValueError: \\x1b[2Jlong long" in told
        assert max(map(len, told.splitlines())) < 400
        assert "more lines" in told
        assert len(told.splitlines()) < 30


class TestNext:
    def test_run_prints_next_command_explain(self, run, command, small_corpus):
        told = run("-b", WRONG, "--case", ADAM, "--results", "out.jsonl").out
        assert f"Next: onnx-conformance explain {ADAM} -r out.jsonl --data {small_corpus}" in told
        assert command("explain", ADAM, "-r", "out.jsonl", "--data", small_corpus).status == 0

    def test_headline_first_cause_and_next_command_name_the_same_case(self, run):
        told = run("-b", WRONG).out
        first = re.search(r"\btest_\w+", told)[0]
        assert told.count(first) >= 3, told
        assert f"explain {first}" in told

    def test_run_whose_unexpected_cases_pass_prints_update_expectations(self, run, command, here):
        (here / "known.toml").write_text(f'subject = "{RIGHT}"\n[[expect]]\nreason = "known"\nfail = ["{ADAM}"]\n')
        told = run("-b", RIGHT, "--case", ADAM, "--expect", "known.toml", "--results", "out.jsonl").out
        assert "Next: onnx-conformance update-expectations out.jsonl --expect known.toml" in told
        assert command("update-expectations", "out.jsonl", "--expect", "known.toml").status == 0

    def test_run_names_written_reports(self, run):
        assert "Wrote deep/out.html." in run("-b", RIGHT, "--html", "deep/out.html").out


class TestOptimizers:
    def test_run_groups_optimizer_failures_by_check_and_message(self, command):
        subject = "fake_subject:names_nodes_of_the_caller"
        ended = command("run", "-o", subject, "--fail-level", "should", "-k", "argmax_pass_domains")
        assert re.search(r"^1\. mutation: .* \(\d+ cases\)$", ended.out, re.MULTILINE), ended
        assert ": graph.node[0].name " in ended.out


class TestExplainWithResults:
    @pytest.fixture
    def explanation(self, run, command, small_corpus):
        run("-b", WRONG, "-b", RIGHT, "--results", "out.jsonl", "--no-diagnosis")
        return command("explain", ADAM, "-r", "out.jsonl", "--data", small_corpus).out

    def test_explain_with_results_shows_evidence_per_subject(self, explanation):
        before, _, after = explanation.partition(f"\n{WRONG} 0.0.7\n")
        assert "clause adam.x_new" in before
        assert re.search(r"^    fail: .*; phase: compare\b", after, re.MULTILINE)
        assert re.search(r"^ +X_new, .* 0, bound: .*\b2 wrong of 2\b", after, re.MULTILINE)
        assert f"\n{RIGHT} 0.0.7\n    pass: " in after

    def test_explain_with_results_shows_cause_and_command(self, explanation, small_corpus):
        assert ": adam.v_new, bound: V_new " in explanation
        again = f"run -b {WRONG} --data {small_corpus} --no-isolation --case {ADAM}"
        assert f" onnx-conformance {again}\n" in explanation

    def test_results_of_another_corpus_are_refused(self, run, command):
        run("-b", RIGHT, "--case", ADAM, "--results", "out.jsonl")
        ended = command("explain", ADAM, "-r", "out.jsonl")
        assert_bad_input(ended, "results.other-corpus", "out.jsonl", "--data")

    def test_explain_of_case_without_results_is_refused(self, run, command, small_corpus):
        run("-b", RIGHT, "--case", ADAM, "--results", "out.jsonl")
        ended = command("explain", EXACT, "-r", "out.jsonl", "--data", small_corpus)
        assert_bad_input(ended, "results.case-missing", "out.jsonl", EXACT)

    @pytest.mark.parametrize(
        ("content", "code"),
        [
            ("", "results.truncated"),
            ('{"record": "header"}\n', "results.malformed"),
            ('{"event": "test", "ok": true}\n', "results.malformed"),
            ("<xml/>\n", "results.malformed"),
        ],
    )
    def test_explain_with_invalid_results_file_is_refused(self, command, small_corpus, here, content, code):
        (here / "out.jsonl").write_text(content)
        assert_bad_input(command("explain", ADAM, "-r", "out.jsonl", "--data", small_corpus), code, "out.jsonl")

    def test_results_that_are_not_there_are_refused(self, command, small_corpus):
        assert_bad_input(command("explain", ADAM, "-r", "gone.jsonl", "--data", small_corpus), "gone.jsonl")

    def test_subject_message_is_quoted_escaped_and_bounded(self, run, command, small_corpus, here):
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
