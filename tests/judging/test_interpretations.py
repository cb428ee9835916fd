"""A double optimizer whose outputs are all within their bounds is accused where they fit no one reading."""

from __future__ import annotations

import pytest

from conformance.corpus.loading import load_case
from conformance.judging.backend import judge_backend
from conformance.judging.compare import NO_INTERPRETATION_VIOLATION
from conformance.mutants.mutant import FormulaArithmetic, KernelPatch, MutantBackend
from conformance.mutants.tables import pseudocode_edits
from conformance.verdicts import Verdict

ROOT_IN_FLOAT = {"H_sqrt": "single(np.sqrt(H_new)) + epsilon"}
SCALARS_IN_FLOAT = {"R_adjusted": "R * single(np.sqrt(1 - beta**T) / (1 - alpha**T))"}

SHOWN = "test_adam_r_and_t_initializers_double"


@pytest.fixture
def outcome(whole_corpus):
    """What becomes of a case on a kernel of Adam whose pseudo-code is edited."""

    def judge(id, edits):
        backend = MutantBackend({"Adam": KernelPatch(arithmetic=FormulaArithmetic(pseudocode_edits("Adam", edits)))})
        return judge_backend(backend, load_case(whole_corpus, whole_corpus.cases[id]))

    return judge


def test_mixed_interpretations_fail(outcome):
    told = outcome(SHOWN, ROOT_IN_FLOAT)
    assert (told.verdict, told.phase) == (Verdict.FAIL, "compare")
    assert told.message == f"X_new {NO_INTERPRETATION_VIOLATION}"
    assert all(output.error_over_bound <= 1 for output in told.outputs)


@pytest.mark.parametrize("edits", [{}, SCALARS_IN_FLOAT])
def test_single_interpretation_passes(outcome, edits):
    assert outcome(SHOWN, edits).verdict is Verdict.PASS


def test_outputs_beyond_bounds_name_the_first_wrong_element(outcome):
    told = outcome(SHOWN, {"X_new": "X + R_adjusted * V_new / H_sqrt"})
    assert NO_INTERPRETATION_VIOLATION not in told.message
    assert "first at" in told.message
