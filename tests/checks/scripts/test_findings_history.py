"""The lines in reports/findings with the releases that have a fault."""

from __future__ import annotations

import dataclasses

import pytest
from script_modules import script_module

from conformance.base.verdicts import Level
from conformance.run.results.known_faults import known_faults
from conformance.studies.history.timeline import Row, Timeline
from conformance.subjects.calling.subject_names import SubjectKind, SubjectName

TARGET = SubjectName.parse("onnxruntime", SubjectKind.BACKEND)
RELEASES = ("1.0", "1.1", "1.2", "1.3")


@pytest.fixture(scope="module")
def script():
    return script_module("findings_history")


@pytest.fixture(scope="module")
def fault():
    return next(fault for fault in known_faults() if fault.subject == "onnxruntime" and fault.verdict == "fail")


def timeline_of(fault, *verdicts):
    row = Row(verdicts, "", (fault.case,), Level.MUST, fault, 0)
    return Timeline(TARGET, RELEASES, ((),) * 4, (), (row,), (0,) * 4, (0,) * 4)


@pytest.mark.parametrize(
    ("verdicts", "since", "fixed_in"),
    [
        (("pass", "fail", "fail", "fail"), "1.1", None),
        (("pass", "fail", "pass", "pass"), "1.1", "1.2"),
        (("error", "error", "fail", "fail"), "1.2", None),
    ],
)
def test_span_of_fault_has_releases_with_its_verdict(script, fault, verdicts, since, fixed_in):
    span = script.span_of_fault(timeline_of(fault, *verdicts), fault)
    assert (span.since, span.fixed_in) == (since, fixed_in)


def test_release_whose_package_hides_faults_is_left_out(script, fault, monkeypatch):
    monkeypatch.setattr(script, "HIDING_RELEASES", {"onnxruntime": frozenset(("1.0", "1.1"))})
    timeline = timeline_of(fault, "pass", "fail", "fail", "fail")
    span = script.span_of_fault(timeline, fault)
    assert (span.since, span.is_oldest, span.last_good) == ("1.2", True, None)
    sentence = script.releases_sentence({TARGET: timeline}, fault)
    assert sentence.startswith("since 1.2 or earlier (history of 2 releases, 1.2 to 1.3; without 1.0 and 1.1")


def test_fault_without_history_has_no_sentence(script, fault):
    assert script.releases_sentence({}, fault) is None
    other = dataclasses.replace(fault, case="test_other")
    assert script.releases_sentence({TARGET: timeline_of(fault, *["fail"] * 4)}, other) is None


def test_line_is_written_once_into_section_of_fault(script, fault):
    page = (
        f"# onnxruntime 1.0\n\n## {fault.title}\n\nText.\n\n- Cause: none.\n- Upstream: not found.\n\n```\n$ x\n```\n"
    )
    written = script.with_releases(page, fault, "since 1.1 (history).")
    assert written.splitlines()[6:9] == ["- Cause: none.", "- Releases: since 1.1 (history).", "- Upstream: not found."]
    assert script.with_releases(written, fault, "since 1.1 (history).") == written
    assert script.with_releases(written, fault, None) == page


def test_line_of_section_without_upstream_is_its_last_item(script, fault):
    page = (
        f"# x\n\n## {fault.title}\n\nText.\n\n- Cause: none.\n\n```\n$ x\n```\n\n## Another\n\n- Cause: none.\n\n```\n"
    )
    written = script.with_releases(page, fault, "since 1.1.")
    assert written == page.replace("- Cause: none.\n", "- Cause: none.\n- Releases: since 1.1.\n", 1)


def test_page_of_the_history_has_the_number_of_releases(script, fault):
    heading = "| subject | releases | range |\n| --- | --- | --- |\n"
    page = f"Results on 7 releases of runtimes.\n\n{heading}| old | 7 | 1 to 2 |\n\nText.\n"
    found = script.with_counts(page, [timeline_of(fault, *["fail"] * 4)])
    assert found == f"Results on 4 releases of runtimes.\n\n{heading}| onnxruntime | 4 | 1.0 to 1.3 |\n\nText.\n"
