"""Reports of a graph optimizer that only violates checks of a weaker level."""

from __future__ import annotations

import json
from xml.etree import ElementTree as ET

import pytest
from msgspec import to_builtins
from report_sample_optimizers import APPLIES_CASE, EVIL_CHECK, EVIL_OPTIMIZER, optimizer_run
from runs_in_memory import list_results, text_renderer

from conformance.report.formats import ctrf, junit, markdown
from conformance.report.summary import summary
from conformance.serialization.json_schema import schema_violation


def failed_run():
    """Return the sample as a failed run with level should."""
    run = optimizer_run(outcome="fail", reasons=["why"])
    for result in list_results(run):
        result.unexpected = result.verdict == "fail"
    return run


def test_summary_counts_cases_by_check_and_level():
    document = summary([optimizer_run()])
    assert to_builtins(document)["checks"] == [
        {"subject": EVIL_OPTIMIZER, "check": EVIL_CHECK, "levels": {"should": 1}}
    ]
    assert schema_violation("summary", to_builtins(document)) is None


def test_markdown_has_a_table_of_checks():
    lines = text_renderer(markdown.render)([optimizer_run()]).splitlines()
    at = lines.index("| subject | check | should |")
    assert lines[at + 2].endswith("| 1 |")


def test_junit_message_has_the_weaker_level():
    root = ET.fromstring(text_renderer(junit.render)([failed_run()]))
    test = next(
        test for test in root.iter("testcase") if test.find("failure") is not None and test.get("name") == APPLIES_CASE
    )
    assert test.get("classname") == f"{EVIL_OPTIMIZER}.must"
    assert test.find("failure").get("message").endswith("(at level should)")


@pytest.mark.parametrize("key", ["name", "level", "violation"])
def test_ctrf_has_each_violation(key):
    tests = json.loads(text_renderer(ctrf.render)([failed_run()]))["results"]["tests"]
    test = next(test for test in tests if "checks" in test.get("extra", {}))
    assert test["suite"] == [EVIL_OPTIMIZER, "must"]
    assert test["extra"]["level"] == "should"
    assert test["extra"]["checks"][0][key]
