"""Known faults: read from the pages of docs/findings, and found again by a subject and a case."""

from __future__ import annotations

import pytest

from conformance.results.known_faults import known_faults, known_faults_in
from conformance.verdicts import Level, Verdict

KEPT, REMOVED = "test_argmax_empty_0_2_3_kept", "test_argmax_empty_0_2_3_removed"
TITLE = "ArgMax of an empty tensor along a negative axis has the shape of its input"


def titles(*arguments: str) -> list[str]:
    return [fault.title for fault in known_faults_in(*arguments)]


def test_a_section_of_a_page_is_a_fault():
    (fault,) = (fault for fault in known_faults() if fault.title == TITLE)
    assert fault.place == f"docs/findings/onnxruntime.md#{TITLE.lower().replace(' ', '-')}"
    assert (fault.runtime, fault.subject, fault.kind) == (f"onnxruntime {fault.version}", "onnxruntime", "backend")
    assert (fault.case, fault.verdict, fault.level) == (REMOVED, Verdict.FAIL, Level.MUST)
    assert fault.lead == "`argmax.keepdims`: with keepdims = 0, the axis is not in the result."
    assert fault.points[0] == "Input: X of float[0, 2, 3], axis = -1, keepdims = 0."
    assert fault.upstream == "not found."
    assert fault.reproduction == f"onnx-conformance repro {REMOVED} -b onnxruntime -o reproduction"


@pytest.mark.parametrize("subject", ["onnxruntime", "onnxruntime@1.20.1", "onnxruntime[optimization=disabled]"])
@pytest.mark.parametrize("case", [KEPT, REMOVED])
def test_it_is_known_in_each_case_that_it_names_whatever_the_release_and_the_options(subject, case):
    assert titles(subject, "backend", case) == [TITLE]


@pytest.mark.parametrize(
    "unknown",
    [
        ("onnxruntime", "optimizer", REMOVED),
        ("tract", "backend", REMOVED),
        ("onnxruntime", "backend", "test_adam"),
        ("exec:onnxruntime", "backend", REMOVED),
        ("acme.onnxruntime:Backend", "backend", REMOVED),
    ],
)
def test_it_is_known_of_nothing_else(unknown):
    assert titles(*unknown) == []


def test_a_provider_s_faults_are_its_own():
    case, provider = "test_nesterov_momentum_expanded", "onnxruntime[provider=OpenVINOExecutionProvider]"
    assert titles("onnxruntime[fallback=allow,provider=OpenVINOExecutionProvider]", "backend", case)
    assert (titles("onnxruntime", "backend", case), titles(provider, "backend", REMOVED)) == ([], [])


def test_the_fault_whose_smallest_case_it_is_comes_first():
    case = "test_softmax_argmax_opset_11_axis_1"
    assert known_faults_in("onnx-reference", "backend", case)[0].case == case
