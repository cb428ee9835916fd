"""The suite's own pass on random valid models: the model stays valid and answers the same, and a fixed point is one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, reject, settings
from random_graphs import models

from conformance.deviations.rewrites import faulty_rewrites
from conformance.judging.examples import same
from conformance.judging.rewriting import refusal
from conformance.models.arrays import dtype_of
from conformance.models.canonical import form
from conformance.passes.eliminate_nop_monotone_argmax import eliminate
from conformance.passes.expected import without
from conformance.reference.evaluation import evaluate
from conformance.verdicts import Unsupported

EXAMPLES = 40


@settings(max_examples=EXAMPLES)
@given(models())
def test_the_models_are_valid(model):
    assert refusal(model) is None


@settings(max_examples=EXAMPLES)
@given(models())
def test_a_rewritten_model_is_valid(model):
    assert refusal(eliminate(model, fixed_point=True)) is None


@settings(max_examples=EXAMPLES)
@given(models())
def test_nothing_is_left_to_do_at_a_fixed_point(model):
    assert eliminate.rewritten(eliminate(model, fixed_point=True))[1] == []


@settings(max_examples=EXAMPLES)
@given(models())
def test_the_values_it_names_are_those_whose_producers_are_gone(model):
    after, gone = eliminate.rewritten(model, fixed_point=True)
    assert without(model, gone) == after


@settings(max_examples=EXAMPLES)
@given(models())
def test_the_answers_stay_where_every_operator_has_a_number(model):
    shape = [dim.dim_value for dim in model.graph.input[0].type.tensor_type.shape.dim]
    dtype = dtype_of(model.graph.input[0].type.tensor_type.elem_type)
    X = np.linspace(0.5, 0.75, int(np.prod(shape))).reshape(shape).astype(dtype)
    try:
        before, after = (evaluate(one, [X, np.array(True)]) for one in (model, eliminate(model)))
    except Unsupported:  # Hardmax of a NaN
        reject()
    if not any(array.dtype.kind == "f" and not np.isfinite(array).all() for array in before):
        assert all(same(*pair) for pair in zip(before, after, strict=True))


@pytest.mark.parametrize("id", ["any_axis", "ignores_captures", "removes_relu"])
def test_they_tell_the_pass_from_a_faulty_one(id):
    fault = next(one for faults in faulty_rewrites().values() for one in faults if one.id == id)
    told = []

    @settings(max_examples=200, database=None)
    @given(models())
    def compare(model):
        told.append(form(fault.optimize(model)) != form(eliminate(model)))

    compare()
    assert any(told)
