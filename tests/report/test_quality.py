"""What reports say of the accuracy of answers, where a run was to tell it."""

from __future__ import annotations

import json

from report_sample import small
from runs_in_memory import results_of, whole

from conformance.report.formats import html, markdown
from conformance.report.summary import summary
from conformance.schemas import complaint

FIRST, SECOND = (4, 4), (4, 3)
"""Of how many elements how many are within, in two results."""


def telling():
    """The sample, of whose first subject two results have a quality."""
    run = small()
    subject = run.header["subjects"][0]["id"]
    told = [result for result in results_of(run) if result["subject"] == subject][:2]
    for result, (elements, within) in zip(told, (FIRST, SECOND), strict=True):
        counts = {"elements": elements, "within": within}
        result["quality"] = {"IEEE 754": counts, "WGSL": {"elements": elements, "within": elements}}
        run.rows[subject, result["case"]]["quality"] = result["quality"]
    return run


def test_the_summary_counts_elements_and_cases_by_operator():
    told = summary([telling()])
    counted = [each for each in told["quality"] if each["quality"] == "IEEE 754"]
    assert sum(each["elements"] for each in counted) == 8
    assert sum(each["within"] for each in counted) == 7
    assert sum(each["cases"] for each in counted) == 2
    assert sum(each["cases_within"] for each in counted) == 1
    assert complaint("summary", json.loads(json.dumps(told))) is None


def test_a_summary_of_runs_that_were_not_to_tell_has_none():
    assert "quality" not in summary([small()])


def test_markdown_has_a_row_for_each_operator():
    lines = whole(markdown.render)([telling()]).splitlines()
    at = lines.index("| subject | operator | within IEEE 754 | within WGSL |")
    assert " elements, " in lines[at + 2]


def test_a_case_s_page_has_the_counts_of_each_quality():
    page = whole(html.render)([telling()])
    assert '"quality":[["IEEE 754",3,4],["WGSL",4,4]]' in page
