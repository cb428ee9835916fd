"""Graphs of several nodes and tensors; attributes, their defaults, and initializers."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from reference_models import (
    MOMENTUM,
    OPERANDS,
    RESULTS,
    TRAINING,
    build_model,
    error_in_bounds,
    float32,
    optimizer_inputs,
    optimizer_model,
    optimizer_node,
    oracle_answers,
)

from conformance.base.verdicts import Level, Unsupported
from conformance.exact.models.graphs import ARGMAX_DEFAULTS, softmax_default_axis
from conformance.exact.models.model_building import array_value_info
from conformance.exact.reference.graph import Graph
from conformance.exact.reference.operators.training_optimizers import TRAINING_OPTIMIZERS
from conformance.exact.reference.oracle import answers, evaluate

FLOAT = onnx.TensorProto.FLOAT
INT64 = onnx.TensorProto.INT64
every_optimizer = pytest.mark.parametrize("op_type", TRAINING_OPTIMIZERS)
both_levels = pytest.mark.parametrize("level", [Level.MUST, Level.SHOULD])


def schema(op_type):
    return onnx.defs.get_schema(op_type, 1, TRAINING)


@every_optimizer
def test_required_attributes_equal_schema(op_type):
    required = {name for name, attribute in schema(op_type).attributes.items() if attribute.required}
    assert set(TRAINING_OPTIMIZERS[op_type].required) == required


@every_optimizer
def test_attribute_names_equal_schema(op_type):
    assert {*TRAINING_OPTIMIZERS[op_type].required, *TRAINING_OPTIMIZERS[op_type].defaults} == set(
        schema(op_type).attributes
    )


@every_optimizer
def test_attribute_defaults_equal_schema(op_type):
    defaults = {
        name: attribute.default_value.f
        for name, attribute in schema(op_type).attributes.items()
        if not attribute.required
    }
    assert {name: float32(value) for name, value in TRAINING_OPTIMIZERS[op_type].defaults.items()} == defaults


@every_optimizer
def test_schema_types_of_r_and_tensors_are_floats(op_type):
    operands = schema(op_type).inputs
    assert [set(operands[place].types) for place in (0, 2)] == [{"tensor(float)", "tensor(double)"}] * 2


@every_optimizer
def test_schema_type_of_t_is_int64(op_type):
    assert set(schema(op_type).inputs[1].types) == {"tensor(int64)"}


@every_optimizer
def test_schema_allows_tensors_of_different_types(op_type):
    assert not schema(op_type).inputs[2].is_homogeneous


@every_optimizer
def test_operands_and_results_equal_page(op_type):
    signature = TRAINING_OPTIMIZERS[op_type]
    results = tuple(f"{name}_new" for name in RESULTS[op_type])
    assert (signature.operands, signature.results) == (tuple(OPERANDS[op_type]), results)


def test_argmax_defaults_equal_schema():
    attributes = onnx.defs.get_schema("ArgMax", 13).attributes
    assert {name: attribute.default_value.i for name, attribute in attributes.items()} == ARGMAX_DEFAULTS


@pytest.mark.parametrize("op_type", ["Softmax", "LogSoftmax"])
@pytest.mark.parametrize("opset", [1, 11, 12, 13, 17])
def test_softmax_default_axis_equals_schema(op_type, opset):
    default = onnx.defs.get_schema(op_type, opset, "").attributes["axis"].default_value.i
    assert softmax_default_axis(opset) == default


def explicit(op_type):
    """Return the defaults of the schema as explicit attributes."""
    return {name: attribute.default_value.f for name, attribute in schema(op_type).attributes.items()}


@pytest.mark.parametrize("op_type", ["Adam", "Adagrad"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_omitted_attributes_have_schema_defaults(op_type, dtype):
    inputs = optimizer_inputs(0.1, 3, *([0.3, 0.7] for _ in OPERANDS[op_type]), dtype=dtype)
    defaulted = answers(optimizer_model(op_type, inputs), inputs, Level.SHOULD)
    given = answers(optimizer_model(op_type, inputs, **explicit(op_type)), inputs, Level.SHOULD)
    assert [answer.expected.tolist() for answer in defaulted] == [answer.expected.tolist() for answer in given]


def test_attribute_is_the_float32_of_the_model():
    V_new = oracle_answers("Momentum", 1.0, 0, 0.0, 0.0, 1.0, dtype=np.float64, alpha=0.9)[1]
    assert (V_new.expected.item(), V_new.bound.item()) == (0.8999999761581421, 0.0)


def test_default_attribute_is_the_float32_of_the_schema():
    V_new = oracle_answers("Adam", 1.0, 0, 0.0, 0.0, 1.0, 0.0, dtype=np.float64)[1]
    assert V_new.expected.item() == 0.8999999761581421


@both_levels
def test_answers_depend_on_model_bytes_only(level):
    inputs = optimizer_inputs(0.1, 3, 1.0, 2.0, 3.0, 4.0)
    model = optimizer_model("Adam", inputs)
    again = onnx.load_model_from_string(model).SerializeToString()
    assert [repr(answer) for answer in answers(model, inputs, level)] == [
        repr(answer) for answer in answers(again, inputs, level)
    ]


def test_answers_do_not_modify_inputs():
    inputs = optimizer_inputs(0.1, 3, [1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0])
    before = [array.copy() for array in inputs]
    answers(optimizer_model("Adam", inputs), inputs, Level.MUST)
    assert [array.tolist() for array in inputs] == [array.tolist() for array in before]


# Each optimizer with tensors of different shapes in one node.
TENSORS = {"X": (1.0, 0.25), "G": (-0.5, 2.0), "V": (0.125, 3.0), "H": (4.0, 0.75)}
SHAPES = [(2,), (), (1, 3)]


def tensor(name, place):
    first, step = TENSORS[name]
    shape = SHAPES[place]
    return (first + step * (place + np.arange(np.prod(shape, dtype=int)))).reshape(shape).astype(np.float32)


@every_optimizer
@pytest.mark.parametrize("place", range(len(SHAPES)))
def test_tensors_are_optimized_independently(op_type, place):
    attributes = MOMENTUM if op_type == "Momentum" else {}
    scalars = [np.array(0.1, np.float32), np.array(3)]
    together = [*scalars, *(tensor(name, i) for name in OPERANDS[op_type] for i in range(len(SHAPES)))]
    alone = [*scalars, *(tensor(name, place) for name in OPERANDS[op_type])]
    all_answers = answers(optimizer_model(op_type, together, **attributes), together, Level.MUST)
    own_answers = answers(optimizer_model(op_type, alone, **attributes), alone, Level.MUST)
    own_places = all_answers[place :: len(SHAPES)]
    assert [(answer.expected.tolist(), answer.bound.tolist()) for answer in own_places] == [
        (answer.expected.tolist(), answer.bound.tolist()) for answer in own_answers
    ]


@every_optimizer
def test_tensors_of_different_types_keep_their_types(op_type):
    tensors = [np.ones(2, dtype) for _ in OPERANDS[op_type] for dtype in (np.float32, np.float64)]
    inputs = [np.array(0.1, np.float32), np.array(3), *tensors]
    attributes = MOMENTUM if op_type == "Momentum" else {}
    kinds = [
        answer.expected.dtype for answer in answers(optimizer_model(op_type, inputs, **attributes), inputs, Level.MUST)
    ]
    assert kinds == [np.float32, np.float64] * len(RESULTS[op_type])


def two_steps():
    """Return a model of two Momentum nodes. The second reads the results of the first."""
    attributes = {**MOMENTUM, "alpha": 0.9, "norm_coefficient": 0.01}
    inputs = dict(zip(["R", "T", "X", "G", "V"], optimizer_inputs(0.1, 1, 0.7, -1.3, 0.4), strict=True))
    nodes = [
        optimizer_node("Momentum", ["R", "T", "X", "G", "V"], ["X1", "V1"], **attributes),
        optimizer_node("Momentum", ["R", "T", "X1", "G", "V1"], ["X2", "V2"], **attributes),
    ]
    return build_model(nodes, inputs, {"X2": FLOAT, "V2": FLOAT, "X1": FLOAT}), list(inputs.values())


def test_chained_steps_bound_contains_float_evaluation():
    model, inputs = two_steps()
    R, _, X, G, V = inputs
    alpha, norm = np.float32(0.9), np.float32(0.01)
    for _ in range(2):
        V = alpha * V + (norm * X + G)
        X = X - R * V
    X2, V2, _ = answers(model, inputs, Level.MUST)
    assert max(error_in_bounds(X2, X), error_in_bounds(V2, V)) <= 1


def test_bound_grows_with_each_step():
    X2, _, X1 = answers(*two_steps(), Level.MUST)
    assert X2.bound.item() > X1.bound.item() > 0


def test_outputs_have_order_of_graph():
    model, _ = two_steps()
    assert Graph.from_model(onnx.load_model_from_string(model)).outputs == ("X2", "V2", "X1")


def test_different_optimizers_can_be_chained():
    shared = dict(zip(["R", "T", "X", "G", "H"], optimizer_inputs(0.5, 0, 1.0, 2.0, 0.0), strict=True))
    nodes = [
        optimizer_node("Adagrad", ["R", "T", "X", "G", "H"], ["X1", "H1"], epsilon=0.0),
        optimizer_node("Momentum", ["R", "T", "X1", "G", "H1"], ["X2", "V2"], **MOMENTUM),
    ]
    # Adagrad: H1 = 4, X1 = 1 - 0.5 * 2 / 2 = 0.5; Momentum: V2 = 2, X2 = 0.5 - 0.5 * 2 = -0.5.
    outputs = answers(build_model(nodes, shared, {"X2": FLOAT, "V2": FLOAT}), list(shared.values()), Level.SHOULD)
    assert [answer.expected.item() for answer in outputs] == [-0.5, 2.0]


def test_optimizer_output_can_be_a_learning_rate():
    inputs = optimizer_inputs(0.5, 0, 1.0, 2.0, 0.0)
    named = dict(
        zip(["R", "T", "X", "G", "V"], [*inputs[:2], *(array.reshape(()) for array in inputs[2:])], strict=True)
    )
    nodes = [
        optimizer_node("Momentum", ["R", "T", "X", "G", "V"], ["X1", "V1"], **MOMENTUM),
        optimizer_node("Momentum", ["V1", "T", "X", "G", "V"], ["X2", "V2"], **MOMENTUM),
    ]
    # V1 = 2 and X2 = 1 - 2 * 2.
    X2 = answers(build_model(nodes, named, {"X2": FLOAT}), list(named.values()), Level.MUST)[0]
    assert (X2.expected.shape, X2.expected.item()) == ((), -3.0)


def test_input_as_output_is_unchanged():
    X = np.array([0.1, 5e-324, -0.0, np.inf])
    answer = answers(build_model([], {"X": X}, {"X": onnx.TensorProto.DOUBLE}), [X], Level.MUST)[0]
    assert (answer.expected.tobytes(), answer.bound) == (X.tobytes(), None)


def test_initializer_is_not_an_input():
    T = numpy_helper.from_array(np.array(1), "T")
    named = dict(zip(["R", "X", "G", "V"], [np.array(1.0, np.float32), *np.ones((3, 1), np.float32)], strict=True))
    node = optimizer_node("Momentum", ["R", "T", "X", "G", "V"], ["X1", "V1"], **{**MOMENTUM, "beta": 0.5})
    V1 = answers(build_model([node], named, {"V1": FLOAT}, initializers=[T]), list(named.values()), Level.MUST)[0]
    assert V1.expected.item() == 0.5


def external():
    tensor = numpy_helper.from_array(np.ones(1, np.float32), "W")
    tensor.ClearField("raw_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="weights.bin")
    return tensor


X = np.ones(2, np.float32)
RX = {"R": np.array(1.0, np.float32), "T": np.array(0), "X": X, "G": X, "V": X}
UNSUPPORTED = {
    "an unknown operator": ([helper.make_node("Sin", ["X"], ["Y"])], ()),
    "an unknown domain": ([helper.make_node("Exp", ["X"], ["Y"], domain="com.example")], ()),
    "an optimizer in the main domain": ([helper.make_node("Momentum", [*RX], ["Y", "V1"], **MOMENTUM)], ()),
    "a main operator in the training domain": ([helper.make_node("Exp", ["X"], ["Y"], domain=TRAINING)], ()),
    "an unknown attribute": ([optimizer_node("Momentum", [*RX], ["Y", "V1"], **MOMENTUM, gamma=0.5)], ()),
    "a missing attribute": ([optimizer_node("Momentum", [*RX], ["Y", "V1"], alpha=0.5)], ()),
    "an initializer outside of the model": ([helper.make_node("Exp", ["X"], ["Y"])], [external()]),
}


@both_levels
@pytest.mark.parametrize(("nodes", "initializers"), UNSUPPORTED.values(), ids=UNSUPPORTED.keys())
def test_model_with_unknown_parts_is_unsupported(nodes, initializers, level):
    model = build_model(nodes, RX, {"Y": FLOAT}, initializers=initializers)
    with pytest.raises(Unsupported):
        answers(model, list(RX.values()), level)


def test_unknown_operator_is_named_with_domain():
    model = build_model([helper.make_node("Exp", ["X"], ["Y"], domain="com.example")], RX, {"Y": FLOAT})
    with pytest.raises(Unsupported, match=r"com\.example\.Exp"):
        answers(model, list(RX.values()), Level.MUST)


def test_indivisible_operand_count_is_unsupported():
    model = build_model([optimizer_node("Momentum", [*RX][:-1], ["Y", "V1"], **MOMENTUM)], RX, {"Y": FLOAT})
    with pytest.raises(Unsupported, match="4 inputs"):
        answers(model, list(RX.values()), Level.MUST)


def test_wrong_number_of_inputs_is_unsupported():
    with pytest.raises(Unsupported, match="1 inputs, not 2"):
        answers(build_model([helper.make_node("Exp", ["X"], ["Y"])], {"X": X}, {"Y": FLOAT}), [X, X], Level.MUST)


def test_momentum_unknown_mode_is_named_in_error():
    with pytest.raises(ValueError, match="'fast'"):
        oracle_answers("Momentum", 1.0, 0, 1.0, 1.0, 1.0, mode="fast")


@pytest.mark.parametrize(
    ("operator", "first", "second"),
    [
        ("Expand", np.ones(1), np.array([2**40])),
        ("Tile", np.ones(1), np.array([2**40])),
        ("MatMul", np.ones((2**12, 1)), np.ones((1, 2**12))),
        ("Add", np.ones(2**12), np.ones((2**12, 1))),
    ],
)
def test_exact_output_that_is_far_larger_than_its_operands_is_not_computed(monkeypatch, operator, first, second):
    monkeypatch.setattr("conformance.exact.reference.graph.MAX_EXACT_ELEMENTS", 2**20)
    node = helper.make_node(operator, ["X", "S"], ["Y"])
    inputs = [array_value_info(name, array) for name, array in (("X", first), ("S", second))]
    graph = helper.make_graph([node], "large", inputs, [onnx.ValueInfoProto(name="Y")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])
    with pytest.raises(Unsupported):
        evaluate(model, [first, second])
