"""The diagnosis names what is wrong with a subject, or one that no case tells apart from it, and never another."""

from __future__ import annotations

import numpy as np
import pytest
from outputs import records

from conformance.deviations import FAMILIES, Alteration, AlteredBackend, catalogue, op_types
from conformance.diagnosis.diagnosis import FamilyEvidence
from conformance.diagnosis.findings import Finding
from conformance.diagnosis.observation import Observation, agree, fails, observe
from conformance.diagnosis.suspicions import Laboratory, Suspicions, is_about
from conformance.schemas import complaint
from conformance.strength.operators import held_cases
from conformance.verdicts import Level, Verdict

DEVIATIONS = {one.id: one for rows in catalogue().values() for one in rows}


@pytest.fixture(scope="module")
def cases(whole_corpus):
    held = held_cases(whole_corpus)
    return {family: {case.id: case for case in held[family] if is_about(case, family)} for family in FAMILIES}


@pytest.fixture(scope="module")
def laboratory():
    return Laboratory()


def findings_of(observe_case, family, cases, laboratory):
    """What a run on a family's cases would find of a subject, given what it makes of each."""
    suspicions, findings = Suspicions(laboratory), {}
    for case in cases.values():
        made = observe_case(case)
        if made is None:
            findings[case.id] = Finding(case.level, Verdict.UNSUPPORTED)
        elif not fails(made, case):
            findings[case.id] = Finding(case.level, Verdict.PASS)
        else:
            alike = suspicions.alike("subject", made, case, catalogue()[family])
            verdict = Verdict.ERROR if made.ended else Verdict.FAIL
            findings[case.id] = Finding(case.level, verdict, frozenset(alike))
    return findings


def diagnosed(observe_case, family, cases, laboratory):
    findings = findings_of(observe_case, family, cases, laboratory)
    return FamilyEvidence.of(family, findings, cases, laboratory).diagnoses("subject")


@pytest.fixture(scope="module", params=FAMILIES)
def planted(request, cases, laboratory):
    """A family's deviations, each planted as a subject, with its diagnoses."""
    own = cases[request.param]
    return own, {
        one: diagnosed(lambda case, one=one: _made(one, case, laboratory), request.param, own, laboratory)
        for one in catalogue()[request.param]
    }


def test_every_planted_deviation_is_named_or_one_that_no_case_tells_apart(planted):
    _, diagnoses = planted
    named = {
        one.id: [(one.id in _named(found), found.agrees, found.of) for found in diagnoses[one]] for one in diagnoses
    }
    assert {id: found for id, found in named.items() if len(found) != 1 or not found[0][0]} == {}
    assert {id: found for id, found in named.items() if found[0][1] != found[0][2]} == {}


def test_those_that_are_said_to_be_alike_are_alike_in_every_case(planted, laboratory):
    own, diagnoses = planted
    pairs = {(one.id, id) for one, found in diagnoses.items() for each in found for id in _named(each) - {one.id}}
    for one, other in pairs:
        for case in own.values():
            a, b = _made(DEVIATIONS[one], case, laboratory), _made(DEVIATIONS[other], case, laboratory)
            assert (a is None) == (b is None)
            if case.level is Level.MUST and a is not None and fails(a, case):
                assert agree(a, b, case), (one, other, case.id)


def _named(diagnosis):
    return {diagnosis.deviation.id, *(other.id for other in diagnosis.alike)}


def _made(deviation, case, laboratory):
    if deviation.operator in op_types(case.model):
        return laboratory.observed(deviation, case)[0]
    return Observation(tuple(tuple(o.expected for o in one.outputs) for one in case.held), ((),) * len(case.held))


def test_a_subject_without_a_fault_has_no_diagnosis(cases, laboratory):
    assert diagnosed(lambda case: observe(AlteredBackend({}), case), "Adam", cases["Adam"], laboratory) == []


def test_a_fault_that_the_catalogue_does_not_have_has_no_diagnosis(cases, laboratory):
    def halved(kernel):
        return lambda node, inputs: [array / array.dtype.type(2) for array in kernel(node, inputs)]

    backend = AlteredBackend({"Adam": Alteration(twists=(halved,))})
    assert diagnosed(lambda case: observe(backend, case), "Adam", cases["Adam"], laboratory) == []


def test_a_fault_beside_another_that_is_unknown_has_no_diagnosis(cases, laboratory):
    known = DEVIATIONS["momentum.empty_refused"].backend.alterations["Momentum"].twists

    def refusing_large(kernel):
        def run(node, inputs):
            if inputs[2].size > 100:
                raise MemoryError
            return kernel(node, inputs)

        return run

    backend = AlteredBackend({"Momentum": Alteration(twists=(*known, refusing_large))})
    assert diagnosed(lambda case: observe(backend, case), "Momentum", cases["Momentum"], laboratory) == []


def test_two_faults_in_different_cases_are_both_named(cases, laboratory):
    faults = ("softmax.as_opset_13", "log_softmax.as_opset_13")
    backend = AlteredBackend({DEVIATIONS[id].operator: _alteration(DEVIATIONS[id]) for id in faults})
    found = diagnosed(lambda case: observe(backend, case), "ArgMax", cases["ArgMax"], laboratory)
    assert {one.deviation.id for one in found} == set(faults)
    assert all(one.agrees < one.of for one in found)


def _alteration(deviation):
    return deviation.backend.alterations[deviation.operator]


def test_observations_differ_where_an_input_was_spoiled_or_an_error_came(cases):
    case = cases["Adam"]["test_adam"]
    right = observe(AlteredBackend({}), case)
    assert agree(right, right, case)
    assert not fails(right, case)
    spoiled = Observation(right.outputs, ((2,),))
    assert fails(spoiled, case)
    assert not agree(right, spoiled, case)
    raised = Observation((), (), "load")
    assert fails(raised, case)
    assert not agree(raised, Observation((), (), "run"), case)


def test_observations_differ_by_type_shape_number_and_value_of_outputs(cases):
    case = cases["Adam"]["test_adam"]
    right = observe(AlteredBackend({}), case)
    (outputs,) = right.outputs
    for changed in (
        [array.astype(np.float64) for array in outputs],
        [array[..., np.newaxis] for array in outputs],
        outputs[:2],
        [*outputs[:2], outputs[2] * np.float32(1.00001)],
        [*outputs[:2], None],
    ):
        assert not agree(right, Observation((tuple(changed),), ((),)), case)


def test_a_run_says_why_in_its_results_and_on_the_terminal(process, tmp_path, small_corpus):
    file = tmp_path / "results.jsonl"
    ended = process("onnx-conformance", "run", "-b", "planted_subject", "--data", small_corpus, "--results", file)
    assert "agrees on 1 of 1 failing cases with: updates the first tensor only" in ended.out, ended
    lines = records(file)
    footer = lines[-1]
    assert all(complaint("results", line) is None for line in lines)
    (diagnosis,) = footer["diagnoses"]
    assert diagnosis["operator"] == "Momentum"
    assert diagnosis["deviation"] == "momentum.first_tensor_only"
    failed = [line for line in lines if line["record"] == "result" and line["verdict"] == "fail"]
    assert diagnosis["deviation"] in failed[0]["agrees_with"]


def test_a_run_without_failures_has_no_diagnosis_and_loads_no_deviation(process, tmp_path, small_corpus):
    file = tmp_path / "results.jsonl"
    process("onnx-conformance", "run", "-b", "reference", "--data", small_corpus, "--results", file)
    assert records(file)[-1]["diagnoses"] == []
    program = "import sys; from conformance.run import session; sys.exit('conformance.deviations' in sys.modules)"
    assert process("python", "-c", program).status == 0
