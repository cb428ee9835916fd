"""The report formats: golden files, and validity for parsers and schemas."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html import unescape
from pathlib import Path

import jsonschema_rs
import pytest
from golden_files import FORMATS, GOLDEN, render_golden_files, run_after, run_before
from junitparser import JUnitXml
from lxml import etree
from msgspec import structs, to_builtins
from runs_in_memory import list_results, text_renderer, with_fields, with_records, with_results

from conformance.base.serialization.decoding import schema_violation
from conformance.base.serialization.printable_text import escape_markdown, escape_unprintable
from conformance.run.report.formats import annotations, badge, ctrf, junit, markdown
from conformance.run.report.summary import summary
from conformance.run.results.records import Selection
from conformance.run.results.violations import normalize_message

SCHEMAS = Path(__file__).parent / "formats"
STRANGE = "\x00\x08\x1b[31m\x7f\x85\ufffe\ud800\u202e]]><b>&\"'"


def run_with_strange_text():
    """Return the golden run with control characters and markup in every message and reason."""
    run = run_after()
    results = tuple(with_fields(result, message=STRANGE, stderr=STRANGE) for result in list_results(run))
    return with_results(run, results, footer=with_fields(run.footer, reasons=[STRANGE]))


def passing_run():
    """Return the golden run without unexpected results."""
    run = run_after()
    results = tuple(with_fields(result, unexpected=False) for result in list_results(run))
    return with_results(run, results, footer=with_fields(run.footer, reasons=[], outcome="pass"))


@pytest.mark.parametrize("name", sorted(render_golden_files()))
def test_render_golden_run_gives_golden_file(name):
    golden = (GOLDEN / name).read_text(encoding="utf-8")
    assert render_golden_files()[name] == golden, "to accept it: python tests/support/golden_files.py"


@pytest.mark.parametrize("format", sorted(FORMATS))
def test_render_does_not_depend_on_result_order(format):
    run = run_after()
    assert FORMATS[format]([with_results(run, list_results(run)[::-1])]) == FORMATS[format]([run])


@pytest.mark.parametrize("format", sorted(FORMATS))
def test_render_strange_characters_gives_valid_text(format):
    text = FORMATS[format]([run_with_strange_text()])
    assert text.encode()
    if format.endswith((".xml", ".svg")):
        assert etree.fromstring(text.encode()) is not None


class TestJunit:
    @pytest.fixture(params=[run_after, run_with_strange_text, passing_run], ids=["golden", "strange", "passing"])
    def text(self, request):
        return text_renderer(junit.render)([request.param()])

    def test_document_satisfies_its_schema(self, text):
        schema = etree.XMLSchema(etree.parse(SCHEMAS / "junit.xsd"))
        assert schema.validate(etree.fromstring(text.encode())), schema.error_log

    def test_counts_equal_those_of_a_parser(self, text):
        document = JUnitXml.fromstring(text.encode())
        counts = (document.tests, document.failures, document.errors, document.skipped)
        document.update_statistics()
        assert counts == (document.tests, document.failures, document.errors, document.skipped)

    def test_junit_has_a_suite_per_subject(self, text):
        names = [suite.name for suite in JUnitXml.fromstring(text.encode())]
        assert names[-3:] == [subject.id for subject in run_after().header.subjects]

    def test_failed_run_is_the_first_suite_with_one_failure(self):
        suites = list(JUnitXml.fromstring(text_renderer(junit.render)([run_after()]).encode()))
        assert (suites[0].name, suites[0].failures) == ("run", 1)

    def test_passing_run_has_no_failure(self):
        document = JUnitXml.fromstring(text_renderer(junit.render)([passing_run()]).encode())
        assert (document.failures, document.errors) == (0, 0)
        assert document.skipped > 0

    @pytest.mark.parametrize(
        ("subject", "case", "outcome", "message"),
        [
            ("onnxruntime", "test_adam_epsilon_float", "skipped", "known fail: epsilon is added"),
            (
                "onnxruntime",
                "test_argmax_nan",
                "skipped",
                "recorded only, the specification leaves the behaviour open: fail",
            ),
            ("onnxruntime", "test_adagrad_t_negative", "skipped", "not judged, its level is should: timeout"),
            ("onnxruntime", "test_argmax_ties", "failure", "pass (expected fail: "),
            ("onnxruntime", "test_momentum_nesterov", "error", "error: RuntimeError"),
        ],
    )
    def test_result_has_status_and_reason(self, subject, case, outcome, message):
        root = etree.fromstring(text_renderer(junit.render)([run_after()]).encode())
        (test,) = root.xpath("testsuite[@name=$subject]/testcase[@name=$case]", subject=subject, case=case)
        assert test[0].tag == outcome
        assert test[0].get("message").startswith(message)


class TestCtrf:
    @pytest.mark.parametrize(
        "run", [run_after, run_with_strange_text, passing_run, run_before], ids=lambda run: run.__name__
    )
    def test_document_satisfies_its_schema(self, run):
        schema = json.loads((SCHEMAS / "ctrf.schema.json").read_text())
        document = json.loads(text_renderer(ctrf.render)([run()]))
        assert not [str(error) for error in jsonschema_rs.validator_for(schema).iter_errors(document)]

    def test_summary_counts_the_tests(self):
        results = json.loads(text_renderer(ctrf.render)([run_after()]))["results"]
        counts = results["summary"]
        assert counts["tests"] == len(results["tests"]) == counts["passed"] + counts["failed"] + counts["skipped"]
        assert counts["flaky"] == 1

    def test_passing_run_has_no_failure(self):
        assert json.loads(text_renderer(ctrf.render)([passing_run()]))["results"]["summary"]["failed"] == 0


class TestMarkdown:
    def test_escape_markdown_removes_all_markup(self):
        hostile = "| a ` <script>x</script> [l](http://x) ![i](y) www.x.org *b* __c__ #1 @team ~~d~~ $e$\n# head\\"
        escaped = escape_markdown(hostile)
        assert unescape(escaped) == " ".join(hostile.split())
        assert not re.search(r"[|`<>\[\]!*#@~$\\]|__|www\.|://", re.sub(r"&#\d+;", "", escaped))

    def test_escape_markdown_long_text_keeps_both_ends(self):
        text = unescape(escape_markdown(f"start{'x' * 1000}end", 300))
        assert (len(text), text.startswith("start"), text.endswith("end")) == (300, True, True)

    def test_many_cases_of_one_cause_are_counted(self):
        run = run_after()
        case = run.cases["test_adam"]
        names = [f"test_{number:04}" for number in range(500)]
        first = with_fields(list_results(run)[0], verdict="fail", unexpected=True, message="wrong")
        results = tuple(with_fields(first, case=name) for name in names)
        text = text_renderer(markdown.render)(
            [with_records(run, [with_fields(case, case=name) for name in names], results)]
        )
        assert [int(count) for count in re.findall(r"(\d+) (?:more )?cases", text)] == [7, 500, 500, 480]

    def test_partial_run_shows_selection(self):
        run = run_before()
        corpus = structs.replace(run.header.corpus, selected=2)
        text = text_renderer(markdown.render)(
            [replace(run, header=structs.replace(run.header, corpus=corpus, selections=[Selection("a|b")]))]
        )
        assert "2 of 6" in text
        assert "<code>-k a&#124;b</code>" in text


class TestAnnotations:
    def test_text_of_a_subject_cannot_add_a_command(self):
        lines = text_renderer(annotations.render)([run_with_strange_text()]).splitlines()
        assert [line for line in lines if not line.startswith("::error title=")] == []

    def test_annotations_are_at_most_ten(self):
        run = run_after()
        case, first = run.cases["test_adam"], with_fields(list_results(run)[0], verdict="error", unexpected=True)
        names = [f"test_{number}" for number in range(30)]
        results = [with_fields(first, case=name, message=f"kernel_of_{name[5:]} is missing") for name in names]
        text = text_renderer(annotations.render)(
            [with_records(run, [with_fields(case, case=name) for name in names], results)]
        )
        assert len(text.splitlines()) == 10

    def test_passing_run_has_no_annotation(self):
        assert text_renderer(annotations.render)([passing_run()]) == ""


class TestBadge:
    @pytest.mark.parametrize(
        ("run", "colour"),
        [(run_after, badge.FAILED), (passing_run, badge.SOME_NOT_PASSED)],
        ids=["failed", "passed with known failures"],
    )
    def test_colour_depends_on_the_outcome(self, run, colour):
        assert colour in text_renderer(badge.render)([run()])

    def test_title_of_one_subject_has_outcome_and_passes(self):
        run = passing_run()
        header = structs.replace(run.header, subjects=run.header.subjects[:1])
        results = tuple(result for result in list_results(run) if result.subject == "reference")
        text = text_renderer(badge.render)([with_results(run, results, header=header)])
        assert "PASSED, 5 of 5" in text
        assert badge.ALL_PASSED in text

    def test_parts_are_as_wide_as_their_texts(self):
        root = etree.fromstring(text_renderer(badge.render)([run_after()]).encode())
        widths = [int(one.get("width")) for one in root.iter("{*}rect")][1:]
        lengths = [int(one.get("textLength")) for one in root.iter("{*}text")]
        assert widths == [length + 2 * badge.PADDING for length in lengths]
        assert int(root.get("width")) == sum(widths)


class TestSummary:
    @pytest.mark.parametrize(
        "run", [run_after, run_with_strange_text, passing_run, run_before], ids=lambda run: run.__name__
    )
    def test_document_satisfies_its_schema(self, run):
        assert schema_violation("summary", to_builtins(summary([run()]))) is None

    def test_outcome_of_several_runs_is_fail_if_one_fails(self):
        assert [summary(runs).outcome for runs in ([passing_run()], [passing_run(), run_after()])] == ["pass", "fail"]

    def test_normalize_message_removes_numbers(self):
        first, second = "X_new has 2 wrong of 7: 1.5", "X_new has 5 wrong of 9: -0x1f"
        assert normalize_message(first) == normalize_message(second) == "X_new has N wrong of N: N"


def test_escape_unprintable_keeps_letters_of_all_scripts():
    assert escape_unprintable("naïve Ωμέγα 漢字 😀 a\tb") == "naïve Ωμέγα 漢字 😀 a\tb"
