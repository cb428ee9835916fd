"""`report` writes all formats from results files, and refuses invalid files."""

from __future__ import annotations

import pytest
from refusals import assert_bad_input, assert_usage_error

RIGHT, WRONG = "fake_subject:always_right", "fake_subject:always_wrong"


class TestReport:
    @pytest.fixture
    def results(self, ran, here):
        ran("out.jsonl", "-b", WRONG)
        return here / "out.jsonl"

    def test_report_needs_only_results(self, command, results, here):
        assert command("report", "out.jsonl", "--html", "out.html").status == 0
        assert WRONG in (here / "out.html").read_text()

    def test_report_equals_html_written_by_run(self, run, command, here):
        run("-b", WRONG, "--results", "out.jsonl", "--html", "run.html")
        command("report", "out.jsonl", "--html", "report.html")
        assert (here / "run.html").read_bytes() == (here / "report.html").read_bytes()

    def test_report_of_same_file_twice_is_refused(self, command, results):
        assert_bad_input(
            command("report", "out.jsonl", "./out.jsonl", "--html", "out.html"), "results.given-twice", "out.jsonl"
        )

    def test_report_of_truncated_file_is_refused(self, command, results, here):
        results.write_text(results.read_text()[:-30])
        assert_bad_input(command("report", "out.jsonl", "--html", "out.html"), "results.truncated", "out.jsonl")
        assert not (here / "out.html").exists()

    @pytest.mark.parametrize(
        ("content", "code"),
        [
            ("", "results.truncated"),
            ("hello\n", "results.malformed"),
            ("{}\n", "results.malformed"),
            ('{"record": "header"}\n', "results.malformed"),
        ],
    )
    def test_report_of_unrelated_file_is_refused(self, command, here, content, code):
        (here / "out.jsonl").write_text(content)
        assert_bad_input(command("report", "out.jsonl", "--html", "out.html"), code, "out.jsonl")
        assert not (here / "out.html").exists()

    def test_refused_report_keeps_old_output(self, command, here):
        (here / "out.jsonl").write_text("")
        (here / "out.html").write_text("old")
        assert_bad_input(command("report", "out.jsonl", "--html", "out.html"))
        assert (here / "out.html").read_text() == "old"

    def test_report_of_missing_file_is_refused(self, command):
        assert_bad_input(command("report", "missing.jsonl", "--html", "out.html"), "missing.jsonl")

    def test_report_of_two_runs_shows_both_columns(self, command, results, here):
        (here / "new.jsonl").write_bytes(results.read_bytes())
        assert command("report", "out.jsonl", "new.jsonl", "--html", "out.html").status == 0
        page = (here / "out.html").read_text()
        assert all(f"{WRONG} ({run})" in page for run in ("run 1: out.jsonl", "run 2: new.jsonl"))

    def test_report_to_directory_is_refused(self, command, results, here):
        assert_bad_input(command("report", "out.jsonl", "--html", here), str(here))

    def test_report_without_file_is_usage_error(self, command):
        assert_usage_error(command("report", "--html", "out.html"), "Missing argument")


class TestFormats:
    OPTIONS = ("--html", "--junit", "--ctrf", "--markdown", "--badge", "--json")

    @pytest.mark.variants(3)
    @pytest.mark.parametrize("option", OPTIONS)
    def test_format_option_writes_same_in_run_and_report(self, run_with_faults, command, here, option):
        run_with_faults("-b", WRONG, "--results", "out.jsonl", option, "run.out")
        assert command("report", "out.jsonl", option, "report.out").status == 0
        assert (here / "run.out").read_bytes() == (here / "report.out").read_bytes()

    @pytest.mark.parametrize("option", OPTIONS)
    def test_unwritable_output_is_refused_before_first_case(self, run_with_faults, here, option):
        (here / "given").write_text("")
        assert run_with_faults("-b", "fake_subject:exits_0_midway", option, "given/out").status == 2

    def test_report_without_format_option_is_refused(self, ran, command):
        ran("out.jsonl", "-b", RIGHT)
        ended = command("report", "out.jsonl")
        assert ended.status == 2
        assert ended.code == "usage.report-missing"

    def test_unwritable_output_prevents_all_reports(self, ran, command, here):
        ran("out.jsonl", "-b", RIGHT)
        (here / "given").write_text("")
        assert command("report", "out.jsonl", "--badge", "out.svg", "--junit", "given/out").status == 2
        assert not (here / "out.svg").exists()


class TestEvidence:
    def test_evidence_options_without_folder_are_refused(self, command, here):
        ended = command("report", "out.jsonl", "--restrict", "sonnx", "--html", "out.html")
        assert_bad_input(ended, "usage.evidence-missing", "--restrict")
        assert not (here / "out.html").exists()

    def test_evidence_and_other_report_are_written_together(self, command, ran, here, small_corpus):
        ran("out.jsonl", "-b", RIGHT)
        (here / "map.toml").write_text(
            'format = 1\nname = "a"\ntitle = "a"\n[[source]]\nid = "s"\npath = "p"\n'
            '[[requirement]]\nsource = "s"\ntag = "t"\ntitle = "t"\nreason = "none"\n'
        )
        options = ("--evidence", "evidence", "--requirements", "map.toml", "--data", small_corpus)
        assert command("report", "out.jsonl", *options, "--markdown", "out.md").status == 0
        assert "always_right" in (here / "out.md").read_text()
        assert (here / "evidence" / "SHA256SUMS").is_file()

    def test_evidence_in_used_folder_is_refused(self, command, ran, here):
        ran("out.jsonl", "-b", RIGHT)
        assert_bad_input(command("report", "out.jsonl", "--evidence", here), "evidence.folder-not-empty", here)
