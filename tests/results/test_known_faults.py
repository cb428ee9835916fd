"""Known faults, parsed from the pages in reports/findings and looked up by subject and case."""

from __future__ import annotations

from dataclasses import replace

import pytest
from runs_in_memory import make_result

from conformance.results.known_faults import known_faults, known_faults_in
from conformance.verdicts import Level, Verdict

CASE = "test_argmax_pass_fields_node_function"
TITLE = "A call in a function takes another overload than it names"


def titles(*arguments: str) -> list[str]:
    return [fault.title for fault in known_faults_in(*arguments)]


def test_known_fault_has_the_content_of_its_section():
    (fault,) = (fault for fault in known_faults() if fault.title == TITLE)
    assert fault.location == f"reports/findings/onnxruntime.md#{TITLE.lower().replace(' ', '-')}"
    assert (fault.runtime, fault.subject, fault.kind) == (f"onnxruntime {fault.version}", "onnxruntime", "backend")
    assert (fault.case, fault.verdict, fault.level) == (CASE, Verdict.FAIL, Level.MUST)
    assert fault.lead == (
        "`monotone.preservation`: a function is identified by its domain, name and overload (ONNX IR, functions)."
    )
    assert fault.points[0].startswith("Input: X of float[2, 3]; acme.Same without an overload")
    assert fault.upstream == "not found."
    assert fault.reproduction == f"onnx-conformance repro {CASE} -b onnxruntime --output reproduction"


@pytest.mark.parametrize("subject", ["onnxruntime", "onnxruntime@1.20.1", "onnxruntime[optimization=disabled]"])
def test_known_faults_ignore_release_and_options(subject):
    assert titles(subject, "backend", CASE) == [TITLE]


@pytest.mark.parametrize(
    "unknown",
    [
        ("onnxruntime", "optimizer", CASE),
        ("tract", "backend", CASE),
        ("onnxruntime", "backend", "test_adam"),
        ("exec:onnxruntime", "backend", CASE),
        ("acme.onnxruntime:Backend", "backend", CASE),
    ],
)
def test_known_faults_of_another_subject_are_empty(unknown):
    assert titles(*unknown) == []


def test_known_faults_of_a_provider_are_separate():
    case, provider = "test_nesterov_momentum_expanded", "onnxruntime[provider=OpenVINOExecutionProvider]"
    assert titles("onnxruntime[fallback=allow,provider=OpenVINOExecutionProvider]", "backend", case)
    assert (titles("onnxruntime", "backend", case), titles(provider, "backend", CASE)) == ([], [])


def error(case, message, verdict="error"):
    return make_result(case=case, verdict=verdict, message=message)


@pytest.fixture
def fault():
    """A fault that quotes a message, in two cases."""
    points = ("Input: X.", "Expected: an answer. Got: \"RuntimeError: Domain '' (type: 'Exp') … 7 opsets\".")
    found = next(one for one in known_faults() if one.verdict is Verdict.ERROR)
    return replace(found, runtime="acme 1.2.0", points=points, case="test_a", cases=frozenset({"test_a", "test_b"}))


@pytest.mark.parametrize(
    ("version", "result", "fits"),
    [
        ("1.2.0", error("test_b", "RuntimeError: Domain 'ai' (type: 'Log') has not 12 opsets, sorry"), True),
        ("1.2.0 (acme-base 3)", error("test_a", "RuntimeError: something else"), True),
        ("1.2.1", error("test_a", "RuntimeError: Domain '' (type: 'Exp') has 7 opsets"), False),
        ("1.2.0", error("test_c", "RuntimeError: Domain '' (type: 'Exp') has 7 opsets"), False),
        ("1.2.0", error("test_b", "KeyError: 'Exp'"), False),
        ("1.2.0", error("test_a", "RuntimeError: Domain", "fail"), False),
    ],
)
def test_fits_compares_version_case_verdict_and_message(fault, version, result, fits):
    assert fault.fits(version, result) is fits


def test_known_faults_begin_with_the_smallest_case():
    case = "test_softmax_argmax_opset_11_axis_1"
    assert known_faults_in("onnx-reference", "backend", case)[0].case == case
