"""Faults that onnx's checker does not detect are found."""

from __future__ import annotations

import onnx
import pytest
from onnx import TensorProto, helper

from conformance.judging.optimizer_run import checker_error
from conformance.models.validity import find_missing_functions, find_unchecked_faults


def calling_model():
    """Return a model X → acme.Largest → Y with an unused initializer of two elements."""
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


def remove_function_output(model):
    del model.functions[0].output[:]


def remove_function_body(model):
    del model.functions[0].node[:]


def change_tensor_shape(model):
    model.graph.initializer[0].dims[:] = [3]


UNCHECKED = [
    (remove_function_output, ("acme.Largest", "outputs")),
    (remove_function_body, ("acme.Largest", "B")),
]


def test_valid_model_has_no_unchecked_faults():
    assert list(find_unchecked_faults(calling_model())) == []


@pytest.mark.parametrize(("damage", "named"), UNCHECKED)
def test_fault_accepted_by_the_checker_is_found(damage, named):
    model = calling_model()
    damage(model)
    assert checker_error(model) is None
    (fault,) = find_unchecked_faults(model)
    assert all(name in fault for name in named)


def test_wrong_number_of_elements_is_found():
    model = calling_model()
    change_tensor_shape(model)
    (fault,) = find_unchecked_faults(model)
    assert "tensor W" in fault


def test_removed_function_with_call_is_found():
    after = calling_model()
    del after.functions[:]
    (fault,) = find_missing_functions(calling_model(), after)
    assert "acme.Largest" in fault


def test_inlined_function_is_not_reported():
    after = calling_model()
    after.graph.node[0].CopyFrom(helper.make_node("Neg", ["X"], ["Y"]))
    del after.functions[:]
    assert list(find_missing_functions(calling_model(), after)) == []


def test_external_tensor_is_not_checked():
    model = calling_model()
    tensor = model.graph.initializer[0]
    tensor.ClearField("float_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    assert list(find_unchecked_faults(model)) == []
