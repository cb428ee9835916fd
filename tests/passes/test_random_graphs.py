"""The suite's own pass on random valid models: the model stays valid and answers the same, and a fixed point is one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import Phase, given, reject, settings
from random_graphs import models

from conformance.judging.optimizer_run import checker_error, equal_outputs
from conformance.models.arrays import dtype_of
from conformance.models.comparison import canonical_form
from conformance.passes.eliminate_nop_monotone_argmax import eliminate
from conformance.passes.expected import remove_producers
from conformance.reference.oracle import evaluate
from conformance.verdicts import Unsupported
from mutation.pass_mutants import pass_mutants


@given(models())
def test_generated_models_are_valid(model):
    assert checker_error(model) is None


@given(models())
def test_rewritten_models_are_valid(model):
    assert checker_error(eliminate(model, fixed_point=True)) is None


@given(models())
def test_fixed_point_is_stable(model):
    assert eliminate.rewritten(eliminate(model, fixed_point=True))[1] == []


@given(models())
def test_returned_values_are_those_without_producers(model):
    after, gone = eliminate.rewritten(model, fixed_point=True)
    assert remove_producers(model, gone) == after


@given(models())
def test_answers_are_equal_for_exact_operators(model):
    shape = [dim.dim_value for dim in model.graph.input[0].type.tensor_type.shape.dim]
    dtype = dtype_of(model.graph.input[0].type.tensor_type.elem_type)
    X = np.linspace(0.5, 0.75, int(np.prod(shape))).reshape(shape).astype(dtype)
    try:
        before, after = (evaluate(one, [X, np.array(True)]) for one in (model, eliminate(model)))
    except Unsupported:  # Hardmax of a NaN
        reject()
    if not any(array.dtype.kind == "f" and not np.isfinite(array).all() for array in before):
        assert all(equal_outputs(*pair) for pair in zip(before, after, strict=True))


@pytest.mark.parametrize("id", ["any_axis", "ignores_captures", "removes_relu"])
def test_random_graphs_detect_pass_mutants(id):
    fault = next(one for faults in pass_mutants().values() for one in faults if one.id == id)

    @settings(max_examples=200, database=None, phases=[Phase.generate])
    @given(models())
    def compare(model):
        if canonical_form(fault.optimize(model)) != canonical_form(eliminate(model)):
            raise DetectedError

    with pytest.raises(DetectedError):
        compare()


class DetectedError(Exception):
    """A random model shows a fault, and no further models are needed."""
