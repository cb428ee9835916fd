"""What a lowered optimizer computes: what the optimizer may, on random models."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lowerable_models import (
    ATTRIBUTES,
    OPERANDS,
    declared,
    every_optimizer,
    in_onnxruntime,
    inputs_of,
    native,
    one_node,
    within,
)

from conformance.lowering.lowering import lower
from conformance.lowering.optimizers import has_training_optimizers
from conformance.reference.oracle import answers
from conformance.verdicts import Level

law = settings(max_examples=40, deadline=None, derandomize=True)


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
    return model, inputs_of(op_type, shapes, dtype, R_dtype, R, T, draw(st.integers(0, 2**32)))


@law
@given(optimizer_models())
def test_a_lowered_optimizer_computes_what_the_optimizer_may(drawn):
    model, inputs = drawn
    admitted = answers(model.SerializeToString(), inputs, Level.MUST)
    for answer, output in zip(admitted, native(lower(model), inputs), strict=True):
        assert answer.unsettled or within(answer, output)


@law
@given(optimizer_models())
def test_a_lowered_optimizer_has_the_optimizers_exact_values(drawn):
    model, inputs = drawn
    for level in (Level.MUST, Level.SHOULD):
        pairs = zip(
            answers(model.SerializeToString(), inputs, level),
            answers(lower(model).SerializeToString(), inputs, level),
            strict=True,
        )
        for fused, primitive in pairs:
            assert fused.unsettled or np.array_equal(fused.expected, primitive.expected)


@law
@given(optimizer_models())
def test_onnxruntime_computes_a_lowered_optimizer_as_the_optimizer_may(drawn):
    model, inputs = drawn
    admitted = answers(model.SerializeToString(), inputs, Level.MUST)
    for answer, output in zip(admitted, in_onnxruntime(lower(model), inputs), strict=True):
        assert answer.unsettled or within(answer, output)


@law
@given(optimizer_models())
def test_a_lowered_model_is_valid_and_has_no_optimizer(drawn):
    lowered = lower(drawn[0])
    onnx.checker.check_model(lowered, full_check=True)
    assert not has_training_optimizers(lowered)
    assert [entry.domain for entry in lowered.opset_import] == [""]


@law
@given(optimizer_models())
def test_names_of_a_lowered_model_are_unique(drawn):
    graph = lower(drawn[0]).graph
    names = [node.name for node in graph.node]
    values = [name for node in graph.node for name in node.output] + [tensor.name for tensor in graph.initializer]
    assert len({*names}) == len(names)
    assert len({*values}) == len(values)
    assert not {*values} & {value.name for value in graph.input}


@pytest.mark.parametrize("T", [0, -1, -(2**63)])
@every_optimizer
def test_the_branch_that_is_not_taken_leaves_no_trace(op_type, T):
    inputs = inputs_of(op_type, T=T)
    assert all(np.isfinite(output).all() for output in in_onnxruntime(lower(one_node(op_type)), inputs))


def test_no_power_of_a_count_below_1_is_computed():
    model = lower(one_node("Adam"))
    powers = [name for node in model.graph.node if node.op_type == "Pow" for name in node.output]
    del model.graph.output[:]
    model.graph.output.extend(declared(name, np.float32) for name in powers)
    values = in_onnxruntime(model, inputs_of("Adam", T=-(2**63)))
    assert [value.item() for value in values] == [np.float32(0.999), np.float32(0.9)]
