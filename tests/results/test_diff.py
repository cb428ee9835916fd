"""Comparison of two runs whose results have different effective levels."""

from __future__ import annotations

import re

import pytest
from runs_in_memory import make_result, make_run

from conformance.report.diff import compare_runs, to_text
from conformance.results.file import Results

SUBJECT = {"id": "acme", "kind": "optimizer", "version": "1.0"}


def run(verdict: str, level: str, case_level: str = "must") -> Results:
    """Return a run of one case."""
    header = {"subjects": [SUBJECT]}
    result = make_result(level=level, verdict=verdict)
    return make_run("r.jsonl", header, [{"case": "test_x", "level": case_level}], [result], {})


def kinds(before: Results, after: Results) -> list[str]:
    """Return the headings under which the comparison lists the case."""
    found = compare_runs(before, after)
    return [kind for kind in ("regressions", "fixes", "changes") if getattr(found, kind)]


@pytest.mark.parametrize(
    ("before", "after", "headings"),
    [
        (("fail", "should"), ("fail", "must"), ["regressions"]),
        (("fail", "should"), ("error", "must"), ["regressions"]),
        (("fail", "must"), ("fail", "should"), ["changes"]),
        (("fail", "should"), ("fail", "should"), []),
        (("fail", "should"), ("pass", "must"), ["fixes"]),
        (("pass", "must"), ("fail", "should"), ["regressions"]),
    ],
)
def test_diff_of_levels_has_the_expected_heading(before, after, headings):
    assert kinds(run(*before), run(*after)) == headings


def test_diff_of_case_levels_is_not_a_regression():
    assert kinds(run("fail", "should", "should"), run("fail", "must", "must")) == []


def test_diff_text_has_both_levels():
    text = to_text(compare_runs(run("fail", "must"), run("fail", "should")))
    (line,) = (line for line in text.splitlines() if "test_x" in line)
    assert re.findall("acme|must|should", line) == ["acme", "must", "should"]
