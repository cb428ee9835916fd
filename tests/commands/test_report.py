"""`report`: written from results alone, in every format, and refused where they cannot be trusted."""

from __future__ import annotations

import pytest
from refusals import assert_bad_input, assert_usage_error

RIGHT, WRONG = "fake_backends:AlwaysRight", "fake_backends:AlwaysWrong"


class TestReport:
    @pytest.fixture
    def results(self, ran, here):
        ran("out.jsonl", "-b", WRONG)
        return here / "out.jsonl"

    def test_it_is_written_from_results_alone(self, command, results, here):
        assert command("report", "out.jsonl", "--html", "out.html").status == 0
        assert WRONG in (here / "out.html").read_text()

    def test_it_is_the_one_that_the_run_writes(self, run, command, here):
        run("-b", WRONG, "--results", "out.jsonl", "--html", "run.html")
        command("report", "out.jsonl", "--html", "report.html")
        assert (here / "run.html").read_bytes() == (here / "report.html").read_bytes()

    def test_one_file_given_twice_is_refused(self, command, results):
        assert_bad_input(command("report", "out.jsonl", "./out.jsonl", "--html", "out.html"), "is given twice")

    def test_a_truncated_file_is_refused_and_nothing_written(self, command, results, here):
        results.write_text(results.read_text()[:-30])
        assert_bad_input(command("report", "out.jsonl", "--html", "out.html"), "out.jsonl is truncated")
        assert not (here / "out.html").exists()

    @pytest.mark.parametrize("content", ["", "hello\n", "{}\n", '{"record": "header"}\n'])
    def test_a_foreign_file_is_refused_and_nothing_written(self, command, here, content):
        (here / "out.jsonl").write_text(content)
        assert_bad_input(command("report", "out.jsonl", "--html", "out.html"), "out.jsonl is ")
        assert not (here / "out.html").exists()

    def test_a_refusal_leaves_the_old_report(self, command, here):
        (here / "out.jsonl").write_text("")
        (here / "out.html").write_text("old")
        assert_bad_input(command("report", "out.jsonl", "--html", "out.html"))
        assert (here / "out.html").read_text() == "old"

    def test_a_missing_file_is_refused(self, command):
        assert_bad_input(command("report", "missing.jsonl", "--html", "out.html"), "missing.jsonl is not a file")

    def test_two_runs_of_one_subject_stand_side_by_side(self, command, results, here):
        (here / "new.jsonl").write_bytes(results.read_bytes())
        assert command("report", "out.jsonl", "new.jsonl", "--html", "out.html").status == 0
        page = (here / "out.html").read_text()
        assert all(f"{WRONG} ({run})" in page for run in ("run 1: out.jsonl", "run 2: new.jsonl"))

    def test_an_output_that_is_a_directory_is_refused(self, command, results, here):
        assert_bad_input(command("report", "out.jsonl", "--html", here), str(here))

    def test_no_file_is_a_usage_error(self, command):
        assert_usage_error(command("report", "--html", "out.html"), "Missing argument")


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

    def test_a_report_of_nothing_is_refused(self, ran, command):
        ran("out.jsonl", "-b", RIGHT)
        ended = command("report", "out.jsonl")
        assert ended.status == 2
        assert "No report is asked for" in ended.err

    def test_where_one_cannot_be_written_none_is(self, ran, command, here):
        ran("out.jsonl", "-b", RIGHT)
        (here / "given").write_text("")
        assert command("report", "out.jsonl", "--badge", "out.svg", "--junit", "given/out").status == 2
        assert not (here / "out.svg").exists()
