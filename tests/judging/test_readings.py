"""A double optimizer whose outputs are all within their bounds is accused where they fit no one reading."""

from __future__ import annotations

import pytest

from conformance.corpus.loading import load_case
from conformance.deviations import adam
from conformance.deviations.deviation import Alteration, AlteredBackend, Arithmetic
from conformance.judging.backend import judge_backend
from conformance.judging.readings import COMPLAINT
from conformance.verdicts import Verdict

ROOT_IN_FLOAT = {adam.H_SQRT: "single(np.sqrt(H_new)) + epsilon"}
SCALARS_IN_FLOAT = {adam.R_ADJUSTED: f"R * single({adam.R_ADJUSTED.removeprefix('R * ')})"}

SHOWN = "test_adam_shape_2x3x4_double"


@pytest.fixture
def outcome(whole_corpus):
    """What becomes of a case on a kernel of Adam whose pseudo-code is edited."""

    def judge(id, edits):
        backend = AlteredBackend({"Adam": Alteration(arithmetic=Arithmetic(edits))})
        return judge_backend(backend, load_case(whole_corpus, whole_corpus.cases[id]))

    return judge


def test_a_root_in_float_is_told_from_scalars_in_float(outcome):
    told = outcome(SHOWN, ROOT_IN_FLOAT)
    assert (told.verdict, told.phase) == (Verdict.FAIL, "compare")
    assert told.message == f"X_new {COMPLAINT}"
    assert all(output["error_over_bound"] <= 1 for output in told.outputs)


@pytest.mark.parametrize("edits", [{}, SCALARS_IN_FLOAT])
def test_one_reading_throughout_passes(outcome, edits):
    assert outcome(SHOWN, edits).verdict is Verdict.PASS


def test_outputs_beyond_their_bounds_are_told_by_their_first_wrong_element(outcome):
    told = outcome(SHOWN, {adam.STEP: "X + R_adjusted * V_new / H_sqrt"})
    assert COMPLAINT not in told.message
    assert "first at" in told.message
