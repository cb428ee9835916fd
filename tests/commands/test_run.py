"""`run`: verdicts, selection, terminal output and results, in one process and in several."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest
from command_outputs import comparable_records, read_records, read_tree, results_by_key
from corpora import ADAM, EXACT, INDEX, SHOULD, SILENT, SMALL
from repository import SUPPORT

from conformance.base.serialization.decoding import schema_violation
from conformance.run.results.records import Selection
from conformance.run.results.results_file import read_results

RIGHT, WRONG = "fake_subject:always_right", "fake_subject:always_wrong"


class TestRun:
    def test_correct_backend_passes_run(self, run):
        ended = run("-b", RIGHT)
        assert ended.status == 0
        assert "PASSED" in ended.out
        assert f"{len(SMALL)} of {len(SMALL)} cases" in ended.out

    @pytest.mark.parametrize(
        ("backend", "reason"),
        [(WRONG, f"{ADAM} fails on {WRONG}"), ("fake_subject:says_unsupported", "passed nothing")],
    )
    def test_backend_that_is_wrong_or_supports_no_case_fails_run(self, run, backend, reason):
        ended = run("-b", backend)
        assert (ended.status, reason in ended.out) == (1, True)

    @pytest.mark.variants(1)
    @pytest.mark.parametrize(("backend", "status"), [(RIGHT, 0), (WRONG, 1)])
    def test_closed_pipe_keeps_reports_and_status(self, small_corpus, here, backend, status):
        reader, writer = os.pipe()
        os.close(reader)
        arguments = ["run", "-b", backend, "--data", small_corpus, "--no-diagnosis"]
        arguments += ["--html", "page.html", "--results", "results.jsonl"]
        ended = subprocess.run(
            [sys.executable, "-m", "conformance", *arguments],
            stdout=writer,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(SUPPORT)},
            timeout=120,
            check=False,
        )
        os.close(writer)
        assert (ended.returncode, ended.stderr) == (status, b"")
        assert {one.name for one in here.iterdir()} == {"page.html", "results.jsonl"}

    def test_unsupported_cases_are_tolerated_and_never_counted_as_passes(self, run):
        ended = run("-b", "fake_subject:supports_only_adam", "-v")
        assert ended.status == 0
        assert re.search(r" unsupported\n  .*\(4 cases, first test_", ended.out), ended.out
        assert re.search(r"must +1 +4 +1 +5", ended.out), ended.out

    @pytest.mark.parametrize(
        ("body", "verdict"),
        [
            ("(cls, model): return False", "unsupported"),
            ("(cls, model, device): return device != 'CPU'", "unsupported"),
            ("(cls, model, device='GPU', **others): return device == 'CPU'", "pass"),
            ("(cls, model): return model.shape", "error"),
        ],
    )
    def test_model_that_is_compatible_refuses_is_unsupported(self, run, here, body, verdict):
        (here / "given_choosy.py").write_text(
            "from fake_subject import always_right\n"
            f"class Choosy(always_right):\n    @classmethod\n    def is_compatible{body}\n"
        )
        run("-b", "given_choosy:Choosy", "--case", ADAM, "--results", "results.jsonl", "--no-diagnosis")
        assert [row.verdict for row in read_results(here / "results.jsonl").rows.values()] == [verdict]

    @pytest.mark.parametrize(("level", "status"), [("must", 0), ("should", 1)])
    def test_fail_level_limits_which_cases_fail_run(self, run, here, level, status):
        (here / "given_wrong_on_should.py").write_text(
            "from fake_subject import always_right, always_wrong\n"
            "def prepare(model, device):\n"
            f"    return (always_wrong if model.graph.name == {SHOULD!r} else always_right)(model)\n"
        )
        assert run("-b", "given_wrong_on_should", "--fail-level", level).status == status

    def test_silent_case_does_not_fail_run(self, run):
        ended = run("-b", WRONG, "-b", RIGHT, "--case", SILENT, "--fail-level", "should")
        assert f"{SILENT} on" not in ended.out

    def test_backends_are_judged_separately(self, run):
        ended = run("-b", RIGHT, "-b", WRONG, "--results", "out.jsonl")
        assert ended.status == 1
        assert f"on {RIGHT}" not in ended.out

    def test_backends_share_one_results_file(self, run, here):
        run("-b", RIGHT, "-b", WRONG, "--results", "out.jsonl")
        verdicts = {key: result["verdict"] for key, result in results_by_key(here / "out.jsonl").items()}
        assert verdicts == {(s, c): v for s, v in ((RIGHT, "pass"), (WRONG, "fail")) for c in SMALL}

    @pytest.mark.parametrize("name", ["reference", "onnx-reference", "onnxruntime"])
    def test_registered_backend_runs_by_short_name(self, run, here, name):
        run("-b", name, "--case", EXACT, "--results", "out.jsonl")
        ((subject, _),) = results_by_key(here / "out.jsonl")
        assert subject == name

    def test_module_with_prepare_is_accepted_as_backend(self, run, here):
        (here / "given_module.py").write_text("from fake_subject import always_right\nprepare = always_right.prepare\n")
        assert run("-b", "given_module").status == 0

    def test_subject_version_is_in_results(self, run, here):
        run("-b", RIGHT, "-b", "fake_subject:has_a_version", "--results", "out.jsonl")
        subjects = {subject.id: subject.version for subject in read_results(here / "out.jsonl").header.subjects}
        assert subjects == {RIGHT: "0.0.7", "fake_subject:has_a_version": "<script>1.2</script>"}

    def test_k_option_selects_cases_by_expression(self, run, here):
        assert run("-b", RIGHT, "-k", "argmax and not tie_last", "--results", "out.jsonl").status == 0
        assert {case for _, case in results_by_key(here / "out.jsonl")} == {EXACT}

    def test_case_option_selects_cases_by_id(self, run, here):
        assert run("-b", RIGHT, "--case", ADAM, "--case", EXACT, "--results", "out.jsonl").status == 0
        assert {case for _, case in results_by_key(here / "out.jsonl")} == {ADAM, EXACT}

    def test_selection_is_recorded_in_header(self, run, here):
        run("-b", RIGHT, "-k", "argmax", "--fail-level", "should", "--results", "out.jsonl")
        header = read_results(here / "out.jsonl").header
        assert (header.selections, header.criterion.level) == ([Selection("argmax")], "should")
        assert (header.corpus.selected, header.corpus.cases) == (2, len(SMALL))

    def test_selection_with_only_unsupported_cases_fails_run(self, run):
        assert run("-b", "fake_subject:supports_only_adam", "--case", EXACT).status == 1

    def test_x_stops_at_the_first_surprise(self, run, here):
        assert run("-b", WRONG, "-x", "--results", "out.jsonl").status == 1
        assert len(results_by_key(here / "out.jsonl")) == 1
        counts = f"{len(SMALL) - 1} of {len(SMALL)}"
        assert any(counts in reason for reason in read_results(here / "out.jsonl").footer.reasons)

    def test_without_diagnosis_no_result_is_explained(self, run, here):
        assert run("-b", WRONG, "--no-diagnosis", "--results", "out.jsonl").status == 1
        assert not any("recorded_outputs" in result for result in results_by_key(here / "out.jsonl").values())
        assert read_results(here / "out.jsonl").footer.diagnoses == []

    def test_quality_is_told_where_it_is_asked_for(self, run, here):
        assert run("-b", RIGHT, "--case", ADAM, "--accuracy", "--results", "out.jsonl").status == 0
        (told,) = results_by_key(here / "out.jsonl").values()
        assert list(told["accuracy"]) == ["IEEE 754", "OpenCL, full profile", "WGSL"]
        assert all(counts["within"] == counts["elements"] > 0 for counts in told["accuracy"].values())

    def test_lf_without_an_earlier_failure_is_no_selection(self, run, here):
        ended = run("-b", RIGHT, "--lf", "--results", "out.jsonl")
        assert "--lf" in ended.err
        assert read_results(here / "out.jsonl").header.selections == []

    def test_lf_runs_what_failed_the_last_time(self, run, here):
        run("-b", "fake_subject:wrong_on_argmax")
        run("-b", "fake_subject:wrong_on_argmax", "--lf", "--results", "out.jsonl")
        assert {case for _, case in results_by_key(here / "out.jsonl")} == {EXACT, INDEX}

    def test_lf_runs_failures_of_level_should_if_they_can_fail_the_run(self, run, here):
        run("-b", "fake_subject:always_wrong", "--select-level", "should")
        run("-b", "fake_subject:always_wrong", "--lf", "--fail-level", "should", "--results", "out.jsonl")
        assert {case for _, case in results_by_key(here / "out.jsonl")} == {SHOULD}
        assert run("-b", "fake_subject:always_right", "--lf", "--results", "out.jsonl").status == 0
        assert {case for _, case in results_by_key(here / "out.jsonl")} == set(SMALL)

    def test_interrupted_run_exits_with_130_and_fails(self, run, here):
        ended = run("-b", "fake_subject:interrupted", "--no-isolation", "--results", "out.jsonl")
        assert ended.status == 130
        assert "Traceback" not in ended.err
        footer = read_results(here / "out.jsonl").footer
        assert (footer.outcome, footer.interrupted) == ("fail", True)

    def test_expected_failure_passes_run(self, run, here):
        subject = "fake_subject:wrong_on_argmax"
        (here / "e.toml").write_text(f'subject = "{subject}"\n[[expect]]\nfail = ["*argmax*"]\nreason = "known <b>"\n')
        assert run("-b", subject, "--expect", "e.toml", "--results", "out.jsonl").status == 0
        assert results_by_key(here / "out.jsonl")[subject, EXACT]["expected"] == {
            "verdict": "fail",
            "reason": "known <b>",
            "location": "e.toml:3",
        }

    def test_unexpected_pass_fails_run(self, run, here):
        (here / "e.toml").write_text(f'subject = "{RIGHT}"\n[[expect]]\nfail = ["{ADAM}"]\nreason = "known"\n')
        ended = run("-b", RIGHT, "--expect", "e.toml")
        assert ended.status == 1
        assert f"e.toml: {ADAM} passes on {RIGHT}" in ended.out

    def test_stale_expectation_fails_only_unselected_run(self, run, here):
        (here / "e.toml").write_text(f'subject = "{RIGHT}"\n[[expect]]\nfail = ["test_gone"]\nreason = "known"\n')
        assert run("-b", RIGHT, "--expect", "e.toml").status == 1
        assert run("-b", RIGHT, "--expect", "e.toml", "--case", ADAM).status == 0

    def test_results_lines_satisfy_the_schema(self, run, here):
        run("-b", WRONG, "-b", "fake_subject:raises_strange_text", "--results", "out.jsonl")
        lines = read_records(here / "out.jsonl")
        assert not [schema_violation("results", line) for line in lines if schema_violation("results", line)]
        assert read_results(here / "out.jsonl").footer.results == 2 * len(SMALL)

    def test_output_of_backend_leaves_results_intact(self, run, here):
        ended = run("-b", "fake_subject:prints_much", "--results", "out.jsonl")
        assert ended.status == 0
        assert "PASSED" in ended.out
        assert len(results_by_key(here / "out.jsonl")) == len(SMALL)

    def test_html_option_works_without_results_option(self, run, here):
        assert run("-b", RIGHT, "--html", "out.html").status == 0
        assert [path for path in read_tree(here) if "__pycache__" not in path] == ["out.html"]

    def test_html_report_is_written_by_failing_run(self, run, here):
        assert run("-b", WRONG, "--html", "deep/out.html").status == 1
        assert ADAM in (here / "deep" / "out.html").read_text()

    def test_names_and_messages_arrive_in_the_report_as_text(self, run, here):
        (here / "given_markup.py").write_text(
            "__version__ = '</script><script>alert(1)</script>'\n"
            "def prepare(model, device):\n    raise ValueError('</script><script>alert(2)</script>')\n"
        )
        run("-b", "given_markup", "--html", "out.html")
        assert "<script>alert" not in (here / "out.html").read_text()

    def test_output_files_may_have_parents_that_are_not_there(self, run, here):
        assert run("-b", RIGHT, "--results", "a/b/out.jsonl").status == 0
        assert read_results(here / "a" / "b" / "out.jsonl").footer.outcome == "pass"

    def test_data_path_with_spaces_and_umlauts_is_accepted(self, command, corpus_copy, tmp_path):
        corpus_copy.rename(tmp_path / "-k ünsere Fälle")
        assert command("run", "-b", RIGHT, "--data", tmp_path / "-k ünsere Fälle").status == 0

    def test_results_option_replaces_old_file(self, run, here):
        (here / "out.jsonl").write_text("old\n" * 10_000)
        run("-b", RIGHT, "--results", "out.jsonl")
        assert read_results(here / "out.jsonl").footer.outcome == "pass"

    def test_run_ignores_pytest_settings_of_user(self, run, here, monkeypatch):
        monkeypatch.setenv("PYTEST_ADDOPTS", "-k nothing")
        (here / "pytest.ini").write_text("[pytest]\naddopts = --no-such-option\n")
        (here / "conftest.py").write_text("raise RuntimeError")
        assert run("-b", RIGHT).status == 0


class TestSeveralProcesses:
    @pytest.mark.long
    def test_run_leaves_no_files_behind(self, run_apart, here, tmp_path):
        temporary = tmp_path / "temporary"
        temporary.mkdir()
        told = ("-b", WRONG, "--no-diagnosis", "-n", "2")
        assert run_apart(*told, TMPDIR=str(temporary)).status == 1
        assert [*temporary.iterdir(), *here.iterdir()] == []
        assert "1 of 7 cases" in run_apart("-b", WRONG, "--no-diagnosis", "--no-isolation", "--lf", "-k", EXACT).out

    def test_workers_option_gives_results_of_one_process(self, run_isolated, run_apart, here):
        backends = ("-b", RIGHT, "-b", "fake_subject:wrong_on_argmax")
        assert run_isolated(*backends, "--results", "one.jsonl", diagnose=True).status == 1
        assert run_apart(*backends, "--results", "two.jsonl", "-n", "2").status == 1
        assert comparable_records(here / "one.jsonl") == comparable_records(here / "two.jsonl")

    @pytest.mark.long
    def test_strange_text_of_backend_reaches_results(self, run_apart, here):
        told = ("-b", "fake_subject:raises_strange_text", "-n", "2", "--no-diagnosis")
        assert run_apart(*told, "--results", "out.jsonl").status == 1
        assert len(results_by_key(here / "out.jsonl")) == len(SMALL)

    @pytest.mark.long
    def test_workers_import_backend_from_current_directory(self, run_apart, here):
        (here / "given_local.py").write_text("from fake_subject import always_right\nprepare = always_right.prepare\n")
        assert run_apart("-b", "given_local", "-n", "2").status == 0

    @pytest.mark.long
    def test_backend_that_kills_its_process_fails_run(self, run_apart):
        ended = run_apart("-b", "fake_subject:exits_0_midway", "-n", "2")
        assert ended.status in {1, 2}, ended.out
        assert "Traceback" not in ended.err
