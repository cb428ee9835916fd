"""The accuracy of outputs in reports of runs with `--accuracy`."""

from __future__ import annotations

from msgspec import to_builtins
from report_sample import small_run
from runs_in_memory import list_results, text_renderer

from conformance.report.formats import html, markdown
from conformance.report.summary import summary
from conformance.results.records import Within
from conformance.serialization.json_schema import schema_violation

FIRST, SECOND = (4, 4), (4, 3)
"""Elements and elements within IEEE 754, in two results."""


def run_with_accuracy():
    """Return the sample run with accuracy in two results of its first subject."""
    run = small_run()
    subject = run.header.subjects[0].id
    results = [result for result in list_results(run) if result.subject == subject][:2]
    for result, (elements, within) in zip(results, (FIRST, SECOND), strict=True):
        result.accuracy = {"IEEE 754": Within(elements, within), "WGSL": Within(elements, elements)}
    return run


def test_summary_counts_elements_and_cases_by_operator():
    document = summary([run_with_accuracy()])
    counted = [each for each in document.accuracy if each.accuracy == "IEEE 754"]
    assert sum(each.elements for each in counted) == 8
    assert sum(each.within for each in counted) == 7
    assert sum(each.cases for each in counted) == 2
    assert sum(each.cases_within for each in counted) == 1
    assert schema_violation("summary", to_builtins(document)) is None


def test_summary_without_accuracy_has_no_key():
    assert "accuracy" not in to_builtins(summary([small_run()]))


def test_markdown_has_an_accuracy_row_for_each_operator():
    lines = text_renderer(markdown.render)([run_with_accuracy()]).splitlines()
    at = lines.index("| subject | operator | within IEEE 754 | within WGSL |")
    assert " elements, " in lines[at + 2]


def test_case_details_have_counts_of_each_grade():
    page = text_renderer(html.render)([run_with_accuracy()])
    assert '"accuracy":[["IEEE 754",3,4],["WGSL",4,4]]' in page
