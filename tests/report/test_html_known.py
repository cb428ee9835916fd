"""Known faults in the HTML report: from a cause, a diagnosis and a case's page to what is written up."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from report_sample import SUBJECTS, small
from runs_in_memory import whole

from conformance.report.formats import html
from conformance.report.html import known as shown_faults
from conformance.report.html.columns import columns
from conformance.report.html.known import known
from conformance.results.known_faults import KnownFault
from conformance.verdicts import Level, Verdict

render = whole(html.render)

WRONG, RIGHT = "test_momentum_nesterov", "test_adam"
FAULT = KnownFault(
    *("onnxruntime 9.9", "docs/findings/onnxruntime.md", "T is <b>kept</b>"),
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
    return json.loads(re.search(r'<script type="application/json" id="index">(.*?)</script>', render([small()]))[1])


def test_a_fault_is_known_in_what_goes_wrong_and_not_in_what_passes() -> None:
    (one,) = known(columns([small()]))
    assert (SUBJECTS[one.column], one.cases) == ("onnxruntime", (WRONG,))


def test_a_cause_leads_to_the_case_where_the_fault_is_told() -> None:
    link = f"#case={WRONG}&amp;subject=onnxruntime"
    assert f'known of onnxruntime 9.9: <a href="{link}">T is &lt;b&gt;kept&lt;/b&gt;</a>' in render([small()])


def test_what_is_written_up_is_in_the_document_without_links_that_lead_nowhere() -> None:
    ((subject, runtime, title, points, upstream, place, cases),) = index()["known"]
    assert (SUBJECTS[subject], runtime, title, upstream) == ("onnxruntime", FAULT.runtime, FAULT.title, "onnx/onnx#1")
    assert points == ["Input: T = 1.", "Cause: as before, and `kept`."]
    assert place == "docs/findings/onnxruntime.md#t-is-bkeptb"
    assert [index()["cases"][case][0] for case in cases] == [WRONG]
