"""What changed between two runs where the level of a verdict did."""

from __future__ import annotations

import pytest
from runs_in_memory import run_of

from conformance.report.diff_text import as_text
from conformance.results.diff import differences
from conformance.results.file import Results

SUBJECT = {"id": "acme", "kind": "optimizer", "version": "1.0"}


def run(verdict: str, level: str, case_level: str = "must") -> Results:
    """A run of one case."""
    header = {"corpus": {"version": "1.0.0", "digest": "0"}, "subjects": [SUBJECT]}
    result = {"subject": "acme", "case": "test_x", "level": level, "verdict": verdict, "message": "", "outputs": []}
    return run_of("r.jsonl", header, [{"case": "test_x", "level": case_level}], [result], {})


def kinds(before: Results, after: Results) -> list[str]:
    """Under which headings the one case is told of."""
    told = differences(before, after)
    return [kind for kind in ("regressions", "fixes", "changes") if told[kind]]


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (("fail", "should"), ("fail", "must"), ["regressions"]),
        (("fail", "should"), ("error", "must"), ["regressions"]),
        (("fail", "must"), ("fail", "should"), ["changes"]),
        (("fail", "should"), ("fail", "should"), []),
        (("fail", "should"), ("pass", "must"), ["fixes"]),
        (("pass", "must"), ("fail", "should"), ["regressions"]),
    ],
)
def test_a_failure_at_another_level_is_told(before, after, told):
    assert kinds(run(*before), run(*after)) == told


def test_a_case_whose_own_level_is_another_is_no_regression():
    assert kinds(run("fail", "should", "should"), run("fail", "must", "must")) == []


def test_the_text_says_both_levels():
    told = as_text(differences(run("fail", "must"), run("fail", "should")))
    assert "acme, fail at must before, fail at should now: test_x" in told
