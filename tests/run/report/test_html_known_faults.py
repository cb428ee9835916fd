"""Known faults in the HTML report: links from causes, diagnoses and case pages."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest
from report_sample import SUBJECTS, small_run
from runs_in_memory import text_renderer

from conformance.base.verdicts import Level, Verdict
from conformance.run.report.formats import html
from conformance.run.report.html import subjects as shown_faults
from conformance.run.report.html.subjects import columns, known_fault_cases
from conformance.run.results.known_faults import KnownFault

render = text_renderer(html.render)

WRONG, RIGHT = "test_momentum_nesterov", "test_adam"
FAULT = KnownFault(
    *("onnxruntime 1.20.1", "reports/findings/onnxruntime.md", "T is <b>kept</b>"),
    lead="`momentum.t`: T is an input.",
    points=("Input: T = 1.", "Cause: as [before](other.md#before), and `kept`."),
    upstream="onnx/onnx#1",
    command="",
    subject="onnxruntime",
    kind="backend",
    level=Level.MUST,
    case=WRONG,
    verdict=Verdict.ERROR,
    cases=frozenset({WRONG, RIGHT}),
)


@pytest.fixture(autouse=True)
def one_fault_of_onnxruntime(monkeypatch: pytest.MonkeyPatch) -> None:
    def found(subject: str, kind: str, case: str) -> list[KnownFault]:
        return [FAULT] if (subject, kind) == ("onnxruntime", "backend") and case in FAULT.cases else []

    monkeypatch.setattr(shown_faults, "known_faults_in", found)


def index() -> Any:
    return json.loads(re.search(r'<script type="application/json" id="index">(.*?)</script>', render([small_run()]))[1])


def test_known_fault_has_failing_cases_only() -> None:
    (one,) = known_fault_cases(columns([small_run()]))
    assert (SUBJECTS[one.column], one.cases) == ("onnxruntime", (WRONG,))


def test_known_fault_of_another_version_has_no_case(monkeypatch: pytest.MonkeyPatch) -> None:
    older = replace(FAULT, runtime="onnxruntime 1.19.0")
    monkeypatch.setattr(shown_faults, "known_faults_in", lambda *_: [older])
    assert known_fault_cases(columns([small_run()])) == []


def test_cause_links_to_the_case_of_the_known_fault() -> None:
    link = f"#case={WRONG}&amp;subject=onnxruntime"
    assert f' onnxruntime 1.20.1: <a href="{link}">T is &lt;b&gt;kept&lt;/b&gt;</a>' in render([small_run()])


def test_known_fault_text_has_no_links() -> None:
    ((subject, runtime, title, points, upstream, place, cases),) = index()["known"]
    assert (SUBJECTS[subject], runtime, title, upstream) == ("onnxruntime", FAULT.runtime, FAULT.title, "onnx/onnx#1")
    assert points == ["Input: T = 1.", "Cause: as before, and `kept`."]
    assert place == "reports/findings/onnxruntime.md#t-is-bkeptb"
    assert [index()["cases"][case][0] for case in cases] == [WRONG]
