"""The check that a case of the pass is about is one that it can fail by: a rewrite of the catalogue shows it."""

from __future__ import annotations

import pytest
from rewrites import task_of

from conformance.corpus.case import CaseKind, Firing
from conformance.deviations.rewrites import faulty_rewrites
from conformance.generation.defined import defined_cases
from conformance.judging.checks import checks
from conformance.judging.optimizer import judge_rewrite
from conformance.passes.eliminate_nop_monotone_argmax import PASS_NAME, eliminate

OF_THE_PASS = [case for _, case in defined_cases(["eliminate_nop_monotone_argmax"]) if case.kind is CaseKind.PASS]
ABOUT = [case for case in OF_THE_PASS if case.rewrite.answer is not Firing.MAY]
PLAIN = next(case for case in OF_THE_PASS if case.id == "test_exp_argmax_axis_1_float")
"""A case with nothing in it but the pair."""

FAULTS = [fault for faults in faulty_rewrites().values() for fault in faults]
OF_DETAILS = {"interface", "preservation"}
"""Checks of things that a model has or has not: a rewrite that fails by them on the plain case too shows nothing."""


def fails_by(case, fault):
    """The names of the checks that a rewrite fails by on a case."""
    outcome = judge_rewrite(fault.optimize, (PASS_NAME,), task_of(case))
    return {check["name"] for check in outcome.checks if "complaint" in check}


def made(case, optimize):
    """What a rewrite makes of a case's model; None where it raises an error."""
    try:
        return [optimize(task_of(case).model, fixed_point=fixed).SerializeToString() for fixed in (False, True)]
    except Exception:  # noqa: BLE001 - a fault may raise what it likes
        return None


@pytest.fixture(scope="module")
def showing():
    """Per check the rewrites that can show something, the latest that did first."""
    plainly = {fault.id: fails_by(PLAIN, fault) for fault in FAULTS}
    return {
        check.name: [f for f in FAULTS if check.name not in OF_DETAILS or check.name not in plainly[f.id]]
        for check in checks()
    }


def first_to_fail(case, faults):
    """The first rewrite that fails by the case's check, which moves to the front."""
    right = made(case, eliminate)
    for fault in faults:
        if made(case, fault.optimize) != right and case.rewrite.check in fails_by(case, fault):
            faults.remove(fault)
            faults.insert(0, fault)
            return fault
    return None


def test_every_case_of_the_pass_is_about_a_check_but_those_that_may_do_either():
    names = {check.name for check in checks()}
    assert [case.id for case in OF_THE_PASS if (case.rewrite.check in names) is not (case in ABOUT)] == []


@pytest.mark.whole
def test_every_case_can_be_failed_by_the_check_that_it_is_about(showing):
    assert len(ABOUT) > 400
    assert [case.id for case in ABOUT if first_to_fail(case, showing[case.rewrite.check]) is None] == []


def test_some_are_about_the_structure_some_about_answers_some_about_details_and_some_about_hazards():
    details = {"interface", "preservation", "leftovers"}
    assert {case.rewrite.check for case in ABOUT} == {"structure", "answers", *details, "hazards"}
