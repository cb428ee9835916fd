"""Each case of the pass names a check that a mutant of the catalogue violates in it."""

from __future__ import annotations

import pytest
from pass_cases import defined_pass_cases, optimizer_task

from conformance.corpus.case import CaseKind, PassEffect
from conformance.judging.optimizer import judge_rewrite
from conformance.judging.optimizer_checks import CHECKS
from conformance.passes.eliminate_nop_monotone_argmax import PASS_NAME, eliminate
from mutation.pass_mutants import pass_mutants

OF_THE_PASS = [case for case in defined_pass_cases() if case.kind is CaseKind.PASS]
ABOUT = [case for case in OF_THE_PASS if case.rewrite.effect is not PassEffect.OPTIONAL]
PLAIN = next(case for case in OF_THE_PASS if case.id == "test_exp_argmax_axis_1_float")
"""A case with only the operator and ArgMax."""

MUTANTS = [mutant for mutants in pass_mutants().values() for mutant in mutants]
OF_DETAILS = {"interface", "preservation"}
"""Checks of details. A mutant that violates them on the plain case too is no evidence about another case."""


def violated_checks(case, mutant):
    """Return the names of the checks that a mutant violates on a case."""
    outcome = judge_rewrite(mutant.optimize, (PASS_NAME,), optimizer_task(case))
    return {check.name for check in outcome.checks if check.violation is not None}


def optimized(case, optimize):
    """Return the optimized models of a case, or None if the optimizer raises an error."""
    try:
        return [optimize(optimizer_task(case).model, fixed_point=fixed).SerializeToString() for fixed in (False, True)]
    except Exception:  # noqa: BLE001 - a mutant can raise anything
        return None


@pytest.fixture(scope="module")
def mutants_by_check():
    """The mutants that can violate each check, the most recent one first."""
    plainly = {mutant.id: violated_checks(PLAIN, mutant) for mutant in MUTANTS}
    return {
        check.name: [f for f in MUTANTS if check.name not in OF_DETAILS or check.name not in plainly[f.id]]
        for check in CHECKS
    }


def first_to_fail(case, mutants):
    """Return the first mutant that violates the case's check, and move it to the front."""
    expected = optimized(case, eliminate)
    for mutant in mutants:
        if optimized(case, mutant.optimize) != expected and case.rewrite.check in violated_checks(case, mutant):
            mutants.remove(mutant)
            mutants.insert(0, mutant)
            return mutant
    return None


def test_pass_cases_name_a_check_unless_optional():
    names = {check.name for check in CHECKS}
    assert [case.id for case in OF_THE_PASS if (case.rewrite.check in names) is not (case in ABOUT)] == []


@pytest.mark.whole
def test_pass_cases_have_mutant_that_violates_named_check(mutants_by_check):
    assert len(ABOUT) > 400
    assert [case.id for case in ABOUT if first_to_fail(case, mutants_by_check[case.rewrite.check]) is None] == []


def test_cases_cover_all_kinds_of_checks():
    details = {"interface", "preservation", "leftovers"}
    assert {case.rewrite.check for case in ABOUT} == {"structure", "answers", *details, "hazards"}
