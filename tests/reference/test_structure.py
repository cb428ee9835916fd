"""Parts of a model other than operators: initializers, constants, functions, sequences and optionals."""

from __future__ import annotations

from functools import partial

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from reference_models import build_model, reference_outputs

from conformance.reference.graph import Graph
from conformance.reference.numbers.native_system import NativeSystem
from conformance.reference.oracle import answers
from conformance.verdicts import Level, Unsupported

f32 = partial(np.array, dtype=np.float32)
i64 = partial(np.array, dtype=np.int64)
node = helper.make_node
FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


def outputs_of(serialised, inputs):
    """Return the outputs, after an assertion that the native and the interval system agree."""
    expected = [answer.expected.tolist() for answer in answers(serialised, inputs, Level.MUST)]
    assert [output.tolist() for output in reference_outputs(serialised, inputs)] == expected
    return expected


def given_and_default():
    default = numpy_helper.from_array(f32([10, 20]), "default")
    nodes = [node("Sub", ["X", "default"], ["Y"])]
    return build_model(nodes, {"X": f32([1, 2]), "default": f32([1, 1])}, {"Y": FLOAT}, initializers=[default])


def test_initializer_replaces_omitted_input():
    assert outputs_of(given_and_default(), [f32([1, 2])]) == [[-9, -18]]


def test_given_input_overrides_initializer():
    assert outputs_of(given_and_default(), [f32([1, 2]), f32([1, 1])]) == [[0, 1]]


@pytest.mark.parametrize(("indices", "shape"), [([1, 5], [2, 3]), ([[0, 1], [1, 2]], [2, 3])])
def test_sparse_initializer_becomes_dense(indices, shape):
    values = numpy_helper.from_array(f32([7, 8]), "W")
    sparse = helper.make_sparse_tensor(values, numpy_helper.from_array(i64(indices)), shape)
    model = onnx.load_model_from_string(build_model([node("Add", ["X", "W"], ["Y"])], {"X": f32(0)}, {"Y": FLOAT}))
    model.graph.sparse_initializer.append(sparse)
    assert outputs_of(model.SerializeToString(), [f32(0)]) == [[[0, 7, 0], [0, 0, 8]]]


def test_sparse_tensor_with_invalid_index_is_unsupported():
    values = numpy_helper.from_array(f32([7]), "W")
    sparse = helper.make_sparse_tensor(values, numpy_helper.from_array(i64([6])), [2, 3])
    model = onnx.load_model_from_string(build_model([node("Add", ["X", "W"], ["Y"])], {"X": f32(0)}, {"Y": FLOAT}))
    model.graph.sparse_initializer.append(sparse)
    with pytest.raises(Unsupported, match="sparse"):
        outputs_of(model.SerializeToString(), [f32(0)])


SPARSE = helper.make_sparse_tensor(numpy_helper.from_array(f32([5]), "values"), numpy_helper.from_array(i64([1])), [3])


@pytest.mark.parametrize(
    ("attribute", "value", "expected"),
    [
        ("value", numpy_helper.from_array(f32([1, 2])), [1, 2]),
        ("sparse_value", SPARSE, [0, 5, 0]),
        ("value_float", 1.5, 1.5),
        ("value_floats", [1.5, 2.5], [1.5, 2.5]),
        ("value_int", 3, 3),
        ("value_ints", [3, 4], [3, 4]),
    ],
)
def test_constant_equals_attribute(attribute, value, expected):
    serialised = build_model([node("Constant", [], ["Y"], **{attribute: value})], {}, {"Y": FLOAT})
    assert outputs_of(serialised, []) == [expected]


@pytest.mark.parametrize(("attribute", "value"), [("value_string", "a"), ("value_strings", ["a", "b"])])
def test_unused_string_constant_is_accepted(attribute, value):
    nodes = [node("Constant", [], ["text"], **{attribute: value}), node("Neg", ["X"], ["Y"])]
    assert outputs_of(build_model(nodes, {"X": f32(1)}, {"Y": FLOAT}), [f32(1)]) == [-1]


def test_unused_string_initializer_is_accepted():
    text = helper.make_tensor("text", TensorProto.STRING, [1], [b"a"])
    serialised = build_model([node("Neg", ["X"], ["Y"])], {"X": f32(1)}, {"Y": FLOAT}, initializers=[text])
    assert outputs_of(serialised, [f32(1)]) == [-1]


def with_function(op_type, body, *, domain="acme", attributes=(), inputs=("A",), **call):
    """Return a model with one call of a function on X."""
    nodes = [node(op_type, ["X"], ["Y"], domain=domain, **call)]
    model = onnx.load_model_from_string(build_model(nodes, {"X": f32([1, 2])}, {"Y": FLOAT}))
    imports = [helper.make_opsetid("", 13)]
    function = helper.make_function(domain, op_type, list(inputs), ["B"], body, imports, list(attributes))
    model.functions.append(function)
    if domain:
        model.opset_import.append(helper.make_opsetid(domain, 1))
    return model.SerializeToString()


@pytest.mark.parametrize("op_type", ["Exp", "Log", "Sqrt", "Softmax", "LogSoftmax", "ArgMax", "If", "Constant"])
def test_function_of_other_domain_is_not_the_operator(op_type):
    assert outputs_of(with_function(op_type, [node("Neg", ["A"], ["B"])]), [f32([1, 2])]) == [[-1, -2]]


def test_subgraph_in_function_captures_values():
    branches = {
        name: helper.make_graph([node(op, ["A"], ["C"])], name, [], [helper.make_tensor_value_info("C", FLOAT, None)])
        for name, op in (("then_branch", "Neg"), ("else_branch", "Abs"))
    }
    body = [
        node("Constant", [], ["yes"], value=numpy_helper.from_array(np.array(True))),
        node("If", ["yes"], ["B"], **branches),
    ]
    assert outputs_of(with_function("Chosen", body), [f32([1, 2])]) == [[-1, -2]]


def test_function_attribute_reaches_subgraphs():
    inner = node("LeakyRelu", ["A"], ["C"])
    inner.attribute.add(name="alpha", ref_attr_name="slope", type=onnx.AttributeProto.FLOAT)
    graph = helper.make_graph([inner], "branch", [], [helper.make_tensor_value_info("C", FLOAT, None)])
    body = [
        node("Constant", [], ["yes"], value=numpy_helper.from_array(np.array(True))),
        node("If", ["yes"], ["B"], then_branch=graph, else_branch=graph),
    ]
    serialised = with_function("Leaky", body, attributes=["slope"], slope=0.5)
    assert outputs_of(serialised, [f32([-4, 2])]) == [[-2, 2]]


def test_omitted_call_input_is_absent_in_function():
    body = [node("Clip", ["A", "least", "most"], ["B"])]
    assert outputs_of(with_function("Bound", body, inputs=("A", "least", "most")), [f32([1, 2])]) == [[1, 2]]


def test_undefined_value_is_unsupported():
    with pytest.raises(Unsupported, match="missing"):
        reference_outputs(build_model([node("Add", ["X", "missing"], ["Y"])], {"X": f32(1)}, {"Y": FLOAT}), [f32(1)])


SEQUENCE_NODES = {
    "at": [node("SequenceConstruct", ["X", "Z"], ["S"]), node("SequenceAt", ["S", "minus_one"], ["Y"])],
    "insert": [
        node("SequenceEmpty", [], ["E"], dtype=FLOAT),
        node("SequenceInsert", ["E", "X"], ["S"]),
        node("SequenceInsert", ["S", "Z", "zero"], ["S2"]),
        node("SequenceAt", ["S2", "zero"], ["Y"]),
    ],
    "erase": [
        node("SequenceConstruct", ["X", "Z"], ["S"]),
        node("SequenceErase", ["S", "zero"], ["S2"]),
        node("SequenceAt", ["S2", "zero"], ["Y"]),
    ],
    "optional": [node("Optional", ["Z"], ["O"]), node("OptionalGetElement", ["O"], ["Y"])],
}


@pytest.mark.parametrize("nodes", SEQUENCE_NODES.values(), ids=SEQUENCE_NODES)
def test_sequences_and_optionals_return_elements(nodes):
    inputs = {"X": f32([1, 2]), "Z": f32([3]), "zero": i64(0), "minus_one": i64(-1)}
    assert outputs_of(build_model(nodes, inputs, {"Y": FLOAT}, opset=15), [*inputs.values()]) == [[3]]


@pytest.mark.parametrize(("new_axis", "Y"), [(0, [1, 2, 3, 4]), (1, [[1, 3], [2, 4]])])
def test_concat_from_sequence_supports_new_axis(new_axis, Y):
    nodes = [
        node("SequenceConstruct", ["X", "Z"], ["S"]),
        node("ConcatFromSequence", ["S"], ["Y"], axis=new_axis, new_axis=new_axis),
    ]
    inputs = {"X": f32([1, 2]), "Z": f32([3, 4])}
    assert outputs_of(build_model(nodes, inputs, {"Y": FLOAT}), [*inputs.values()]) == [Y]


@pytest.mark.parametrize(("nodes", "Y"), [
    ([node("SplitToSequence", ["X"], ["S"]), node("SequenceLength", ["S"], ["Y"])], 2),
    ([node("Optional", ["X"], ["O"]), node("OptionalHasElement", ["O"], ["Y"])], True),
    ([node("Optional", [], ["O"], type=helper.make_tensor_type_proto(FLOAT, None)),
      node("OptionalHasElement", ["O"], ["Y"])], False),
])  # fmt: skip
def test_sequence_length_and_optional_state_are_reported(nodes, Y):
    assert outputs_of(build_model(nodes, {"X": f32([1, 2])}, {"Y": INT64}, opset=15), [f32([1, 2])]) == [Y]


def test_sequence_can_be_a_graph_input():
    nodes = [node("SequenceAt", ["S", "zero"], ["Y"])]
    model = onnx.load_model_from_string(build_model(nodes, {"S": f32(0), "zero": i64(0)}, {"Y": FLOAT}))
    values = Graph.from_model(model).run([[f32([1]), f32([2])], i64(0)], NativeSystem())
    assert values[0].elements.tolist() == [1]


def test_optional_graph_input_can_be_empty():
    nodes = [node("OptionalHasElement", ["O"], ["Y"])]
    model = onnx.load_model_from_string(build_model(nodes, {"O": f32(0)}, {"Y": INT64}, opset=15))
    assert not Graph.from_model(model).run([None], NativeSystem())[0].elements.item()
