"""`run`: what it judges, selects, says and writes, in one process and in several."""

from __future__ import annotations

import re

import pytest
from corpora import ADAM, EXACT, INDEX, SHOULD, SILENT, SMALL
from outputs import comparable, records, results_of, tree

from conformance.results.file import read
from conformance.schemas import complaint

RIGHT, WRONG = "fake_backends:AlwaysRight", "fake_backends:AlwaysWrong"


class TestRun:
    def test_a_backend_that_is_right_holds_the_gate(self, run):
        ended = run("-b", RIGHT)
        assert ended.status == 0
        assert "The gate holds." in ended.out
        assert f"{len(SMALL)} of {len(SMALL)} cases" in ended.out

    def test_a_backend_that_is_wrong_shuts_it(self, run):
        ended = run("-b", WRONG)
        assert ended.status == 1
        assert f"{ADAM} fails on {WRONG}" in ended.out

    def test_a_backend_that_supports_nothing_shuts_it(self, run):
        ended = run("-b", "raising_backends:SaysUnsupported")
        assert ended.status == 1
        assert "passed nothing" in ended.out

    def test_unsupported_cases_are_tolerated_and_never_counted_as_passes(self, run):
        ended = run("-b", "raising_backends:SupportsOnlyAdam")
        assert ended.status == 0
        assert re.search(r"must +1 +4 +5", ended.out), ended.out

    @pytest.mark.parametrize(("level", "status"), [("must", 0), ("should", 1)])
    def test_the_gate_judges_up_to_its_level(self, run, here, level, status):
        (here / "given_wrong_on_should.py").write_text(
            "from fake_backends import AlwaysRight, AlwaysWrong\n"
            "def prepare(model, device):\n"
            f"    return (AlwaysWrong if model.graph.name == {SHOULD!r} else AlwaysRight)(model)\n"
        )
        assert run("-b", "given_wrong_on_should", "--level", level).status == status

    def test_a_silent_case_fails_no_run(self, run):
        ended = run("-b", WRONG, "-b", RIGHT, "--case", SILENT, "--level", "should")
        assert f"{SILENT} on" not in ended.out

    def test_several_backends_are_judged_one_by_one(self, run):
        ended = run("-b", RIGHT, "-b", WRONG, "--results", "out.jsonl")
        assert ended.status == 1
        assert f"on {RIGHT}" not in ended.out

    def test_several_backends_are_in_one_results_file(self, run, here):
        run("-b", RIGHT, "-b", WRONG, "--results", "out.jsonl")
        verdicts = {key: result["verdict"] for key, result in results_of(here / "out.jsonl").items()}
        assert verdicts == {(s, c): v for s, v in ((RIGHT, "pass"), (WRONG, "fail")) for c in SMALL}

    @pytest.mark.parametrize("name", ["reference", "onnx-reference", "onnxruntime"])
    def test_a_registered_backend_is_run_by_its_short_name(self, run, here, name):
        run("-b", name, "--case", EXACT, "--results", "out.jsonl")
        ((subject, _),) = results_of(here / "out.jsonl")
        assert subject == name

    def test_a_module_is_a_backend(self, run, here):
        (here / "given_module.py").write_text("from fake_backends import AlwaysRight\nprepare = AlwaysRight.prepare\n")
        assert run("-b", "given_module").status == 0

    def test_the_version_of_a_subject_is_told(self, run, here):
        run("-b", RIGHT, "-b", "fake_backends:HasAVersion", "--results", "out.jsonl")
        subjects = {subject["id"]: subject["version"] for subject in read(here / "out.jsonl").header["subjects"]}
        assert subjects == {RIGHT: "0.0.7", "fake_backends:HasAVersion": "<script>1.2</script>"}

    def test_a_selection_by_expression(self, run, here):
        assert run("-b", RIGHT, "-k", "argmax and not tie_last", "--results", "out.jsonl").status == 0
        assert {case for _, case in results_of(here / "out.jsonl")} == {EXACT}

    def test_a_selection_by_id(self, run, here):
        assert run("-b", RIGHT, "--case", ADAM, "--case", EXACT, "--results", "out.jsonl").status == 0
        assert {case for _, case in results_of(here / "out.jsonl")} == {ADAM, EXACT}

    def test_a_selection_is_told_in_the_results(self, run, here):
        run("-b", RIGHT, "-k", "argmax", "--level", "should", "--results", "out.jsonl")
        header = read(here / "out.jsonl").header
        assert (header["selection"]["-k"], header["selection"]["--level"]) == ("argmax", "should")
        assert (header["corpus"]["selected"], header["corpus"]["cases"]) == (2, len(SMALL))

    def test_a_selection_whose_cases_all_are_unsupported_shuts_the_gate(self, run):
        assert run("-b", "raising_backends:SupportsOnlyAdam", "--case", EXACT).status == 1

    def test_x_stops_at_the_first_surprise(self, run, here):
        assert run("-b", WRONG, "-x", "--results", "out.jsonl").status == 1
        assert len(results_of(here / "out.jsonl")) == 1
        assert any("results are missing" in reason for reason in read(here / "out.jsonl").footer["reasons"])

    def test_without_diagnosis_no_result_is_explained(self, run, here):
        assert run("-b", WRONG, "--no-diagnosis", "--results", "out.jsonl").status == 1
        assert not any("observed" in result for result in results_of(here / "out.jsonl").values())
        assert read(here / "out.jsonl").footer["diagnoses"] == []

    def test_quality_is_told_where_it_is_asked_for(self, run, here):
        assert run("-b", RIGHT, "--case", ADAM, "--quality", "--results", "out.jsonl").status == 0
        (told,) = results_of(here / "out.jsonl").values()
        assert list(told["quality"]) == ["IEEE 754", "OpenCL, full profile", "WGSL"]
        assert all(counts["within"] == counts["elements"] > 0 for counts in told["quality"].values())

    def test_lf_runs_what_failed_the_last_time(self, run, here):
        run("-b", "fake_backends:WrongOnArgMax")
        run("-b", "fake_backends:WrongOnArgMax", "--lf", "--results", "out.jsonl")
        assert {case for _, case in results_of(here / "out.jsonl")} == {EXACT, INDEX}

    def test_an_interrupted_run_never_holds(self, run, here):
        ended = run("-b", "fake_backends:Interrupted", "--in-process", "--results", "out.jsonl")
        assert ended.status == 130
        assert "Traceback" not in ended.err
        footer = read(here / "out.jsonl").footer
        assert (footer["gate"], footer["interrupted"]) == ("fail", True)

    def test_an_expected_failure_holds_the_gate(self, run, here):
        subject = "fake_backends:WrongOnArgMax"
        (here / "e.toml").write_text(
            f'subject = "{subject}"\n[[expect]]\ncases = ["*argmax*"]\nverdict = "fail"\nreason = "known <b>"\n'
        )
        assert run("-b", subject, "--expect", "e.toml", "--results", "out.jsonl").status == 0
        assert results_of(here / "out.jsonl")[subject, EXACT]["expected"] == {
            "verdict": "fail",
            "reason": "known <b>",
            "place": "e.toml:3",
        }

    def test_an_unexpected_pass_shuts_it(self, run, here):
        (here / "e.toml").write_text(
            f'subject = "{RIGHT}"\n[[expect]]\ncases = ["{ADAM}"]\nverdict = "fail"\nreason = "known"\n'
        )
        ended = run("-b", RIGHT, "--expect", "e.toml")
        assert ended.status == 1
        assert f"e.toml:3: {ADAM} passes on {RIGHT}, fail expected: take it out" in ended.out

    def test_an_expectation_that_matches_nothing_shuts_a_whole_run_only(self, run, here):
        (here / "e.toml").write_text(
            f'subject = "{RIGHT}"\n[[expect]]\ncases = ["test_gone"]\nverdict = "fail"\nreason = "known"\n'
        )
        assert run("-b", RIGHT, "--expect", "e.toml").status == 1
        assert run("-b", RIGHT, "--expect", "e.toml", "--case", ADAM).status == 0

    def test_every_line_of_its_results_satisfies_the_schema(self, run, here):
        run("-b", WRONG, "-b", "raising_backends:RaisesStrangeText", "--results", "out.jsonl")
        lines = records(here / "out.jsonl")
        assert not [complaint("results", line) for line in lines if complaint("results", line)]
        assert read(here / "out.jsonl").footer["results"] == 2 * len(SMALL)

    def test_the_noise_of_a_backend_spoils_nothing(self, run, here):
        ended = run("-b", "fake_backends:PrintsMuch", "--results", "out.jsonl")
        assert ended.status == 0
        assert "The gate holds." in ended.out
        assert len(results_of(here / "out.jsonl")) == len(SMALL)

    def test_a_report_needs_no_results_file(self, run, here):
        assert run("-b", RIGHT, "--html", "out.html").status == 0
        assert [path for path in tree(here) if "__pycache__" not in path] == ["out.html"]

    def test_a_report_is_written_where_the_gate_is_shut_too(self, run, here):
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
        assert read(here / "a" / "b" / "out.jsonl").footer["gate"] == "pass"

    def test_a_corpus_s_directory_may_have_spaces_and_other_letters(self, command, corpus_copy, tmp_path):
        corpus_copy.rename(tmp_path / "-k ünsere Fälle")
        assert command("run", "-b", RIGHT, "--data", tmp_path / "-k ünsere Fälle").status == 0

    def test_an_old_results_file_is_replaced(self, run, here):
        (here / "out.jsonl").write_text("old\n" * 10_000)
        run("-b", RIGHT, "--results", "out.jsonl")
        assert read(here / "out.jsonl").footer["gate"] == "pass"

    def test_the_user_s_pytest_settings_do_not_touch_it(self, run, here, monkeypatch):
        monkeypatch.setenv("PYTEST_ADDOPTS", "-k nothing")
        (here / "pytest.ini").write_text("[pytest]\naddopts = --no-such-option\n")
        (here / "conftest.py").write_text("raise RuntimeError")
        assert run("-b", RIGHT).status == 0


class TestSeveralProcesses:
    def test_nothing_is_left_in_the_current_and_the_temporary_directory(self, run_apart, here, tmp_path):
        temporary = tmp_path / "temporary"
        temporary.mkdir()
        told = ("-b", WRONG, "--no-diagnosis", "-n", "2")
        assert run_apart(*told, TMPDIR=str(temporary)).status == 1
        assert [*temporary.iterdir(), *here.iterdir()] == []
        assert "1 of 7 cases" in run_apart(*told, "--lf", "-k", EXACT).out

    def test_two_processes_give_what_one_gives(self, run_isolated, run_apart, here):
        backends = ("-b", RIGHT, "-b", "fake_backends:WrongOnArgMax")
        assert run_isolated(*backends, "--results", "one.jsonl").status == 1
        assert run_apart(*backends, "--results", "two.jsonl", "-n", "2").status == 1
        assert comparable(here / "one.jsonl") == comparable(here / "two.jsonl")

    def test_a_backend_s_text_of_any_kind_comes_through(self, run_apart, here):
        assert run_apart("-b", "raising_backends:RaisesStrangeText", "-n", "2", "--results", "out.jsonl").status == 1
        assert len(results_of(here / "out.jsonl")) == len(SMALL)

    def test_a_backend_in_the_current_directory_is_found_by_every_process(self, run_apart, here):
        (here / "given_local.py").write_text("from fake_backends import AlwaysRight\nprepare = AlwaysRight.prepare\n")
        assert run_apart("-b", "given_local", "-n", "2").status == 0

    def test_a_backend_that_kills_its_process_never_holds_the_gate(self, run_apart):
        ended = run_apart("-b", "fake_backends:KillsItsProcess", "-n", "2")
        assert ended.status in {1, 2}, ended.out
        assert "Traceback" not in ended.err
