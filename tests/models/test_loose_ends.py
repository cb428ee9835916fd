"""What onnx's checker takes though something is missing is found, and named."""

from __future__ import annotations

import onnx
import pytest
from onnx import TensorProto, helper

from conformance.judging.rewriting import refusal
from conformance.models.loose_ends import loose_ends, lost_functions


def calling():
    """X → acme.Largest → Y, beside an initializer of two elements."""
    body = [helper.make_node("Neg", ["A"], ["B"])]
    function = helper.make_function("acme", "Largest", ["A"], ["B"], body, [helper.make_opsetid("", 21)])
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in "XY"]
    graph = helper.make_graph(
        [helper.make_node("Largest", ["X"], ["Y"], domain="acme")],
        "graph",
        values[:1],
        values[1:],
        [helper.make_tensor("W", TensorProto.FLOAT, [2], [1.0, 2.0])],
    )
    imports = [helper.make_opsetid("", 21), helper.make_opsetid("acme", 1)]
    return helper.make_model(graph, functions=[function], ir_version=10, opset_imports=imports)


def without_output(model):
    del model.functions[0].output[:]


def without_body(model):
    del model.functions[0].node[:]


def with_another_shape(model):
    model.graph.initializer[0].dims[:] = [3]


LOOSE = [
    (without_output, "a call of the function acme.Largest takes more outputs than it has"),
    (without_body, "nothing gives the output B of the function acme.Largest"),
]


def test_nothing_is_missing_in_a_whole_model():
    assert list(loose_ends(calling())) == []


@pytest.mark.parametrize(("spoil", "text"), LOOSE)
def test_what_the_checker_takes_is_found(spoil, text):
    model = calling()
    spoil(model)
    assert refusal(model) is None
    assert list(loose_ends(model)) == [text]


def test_a_tensor_without_the_elements_of_its_shape_is_found_by_whatever_version():
    model = calling()
    with_another_shape(model)
    assert list(loose_ends(model)) == ["the tensor W has not the elements of its shape"]


def test_a_function_that_is_called_and_gone_is_lost():
    after = calling()
    del after.functions[:]
    assert list(lost_functions(calling(), after)) == ["the function acme.Largest is called, and is gone"]


def test_a_function_that_is_inlined_is_not_lost():
    after = calling()
    after.graph.node[0].CopyFrom(helper.make_node("Neg", ["X"], ["Y"]))
    del after.functions[:]
    assert list(lost_functions(calling(), after)) == []


def test_a_tensor_in_another_file_is_not_looked_at():
    model = calling()
    tensor = model.graph.initializer[0]
    tensor.ClearField("float_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    assert list(loose_ends(model)) == []
