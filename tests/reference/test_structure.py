"""What a model is built of beside operators: initializers, constants, functions, sequences and optionals."""

from __future__ import annotations

from functools import partial

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from reference_models import model_of, native

from conformance.reference.graph import Graph
from conformance.reference.numbers.native import Native
from conformance.reference.oracle import answers
from conformance.verdicts import Level, Unsupported

f32 = partial(np.array, dtype=np.float32)
i64 = partial(np.array, dtype=np.int64)
node = helper.make_node
FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


def outputs_of(serialised, inputs):
    """What both systems give, which must agree."""
    expected = [answer.expected.tolist() for answer in answers(serialised, inputs, Level.MUST)]
    assert [output.tolist() for output in native(serialised, inputs)] == expected
    return expected


def given_and_default():
    default = numpy_helper.from_array(f32([10, 20]), "default")
    nodes = [node("Sub", ["X", "default"], ["Y"])]
    return model_of(nodes, {"X": f32([1, 2]), "default": f32([1, 1])}, {"Y": FLOAT}, initializers=[default])


def test_an_initializer_stands_for_an_input_that_is_not_fed():
    assert outputs_of(given_and_default(), [f32([1, 2])]) == [[-9, -18]]


def test_a_fed_input_wins_over_its_initializer():
    assert outputs_of(given_and_default(), [f32([1, 2]), f32([1, 1])]) == [[0, 1]]


@pytest.mark.parametrize(("indices", "shape"), [([1, 5], [2, 3]), ([[0, 1], [1, 2]], [2, 3])])
def test_a_sparse_initializer_is_dense_with_zeros(indices, shape):
    values = numpy_helper.from_array(f32([7, 8]), "W")
    sparse = helper.make_sparse_tensor(values, numpy_helper.from_array(i64(indices)), shape)
    model = onnx.load_model_from_string(model_of([node("Add", ["X", "W"], ["Y"])], {"X": f32(0)}, {"Y": FLOAT}))
    model.graph.sparse_initializer.append(sparse)
    assert outputs_of(model.SerializeToString(), [f32(0)]) == [[[0, 7, 0], [0, 0, 8]]]


def test_a_sparse_tensor_with_an_index_outside_is_refused():
    values = numpy_helper.from_array(f32([7]), "W")
    sparse = helper.make_sparse_tensor(values, numpy_helper.from_array(i64([6])), [2, 3])
    model = onnx.load_model_from_string(model_of([node("Add", ["X", "W"], ["Y"])], {"X": f32(0)}, {"Y": FLOAT}))
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
def test_a_constant_is_what_its_attribute_holds(attribute, value, expected):
    serialised = model_of([node("Constant", [], ["Y"], **{attribute: value})], {}, {"Y": FLOAT})
    assert outputs_of(serialised, []) == [expected]


@pytest.mark.parametrize(("attribute", "value"), [("value_string", "a"), ("value_strings", ["a", "b"])])
def test_a_constant_of_text_may_stand_aside(attribute, value):
    nodes = [node("Constant", [], ["text"], **{attribute: value}), node("Neg", ["X"], ["Y"])]
    assert outputs_of(model_of(nodes, {"X": f32(1)}, {"Y": FLOAT}), [f32(1)]) == [-1]


def test_an_initializer_of_text_may_stand_aside():
    text = helper.make_tensor("text", TensorProto.STRING, [1], [b"a"])
    serialised = model_of([node("Neg", ["X"], ["Y"])], {"X": f32(1)}, {"Y": FLOAT}, initializers=[text])
    assert outputs_of(serialised, [f32(1)]) == [-1]


def with_function(op_type, body, *, domain="acme", attributes=(), inputs=("A",), **call):
    """A model that calls a function on X."""
    nodes = [node(op_type, ["X"], ["Y"], domain=domain, **call)]
    model = onnx.load_model_from_string(model_of(nodes, {"X": f32([1, 2])}, {"Y": FLOAT}))
    imports = [helper.make_opsetid("", 13)]
    function = helper.make_function(domain, op_type, list(inputs), ["B"], body, imports, list(attributes))
    model.functions.append(function)
    if domain:
        model.opset_import.append(helper.make_opsetid(domain, 1))
    return model.SerializeToString()


@pytest.mark.parametrize("op_type", ["Exp", "Log", "Sqrt", "Softmax", "LogSoftmax", "ArgMax", "If", "Constant"])
def test_a_function_of_another_domain_is_not_the_operator_whose_name_it_bears(op_type):
    assert outputs_of(with_function(op_type, [node("Neg", ["A"], ["B"])]), [f32([1, 2])]) == [[-1, -2]]


def test_a_function_may_hold_a_graph_that_captures_its_values():
    branches = {
        name: helper.make_graph([node(op, ["A"], ["C"])], name, [], [helper.make_tensor_value_info("C", FLOAT, None)])
        for name, op in (("then_branch", "Neg"), ("else_branch", "Abs"))
    }
    body = [
        node("Constant", [], ["yes"], value=numpy_helper.from_array(np.array(True))),
        node("If", ["yes"], ["B"], **branches),
    ]
    assert outputs_of(with_function("Chosen", body), [f32([1, 2])]) == [[-1, -2]]


def test_an_attribute_of_a_function_reaches_the_graphs_in_it():
    inner = node("LeakyRelu", ["A"], ["C"])
    inner.attribute.add(name="alpha", ref_attr_name="slope", type=onnx.AttributeProto.FLOAT)
    graph = helper.make_graph([inner], "branch", [], [helper.make_tensor_value_info("C", FLOAT, None)])
    body = [
        node("Constant", [], ["yes"], value=numpy_helper.from_array(np.array(True))),
        node("If", ["yes"], ["B"], then_branch=graph, else_branch=graph),
    ]
    serialised = with_function("Leaky", body, attributes=["slope"], slope=0.5)
    assert outputs_of(serialised, [f32([-4, 2])]) == [[-2, 2]]


def test_an_input_that_a_call_leaves_out_is_absent_in_the_function():
    body = [node("Clip", ["A", "least", "most"], ["B"])]
    assert outputs_of(with_function("Bound", body, inputs=("A", "least", "most")), [f32([1, 2])]) == [[1, 2]]


def test_a_value_that_nothing_gives_is_refused():
    with pytest.raises(Unsupported, match="missing"):
        native(model_of([node("Add", ["X", "missing"], ["Y"])], {"X": f32(1)}, {"Y": FLOAT}), [f32(1)])


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
def test_sequences_and_optionals_give_back_what_they_hold(nodes):
    inputs = {"X": f32([1, 2]), "Z": f32([3]), "zero": i64(0), "minus_one": i64(-1)}
    assert outputs_of(model_of(nodes, inputs, {"Y": FLOAT}, opset=15), [*inputs.values()]) == [[3]]


@pytest.mark.parametrize(("new_axis", "Y"), [(0, [1, 2, 3, 4]), (1, [[1, 3], [2, 4]])])
def test_a_sequence_is_joined_along_an_axis_that_is_there_or_new(new_axis, Y):
    nodes = [
        node("SequenceConstruct", ["X", "Z"], ["S"]),
        node("ConcatFromSequence", ["S"], ["Y"], axis=new_axis, new_axis=new_axis),
    ]
    inputs = {"X": f32([1, 2]), "Z": f32([3, 4])}
    assert outputs_of(model_of(nodes, inputs, {"Y": FLOAT}), [*inputs.values()]) == [Y]


@pytest.mark.parametrize(("nodes", "Y"), [
    ([node("SplitToSequence", ["X"], ["S"]), node("SequenceLength", ["S"], ["Y"])], 2),
    ([node("Optional", ["X"], ["O"]), node("OptionalHasElement", ["O"], ["Y"])], True),
    ([node("Optional", [], ["O"], type=helper.make_tensor_type_proto(FLOAT, None)),
      node("OptionalHasElement", ["O"], ["Y"])], False),
])  # fmt: skip
def test_sequences_and_optionals_tell_what_they_hold(nodes, Y):
    assert outputs_of(model_of(nodes, {"X": f32([1, 2])}, {"Y": INT64}, opset=15), [f32([1, 2])]) == [Y]


def test_a_sequence_may_be_an_input_of_the_graph():
    nodes = [node("SequenceAt", ["S", "zero"], ["Y"])]
    model = onnx.load_model_from_string(model_of(nodes, {"S": f32(0), "zero": i64(0)}, {"Y": FLOAT}))
    values = Graph.of(model).run([[f32([1]), f32([2])], i64(0)], Native())
    assert values[0].elements.tolist() == [1]


def test_an_optional_input_of_the_graph_may_be_empty():
    nodes = [node("OptionalHasElement", ["O"], ["Y"])]
    model = onnx.load_model_from_string(model_of(nodes, {"O": f32(0)}, {"Y": INT64}, opset=15))
    assert not Graph.of(model).run([None], Native())[0].elements.item()
