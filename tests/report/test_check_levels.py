"""What reports say of a graph optimizer that fails by checks of a weaker level than the case's."""

from __future__ import annotations

import json
from xml.etree import ElementTree as ET

import pytest
from report_sample_optimizers import EVIL_CHECK, EVIL_OPTIMIZER, FIRES, rewriting
from runs_in_memory import results_of, whole

from conformance.report.formats import ctrf, junit, markdown
from conformance.report.summary import summary
from conformance.schemas import complaint


def surprising():
    """The sample as a gate at `should` has it."""
    run = rewriting(gate="fail", reasons=["why"])
    for result in results_of(run):
        result["surprise"] = result["verdict"] == "fail"
    return run


def test_the_summary_counts_cases_by_check_and_level():
    told = summary([rewriting()])
    assert told["checks"] == [{"subject": EVIL_OPTIMIZER, "check": EVIL_CHECK, "levels": {"should": 1}}]
    assert complaint("summary", json.loads(json.dumps(told))) is None


def test_a_complaint_of_format_1_counts_at_its_case_s_level():
    run = rewriting()
    for result in results_of(run):
        for check in result.get("checks", ()):
            del check["level"]
    assert summary([run])["checks"][0]["levels"] == {"must": 1}


def test_markdown_has_them_as_a_table():
    lines = whole(markdown.render)([rewriting()]).splitlines()
    at = lines.index("| subject | check | should |")
    assert lines[at + 2].endswith("| 1 |")


def test_junit_says_the_level_and_keeps_the_test_s_name():
    root = ET.fromstring(whole(junit.render)([surprising()]))
    test = next(
        test for test in root.iter("testcase") if test.find("failure") is not None and test.get("name") == FIRES
    )
    assert test.get("classname") == f"{EVIL_OPTIMIZER}.must"
    assert test.find("failure").get("message").endswith("(at level should)")


@pytest.mark.parametrize("key", ["name", "level", "complaint"])
def test_ctrf_has_each_complaint(key):
    tests = json.loads(whole(ctrf.render)([surprising()]))["results"]["tests"]
    test = next(test for test in tests if "complaints" in test.get("extra", {}))
    assert test["suite"] == [EVIL_OPTIMIZER, "must"]
    assert test["extra"]["level"] == "should"
    assert test["extra"]["complaints"][0][key]
