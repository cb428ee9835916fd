"""Values of the reference: an article, decisions, omitted outputs, types, and cases of onnx."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from batches import for_each
from indexed_models import INT64
from large_models import doubling, recursive
from onnx import TensorProto, helper
from reference_models import both_levels, build_model, error_in_bounds, oracle_answer, oracle_answers, reference_outputs

from conformance.base.verdicts import Level, Unsupported
from conformance.exact.models.arrays import dtype_of, tensor_of, type_number
from conformance.exact.reference.enclosures import enclose_node
from conformance.exact.reference.graph import Graph
from conformance.exact.reference.node_validity import InvalidModelError
from conformance.exact.reference.nodes import Node
from conformance.exact.reference.numbers.enclosure import Enclosure
from conformance.exact.reference.oracle import answers
from conformance.subjects.adapters.reference import ReferenceBackend
from generators.training_optimizers.single_node_model import valid_optimizer_model
from generators.training_optimizers.table import OPERATORS

# The model of an article on the pass, with three branches: when their indices agree and when they differ.


def article(X, level=Level.MUST, opset=13):
    """Return the answer for the article's model: Relu, Softmax and Log of one input, each followed by an ArgMax."""
    nodes = [helper.make_node("Softmax", ["X"], ["softmax_out"], axis=0)]
    nodes += [helper.make_node(name, ["X"], [f"{name.lower()}_out"]) for name in ("Relu", "Log")]
    nodes += [
        helper.make_node("ArgMax", [f"{name}_out"], [f"argmax_{name}"], axis=0) for name in ("relu", "softmax", "log")
    ]
    nodes.append(helper.make_node("Concat", ["argmax_relu", "argmax_softmax", "argmax_log"], ["Y"], axis=0))
    return answers(build_model(nodes, {"X": X}, {"Y": INT64}, opset=opset), [X], level)[0]


@both_levels
@pytest.mark.parametrize("opset", [11, 13])
def test_article_branches_agree_on_clear_maximum(opset, level):
    answer = article(np.arange(1, 11, dtype=np.float32)[::-1].copy(), level, opset)
    assert answer.expected.tolist() == [0, 0, 0]


def test_article_relu_branch_of_negatives_takes_first_index():
    # Relu maps all elements to zero, Softmax keeps their order, and the Log of a negative number is NaN.
    assert article(np.array([-3, -1, -2], np.float32)).expected.tolist()[:2] == [0, 1]


def test_article_relu_branch_accepts_fewer_indices():
    X = np.array([1e30, np.nextafter(np.float32(1e30), np.float32(np.inf)), 1], np.float32)
    choices = article(X).choices
    assert [np.flatnonzero(row).tolist() for row in choices] == [[1], [1], [0, 1]]


def test_concat_pads_choices_to_widest():
    wide, narrow = np.array([0, 1, 2, 9], np.float32), np.array([1e30, 1e30], np.float32)
    nodes = [
        helper.make_node("ArgMax", ["wide"], ["i"], axis=0),
        helper.make_node("Log", ["narrow"], ["log"]),
        helper.make_node("ArgMax", ["log"], ["j"], axis=0),
        helper.make_node("Concat", ["i", "j"], ["Y"], axis=-1),
    ]
    answer = answers(build_model(nodes, {"wide": wide, "narrow": narrow}, {"Y": INT64}), [wide, narrow], Level.MUST)[0]
    assert [np.flatnonzero(row).tolist() for row in answer.choices] == [[3], [0, 1]]


def test_concat_of_exact_indices_has_no_choices():
    X = np.array([1, 3, 2], np.float32)
    nodes = [helper.make_node("ArgMax", ["X"], [name], axis=0) for name in "ij"]
    nodes.append(helper.make_node("Concat", ["i", "j"], ["Y"], axis=0))
    answer = answers(build_model(nodes, {"X": X}, {"Y": INT64}), [X], Level.MUST)[0]
    assert (answer.expected.tolist(), answer.choices) == ([1, 1], None)


# Decisions on numbers with bounds: known where all admissible values decide alike, otherwise undetermined.


F = np.dtype(np.float32)


def bounded(value: Any, error: Any) -> Enclosure:
    value = np.asarray(value, np.float64)
    return Enclosure(value, np.broadcast_to(np.asarray(error, np.float64), value.shape), F)


def decide(op_type: str, *inputs: Any, **attributes: Any) -> Any:
    names = tuple("ABC"[: len(inputs)])
    (result,) = enclose_node(Node(op_type, names, ("Y",), attributes, 17), inputs)
    return result


NAN, INF = np.nan, np.inf


@pytest.mark.parametrize(
    ("op_type", "value", "expected"),
    [
        ("Less", [9.0, 11.0, -INF], [True, False, True]),
        ("LessOrEqual", [9.0, 11.0, NAN], [True, False, False]),
        ("Greater", [9.0, 11.0, INF], [False, True, True]),
        ("GreaterOrEqual", [9.0, 11.0, NAN], [False, True, False]),
        ("Equal", [9.0, 11.0, INF], [False, False, False]),
    ],
)
def test_comparison_far_from_the_limit_is_known(op_type: str, value: list[float], expected: list[bool]) -> None:
    X = bounded(value, [0.5, 0.5, 0.0])
    assert decide(op_type, X, np.array([10.0], np.float32)).tolist() == expected


@pytest.mark.parametrize("op_type", ["Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal"])
@pytest.mark.parametrize(("value", "error"), [(10.0, 1e-6), (9.9, 0.2), (3.0, INF), (NAN, INF)])
def test_comparison_that_rounding_decides_is_undetermined(op_type: str, value: float, error: float) -> None:
    result = decide(op_type, bounded([value, 1.0], [error, 0.1]), np.array([10.0], np.float32))
    assert result.error.tolist() == [INF, 0.0]
    with pytest.raises(Unsupported):
        decide(op_type, bounded([value], [error]), np.array([10.0], np.float32))


def test_sign_is_known_if_zero_is_not_admissible() -> None:
    result = decide("Sign", bounded([3.0, -2.0, 0.1, 0.0], [1.0, 1.0, 0.2, 0.0]))
    assert result.value[[0, 1, 3]].tolist() == [1.0, -1.0, 0.0]
    assert result.error.tolist() == [0.0, 0.0, INF, 0.0]


def test_readings_that_differ_by_more_than_their_errors_are_unspecified() -> None:
    result = bounded([0.0, 0.0], 1.0).with_readings("fraction of a length", [bounded([1.5, 2.5], 1.0)])
    assert result.unspecified is not None
    assert result.unspecified.tolist() == [False, True]


@pytest.mark.parametrize(("op_type", "sign", "keepdims"), [("ArgMax", 1, 0), ("ArgMin", -1, 1)])
def test_index_of_a_clear_extreme_is_known(op_type: str, sign: int, keepdims: int) -> None:
    value = sign * np.array([[1.0, 3.0, 2.0], [1.0, 3.0, 2.95]])
    result = decide(op_type, bounded(value, 0.1), axis=1, keepdims=keepdims)
    assert result.value.shape == ((2, 1) if keepdims else (2,))
    assert result.value.reshape(-1)[0] == 1
    assert result.error.reshape(-1).tolist() == [0.0, INF]


def test_hardmax_of_a_clear_maximum_is_known() -> None:
    assert decide("Hardmax", bounded([[1.0, 3.0, 2.0]], 0.1), axis=1).tolist() == [[0.0, 1.0, 0.0]]


def test_selection_by_a_condition_that_rounding_decides_is_not_supported() -> None:
    condition = decide("Less", bounded([10.0, 1.0], 0.1), np.array([10.0], np.float32))
    with pytest.raises(Unsupported):
        decide("Where", condition, np.ones(2, np.float32), np.zeros(2, np.float32))


@pytest.mark.parametrize("op_type", ["Not", "And"])
def test_condition_that_rounding_decides_has_no_known_negation(op_type: str) -> None:
    condition = decide("Less", bounded([10.0, 1.0], 0.1), np.array([10.0], np.float32))
    with pytest.raises(Unsupported):
        decide(op_type, *[condition] * (1 if op_type == "Not" else 2))


# Models whose functions call each other endlessly, or expand to too many nodes, are unsupported.


@pytest.mark.parametrize(("model", "said"), [(doubling(40), "more than 200,000 nodes"), (recursive(), "calls itself")])
def test_model_with_endless_function_calls_is_unsupported(model, said):
    with pytest.raises(Unsupported, match=said):
        Graph.from_model(model)


# A node may omit its last outputs, since the schema requires only one. It cannot have more than all outputs.


def answers_of(draft, inputs):
    return ReferenceBackend.prepare(onnx.load_model_from_string(draft.serialise("draft"))).run(inputs)


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.name)
def test_named_outputs_do_not_depend_on_omitted_outputs(operator):
    draft, last = valid_optimizer_model(operator), operator.signature.results[-1]
    inputs = list(draft.inputs.values())
    whole = answers_of(draft, inputs)
    short = answers_of(draft.without_output(last), inputs)
    assert len(short) == len(whole) - 1
    assert all(np.array_equal(*pair) for pair in zip(short, whole, strict=False))


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.name)
def test_extra_output_is_unsupported(operator):
    draft = valid_optimizer_model(operator).with_output("S_new")
    with pytest.raises(InvalidModelError, match="outputs for"):
        answers_of(draft, list(draft.inputs.values()))


# Types of tensors: float16, bfloat16, float and double in operators before ArgMax, and every type in ArgMax itself.


FLOATS = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]
INTEGERS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]
FUNCTIONS = [
    *("Exp", "Log", "Sqrt", "Softmax", "LogSoftmax", "Relu", "Neg", "Abs", "Sigmoid", "Tanh", "Elu", "Selu", "Round"),
    *("LeakyRelu", "HardSigmoid", "HardSwish", "Softplus", "Softsign", "Reciprocal", "Floor", "Hardmax", "Identity"),
]
NARROW = [0.25, 0.5, 1.0, 2.0, 3.5]


@for_each("op_type", FUNCTIONS)
@pytest.mark.parametrize("dtype", FLOATS, ids=lambda dtype: dtype.__name__)
def test_operator_supports_every_float_type(op_type, dtype):
    X = np.array(NARROW).astype(dtype)
    answer = oracle_answer(op_type, X, level=Level.MUST, opset=16)
    (output,) = reference_outputs(
        build_model([helper.make_node(op_type, ["X"], ["Y"])], {"X": X}, {"Y": 1}, opset=16), [X]
    )
    assert (answer.expected.dtype, output.dtype) == (dtype, dtype)
    assert (
        error_in_bounds(answer, output.astype(np.float64)) <= 1
        if answer.bound is not None
        else (output == answer.expected).all()
    )


@pytest.mark.parametrize("op_type", ["Add", "Sub", "Mul", "Div", "Max", "Min"])
@pytest.mark.parametrize("dtype", FLOATS, ids=lambda dtype: dtype.__name__)
def test_binary_operator_supports_every_float_type(op_type, dtype):
    X, Z = np.array(NARROW).astype(dtype), np.array(0.1).astype(dtype)
    serialised = build_model([helper.make_node(op_type, ["X", "Z"], ["Y"])], {"X": X, "Z": Z}, {"Y": 1}, opset=16)
    output, answer = reference_outputs(serialised, [X, Z])[0], answers(serialised, [X, Z], Level.MUST)[0]
    assert (output.dtype, answer.expected.dtype) == (dtype, dtype)
    assert answer.bound is None or error_in_bounds(answer, output.astype(np.float64)) <= 1


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS], ids=lambda dtype: dtype.__name__)
@pytest.mark.parametrize(("select_last_index", "index"), [(0, 1), (1, 3)])
def test_argmax_tie_of_every_type_obeys_select_last_index(dtype, select_last_index, index):
    X = np.array([1, 5, 2, 5]).astype(dtype)
    attributes = {"keepdims": 0, "select_last_index": select_last_index}
    serialised = build_model([helper.make_node("ArgMax", ["X"], ["Y"], **attributes)], {"X": X}, {"Y": 7})
    assert reference_outputs(serialised, [X])[0] == oracle_answer("ArgMax", X, **attributes).expected == index


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16], ids=lambda dtype: dtype.__name__)
def test_argmax_distinguishes_neighbours_of_narrow_type(dtype):
    X = np.array([1, 1 + float(ml_dtypes.finfo(dtype).eps)]).astype(dtype)
    assert oracle_answer("ArgMax", X, keepdims=0, level=Level.MUST).expected.item() == 1


def test_bfloat16_initializer_is_supported():
    W = np.array([1.0, 2.0], ml_dtypes.bfloat16)
    serialised = build_model([helper.make_node("Exp", ["W"], ["Y"])], {}, {"Y": 16}, initializers=[tensor_of(W, "W")])
    assert reference_outputs(serialised, [])[0].dtype == W.dtype
    assert answers(serialised, [], Level.MUST)[0].expected.tolist() == [2.71875, 7.375]


@pytest.mark.parametrize("name", ["float16", "bfloat16", "double"])
def test_cast_supports_every_float_type(name):
    X, to = np.array([1.1, -2.3], np.float32), type_number(name)
    serialised = build_model([helper.make_node("Cast", ["X"], ["Y"], to=to)], {"X": X}, {"Y": to})
    expected = X.astype(dtype_of(to))
    assert answers(serialised, [X], Level.SHOULD)[0].expected.tobytes() == expected.tobytes()
    assert reference_outputs(serialised, [X])[0].tobytes() == expected.tobytes()


@pytest.mark.parametrize("type", [TensorProto.FLOAT8E4M3FN, TensorProto.FLOAT8E5M2, TensorProto.COMPLEX64])
def test_unused_initializer_of_other_type_is_accepted(type):
    aside = onnx.TensorProto(name="aside", data_type=type, dims=[2], raw_data=bytes(16 if type == 14 else 2))
    X = np.array([1, 2], np.float32)
    serialised = build_model([helper.make_node("Neg", ["X"], ["Y"])], {"X": X}, {"Y": 1}, initializers=[aside])
    assert answers(serialised, [X], Level.MUST)[0].expected.tolist() == [-1, -2]


# The seven examples of the operators' pages, compared with the outputs that onnx publishes.


ULPS = 4

R, T = 0.1, 0
PAIR = {"X": [1.2, 2.8], "G": [-0.94, -2.5], "V": [1.7, 3.6], "H": [0.1, 0.1]}
# name: operator, attributes, operands (all X, all G, ...), published outputs (all X_new, all V_new, ...)
EXAMPLES = {
    "test_adagrad": (
        "Adagrad",
        {"norm_coefficient": 0.001, "epsilon": 1e-5, "decay_factor": 0.1},
        [[1.0], [-1.0], [2.0]],
        [[1.0576962], [2.998001]],
    ),
    "test_adagrad_multiple": (
        "Adagrad",
        {"norm_coefficient": 0.001, "epsilon": 1e-5, "decay_factor": 0.1},
        [[1.0], [1.0, 2.0], [-1.0], [-1.0, -3.0], [2.0], [4.0, 1.0]],
        [[1.0576962], [1.0446854, 2.0948617], [2.998001], [4.998001, 9.988004]],
    ),
    "test_adam": (
        "Adam",
        {"norm_coefficient": 0.001, "alpha": 0.95, "beta": 0.1, "epsilon": 1e-7},
        [PAIR["X"], PAIR["G"], PAIR["V"], PAIR["H"]],
        [[1.0250363, 2.6610327], [1.56806, 3.2951398], [0.8032108, 5.622407]],
    ),
    "test_adam_multiple": (
        "Adam",
        {"norm_coefficient": 0.001, "alpha": 0.95, "beta": 0.85, "epsilon": 1e-2},
        [[1.0], [1.0, 2.0], [-1.0], [-1.0, -3.0], [2.0], [4.0, 1.0], [0.5], [1.0, 10.0]],
        [[0.75913626], [0.6286528, 1.9745853], [1.85005], [3.75005, 0.80009997], [0.5747002], [0.9997002, 9.848201]],
    ),
    "test_momentum": (
        "Momentum",
        {"norm_coefficient": 0.001, "alpha": 0.95, "beta": 0.1, "mode": "standard"},
        [PAIR["X"], PAIR["G"], PAIR["V"]],
        [[1.13238, 2.70772], [0.67620003, 0.9227998]],
    ),
    "test_nesterov_momentum": (
        "Momentum",
        {"norm_coefficient": 0.01, "alpha": 0.95, "beta": 1.0, "mode": "nesterov"},
        [PAIR["X"], PAIR["G"], PAIR["V"]],
        [[1.227535, 2.95714], [0.68700004, 0.94799995]],
    ),
    "test_momentum_multiple": (
        "Momentum",
        {"norm_coefficient": 0.001, "alpha": 0.95, "beta": 0.85, "mode": "standard"},
        [[1.0], [1.0, 2.0], [-1.0], [-1.0, -3.0], [2.0], [4.0, 1.0]],
        [[0.9099], [0.7199, 2.2048], [0.90099996], [2.8009999, -2.0479999]],
    ),
}

every_example = pytest.mark.parametrize(
    ("op_type", "attributes", "operands", "outputs"), EXAMPLES.values(), ids=EXAMPLES.keys()
)


@every_example
def test_expected_values_equal_published_outputs_within_ulps(op_type, attributes, operands, outputs):
    answers = oracle_answers(op_type, R, T, *operands, **attributes)
    for answer, output in zip(answers, outputs, strict=True):
        np.testing.assert_array_max_ulp(answer.expected, np.array(output, dtype=np.float32), ULPS)


@every_example
def test_published_outputs_are_within_bounds(op_type, attributes, operands, outputs):
    answers = oracle_answers(op_type, R, T, *operands, level=Level.MUST, **attributes)
    assert all(
        error_in_bounds(answer, np.array(output, dtype=np.float32)) <= 1
        for answer, output in zip(answers, outputs, strict=True)
    )


def test_adam_multiple_requires_epsilon_in_model():
    op_type, attributes, operands, outputs = EXAMPLES["test_adam_multiple"]
    defaulted = {name: value for name, value in attributes.items() if name != "epsilon"}
    X1_new, *_ = oracle_answers(op_type, R, T, *operands, level=Level.MUST, **defaulted)
    assert error_in_bounds(X1_new, np.array(outputs[0], dtype=np.float32)) > 1000
