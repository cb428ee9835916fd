"""Every random example has a model that onnx's full check accepts, so a backend that checks its models never fails."""

from __future__ import annotations

import onnx
import pytest
from fake_subject import checks_fully
from hypothesis import given
from hypothesis import strategies as st

from conformance.passes.eliminate_nop_monotone_argmax import PASS_NAME
from conformance.search.cases import NoExpectedOutputsError
from conformance.search.evaluation import EvaluatedExample
from conformance.search.sampling import sample_examples

FAMILIES = ("Adam", "Momentum", "Adagrad", "ArgMax", PASS_NAME)


@given(st.sampled_from(FAMILIES), st.integers(0, 2**32), st.integers(0, 1000))
def test_sample_examples_are_accepted_by_the_full_check(family, seed, chunk):
    for example in sample_examples((family,), seed, chunk, 8):
        onnx.checker.check_model(onnx.load_model_from_string(example.built.model), full_check=True)


@pytest.mark.parametrize("family", FAMILIES)
def test_backend_that_checks_fully_fails_no_example(family):
    wrong, reasons = [], set()
    for example in sample_examples((family,), 5, 0, 40):
        try:
            wrong.append(EvaluatedExample(example).is_wrong(checks_fully))
        except NoExpectedOutputsError as reason:
            reasons.add(str(reason))
    assert len(wrong) > 30
    assert not any(wrong)
    assert "refused by the checker" not in reasons
