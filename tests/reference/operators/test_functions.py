"""Functions of a model: their attributes, and what bears an operator's name."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from one_node_models import f32
from onnx import helper, numpy_helper
from reference_models import declared, native

from conformance.reference.oracle import answers
from conformance.verdicts import Level, Unsupported


def function_model(body, attributes=(), defaults=(), domain="own", name="F", **given):
    """A model that calls a function of X once."""
    function = helper.make_function(
        domain, name, ["X"], ["Y"], body, [helper.make_opsetid("", 13)], list(attributes), list(defaults)
    )
    graph = helper.make_graph(
        [helper.make_node(name, ["X"], ["Z"], domain=domain, **given)],
        "graph",
        [declared("X", f32(0))],
        [declared("Z", f32(0))],
    )
    imports = [helper.make_opsetid("", 13), helper.make_opsetid(domain, 1)]
    return helper.make_model(graph, functions=[function], opset_imports=imports, ir_version=9).SerializeToString()


def constant(name, attribute):
    node = helper.make_node("Constant", [], [name])
    node.attribute.add(name="value_float", ref_attr_name=attribute, type=onnx.AttributeProto.FLOAT)
    return node


SCALED = [constant("c", "scale"), helper.make_node("Mul", ["X", "c"], ["Y"])]


def test_a_functions_attributes_are_those_of_the_call():
    model = function_model(SCALED, attributes=["scale"], scale=0.25)
    assert answers(model, [f32(2)], Level.MUST)[0].expected.tolist() == [0.5]


def test_a_functions_attributes_have_its_defaults():
    model = function_model(SCALED, defaults=[helper.make_attribute("scale", 4.0)])
    assert answers(model, [f32(2)], Level.MUST)[0].expected.tolist() == [8]
    assert native(model, [f32(2)])[0].tolist() == [8]


def test_a_call_without_a_required_attribute_is_unsupported():
    with pytest.raises(Unsupported, match="scale"):
        answers(function_model(SCALED, attributes=["scale"]), [f32(2)], Level.MUST)


def test_a_function_that_calls_itself_is_unsupported():
    body = [helper.make_node("F", ["X"], ["Y"], domain="own")]
    with pytest.raises(Unsupported, match=r"own\.F"):
        answers(function_model(body), [f32(2)], Level.MUST)


def test_a_constant_tensor_of_a_function_is_what_the_model_holds():
    tensor = numpy_helper.from_array(f32(3))
    body = [helper.make_node("Constant", [], ["c"], value=tensor), helper.make_node("Add", ["X", "c"], ["Y"])]
    assert answers(function_model(body), [f32(2)], Level.MUST)[0].expected.tolist() == [5]


def overriding(body, results, **attributes):
    """A model whose own function bears the name of Momentum."""
    names = ["R", "T", "X", "G", "V"]
    training = "ai.onnx.preview.training"
    arrays = [np.array(0.5, np.float32), np.array(2), f32(1), f32(0.1), f32(0.7)]
    function = helper.make_function(
        training, "Momentum", names, results, body, [helper.make_opsetid("", 13)], [*attributes]
    )
    graph = helper.make_graph(
        [helper.make_node("Momentum", names, results, domain=training, **attributes)],
        "graph",
        [declared(name, array) for name, array in zip(names, arrays, strict=True)],
        [declared(name, f32(0)) for name in results],
    )
    imports = [helper.make_opsetid("", 13), helper.make_opsetid(training, 1)]
    model = helper.make_model(graph, functions=[function], opset_imports=imports, ir_version=8)
    return model.SerializeToString(), arrays


PLAIN = {"alpha": 1.0, "beta": 1.0, "mode": "standard", "norm_coefficient": 0.0}


RIGHT = [
    helper.make_node("Add", ["V", "G"], ["V_new"]),
    helper.make_node("Mul", ["R", "V_new"], ["step"]),
    helper.make_node("Sub", ["X", "step"], ["X_new"]),
]


def test_a_function_that_bears_an_operators_name_may_be_run_as_either():
    model, arrays = overriding(RIGHT, ["X_new", "V_new"], **PLAIN)
    for answer in answers(model, arrays, Level.MUST):
        assert answer.unsettled is None
    assert [value.tolist() for value in native(model, arrays)] == [f32(0.6).tolist(), f32(0.8).tolist()]


def test_a_function_that_contradicts_the_operator_of_its_name_is_in_doubt():
    wrong = [helper.make_node("Sub", ["V", "G"], ["V_new"]), *RIGHT[1:]]
    model, arrays = overriding(wrong, ["X_new", "V_new"], **PLAIN)
    assert all(answer.unsettled for answer in answers(model, arrays, Level.MUST))
