"""Model-local functions: their attributes, and functions that have the name of an operator."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from one_node_models import f32
from onnx import helper, numpy_helper
from reference_models import declared, reference_outputs

from conformance.reference.oracle import answers
from conformance.verdicts import Level, Unsupported


def function_model(body, attributes=(), defaults=(), domain="own", name="F", **given):
    """Return a model with one call of a function of X."""
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


def test_function_uses_attributes_of_call():
    model = function_model(SCALED, attributes=["scale"], scale=0.25)
    assert answers(model, [f32(2)], Level.MUST)[0].expected.tolist() == [0.5]


def test_function_uses_default_attributes():
    model = function_model(SCALED, defaults=[helper.make_attribute("scale", 4.0)])
    assert answers(model, [f32(2)], Level.MUST)[0].expected.tolist() == [8]
    assert reference_outputs(model, [f32(2)])[0].tolist() == [8]


def test_call_without_required_attribute_is_unsupported():
    with pytest.raises(Unsupported, match="scale"):
        answers(function_model(SCALED, attributes=["scale"]), [f32(2)], Level.MUST)


def test_recursive_function_is_unsupported():
    body = [helper.make_node("F", ["X"], ["Y"], domain="own")]
    with pytest.raises(Unsupported, match=r"own\.F"):
        answers(function_model(body), [f32(2)], Level.MUST)


def test_function_constant_equals_tensor_of_model():
    tensor = numpy_helper.from_array(f32(3))
    body = [helper.make_node("Constant", [], ["c"], value=tensor), helper.make_node("Add", ["X", "c"], ["Y"])]
    assert answers(function_model(body), [f32(2)], Level.MUST)[0].expected.tolist() == [5]


def overriding(body, results, **attributes):
    """Return a model with a function that has the name of Momentum."""
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


def test_overridden_operator_accepts_body_and_operator():
    model, arrays = overriding(RIGHT, ["X_new", "V_new"], **PLAIN)
    for answer in answers(model, arrays, Level.MUST):
        assert answer.indeterminacy is None
    assert [value.tolist() for value in reference_outputs(model, arrays)] == [f32(0.6).tolist(), f32(0.8).tolist()]


def test_function_contradicting_its_operator_is_indeterminate():
    wrong = [helper.make_node("Sub", ["V", "G"], ["V_new"]), *RIGHT[1:]]
    model, arrays = overriding(wrong, ["X_new", "V_new"], **PLAIN)
    assert all(answer.indeterminacy for answer in answers(model, arrays, Level.MUST))
