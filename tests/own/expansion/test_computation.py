"""Expanded optimizers compute permitted results on random models."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from expandable_models import (
    ATTRIBUTES,
    OPERANDS,
    declared,
    every_optimizer,
    is_within,
    model_inputs,
    one_node,
    onnxruntime_outputs,
    reference_outputs,
)
from hypothesis import given
from hypothesis import strategies as st

from conformance.base.verdicts import Level
from conformance.exact.reference.oracle import answers
from conformance.own.expansion import expand, has_training_optimizers

fractions = st.sampled_from([0.0, 0.25, 0.5, 0.75, 0.9, 0.999])


counts = st.sampled_from([-(2**63), -3, 0, 1, 2, 7, 100, 2**24 + 1, 2**40, 2**63 - 1])


SHAPES = [((),), ((3,),), ((2, 2), (3,)), ((0,), (1, 2), ())]


@st.composite
def optimizer_models(draw):
    op_type = draw(st.sampled_from([*OPERANDS]))
    dtype, R_dtype = draw(st.sampled_from([np.float32, np.float64])), draw(st.sampled_from([np.float32, np.float64]))
    attributes = {name: draw(fractions) for name in ATTRIBUTES[op_type] if op_type == "Momentum" or draw(st.booleans())}
    if op_type == "Momentum":
        attributes["mode"] = draw(st.sampled_from(["standard", "nesterov"]))
    shapes = draw(st.sampled_from(SHAPES))
    T = draw(counts)
    R = draw(st.sampled_from([0.1, 0.125, 1.0]))
    model = one_node(op_type, shapes, dtype, R_dtype, **attributes)
    return model, model_inputs(op_type, shapes, dtype, R_dtype, R, T, draw(st.integers(0, 2**32)))


@pytest.mark.parametrize("compute", [reference_outputs, onnxruntime_outputs])
@given(example=optimizer_models())
def test_expanded_optimizer_result_is_within_bounds(compute, example):
    model, inputs = example
    admitted = answers(model.SerializeToString(), inputs, Level.MUST)
    for answer, output in zip(admitted, compute(expand(model), inputs), strict=True):
        assert answer.indeterminacy or is_within(answer, output)


@given(optimizer_models())
def test_expanded_optimizer_has_the_same_exact_values(example):
    model, inputs = example
    for level in (Level.MUST, Level.SHOULD):
        pairs = zip(
            answers(model.SerializeToString(), inputs, level),
            answers(expand(model).SerializeToString(), inputs, level),
            strict=True,
        )
        for fused, primitive in pairs:
            assert fused.indeterminacy or np.array_equal(fused.expected, primitive.expected)


@given(optimizer_models())
def test_expanded_model_is_valid_without_optimizers(example):
    expanded = expand(example[0])
    onnx.checker.check_model(expanded, full_check=True)
    assert not has_training_optimizers(expanded)
    assert [entry.domain for entry in expanded.opset_import] == [""]


@given(optimizer_models())
def test_names_of_expanded_model_are_unique(example):
    graph = expand(example[0]).graph
    names = [node.name for node in graph.node]
    values = [name for node in graph.node for name in node.output] + [tensor.name for tensor in graph.initializer]
    assert len({*names}) == len(names)
    assert len({*values}) == len(values)
    assert not {*values} & {value.name for value in graph.input}


@pytest.mark.parametrize("T", [0, -1, -(2**63)])
@every_optimizer
def test_unused_branch_does_not_affect_the_result(op_type, T):
    inputs = model_inputs(op_type, T=T)
    assert all(np.isfinite(output).all() for output in onnxruntime_outputs(expand(one_node(op_type)), inputs))


def test_power_is_never_computed_for_counts_below_1():
    model = expand(one_node("Adam"))
    powers = [name for node in model.graph.node if node.op_type == "Pow" for name in node.output]
    del model.graph.output[:]
    model.graph.output.extend(declared(name, np.float32) for name in powers)
    values = onnxruntime_outputs(model, model_inputs("Adam", T=-(2**63)))
    assert [value.item() for value in values] == [np.float32(0.999), np.float32(0.9)]
