"""Cases with operators other than the five before ArgMax, or other than ArgMax after the five. Nothing is removed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import helper

from conformance.corpus.factors.message_fields import constant_node
from conformance.exact.models.model_building import argmax_shape, make_value_info
from generators.eliminate_nop_monotone_argmax.pass_scenario import (
    DOES_NOT_APPLY,
    PASS_OPERATORS,
    SHAPE,
    ScenarioGraph,
    applies_to,
    argmax,
    index_info,
    producer,
    scenario,
)
from generators.generated_values import permuted_quarters

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from conformance.corpus.cases.case import Case

FAMILY = "other_operators"

UNARY: Mapping[str, Mapping[str, Any]] = {
    "Relu": {},
    "Neg": {},
    "Abs": {},
    "Reciprocal": {},
    "Floor": {},
    "Ceil": {},
    "Round": {},
    "Sign": {},
    "Sigmoid": {},
    "Tanh": {},
    "Softplus": {},
    "Softsign": {},
    "Elu": {"alpha": 0.5},
    "LeakyRelu": {"alpha": 0.5},
    "Selu": {},
    "HardSigmoid": {"alpha": 0.25, "beta": 0.5},
    "ThresholdedRelu": {"alpha": 0.25},
    "Clip": {},
    "Sinh": {},
    "Cosh": {},
    "Asinh": {},
    "Atanh": {},
    "Hardmax": {"axis": 1},
    "Identity": {},
    "Cast": {"to": onnx.TensorProto.DOUBLE},
    "Dropout": {},
    "Celu": {"alpha": 0.5},
    "Shrink": {"lambd": 0.25, "bias": 0.125},
    "HardSwish": {},
    "Mish": {},
}
"""Unary operators with their attributes. Some of them are monotone too, but the pass must not remove them."""

FIRST_OPSETS = {"HardSwish": 14, "Mish": 18}
"""Opset of unary operators that were added after opset 13."""

BINARY = ("Add", "Sub", "Mul", "Div", "Pow", "Max", "Min", "Sum", "Mean")
"""Operators of X and a constant of the same shape."""

FACTORS = np.array([[1, 2, 3], [3, 2, 1]], dtype=np.float32)

DATA_MOVEMENT: Mapping[str, tuple[Mapping[str, Any], Sequence[int]]] = {
    "Transpose": ({"perm": [1, 0]}, (3, 2)),
    "Flatten": ({"axis": 1}, SHAPE),
    "ReduceMax": ({"axes": [0]}, (1, 3)),
    "ReduceMean": ({"axes": [0]}, (1, 3)),
}
"""Operators that move or reduce elements of X, with attributes and output shape."""

WITH_INTEGER_LIST: Mapping[str, tuple[Sequence[int], Sequence[int]]] = {
    "Reshape": ([3, 2], (3, 2)),
    "Expand": ([2, 3], SHAPE),
    "Unsqueeze": ([0], (1, 2, 3)),
    "ReduceSum": ([0], (1, 3)),
    "Tile": ([1, 2], (2, 6)),
    "Gather": ([1, 0], SHAPE),
}
"""Operators of X and a list of integers, with the list and the output shape."""

AFTER = ("ArgMin", "ReduceMax", "TopK")


def cases() -> Iterator[Case]:
    """Yield cases of other operators before ArgMax, and of the five operators in other positions."""
    for op_type, attributes in UNARY.items():
        X = _around_zero(op_type)
        Y = helper.make_node(op_type, ["X"], ["Y"], **attributes)
        yield _stays(op_type, [Y, argmax()], X, SHAPE, FIRST_OPSETS.get(op_type, 13))
    for op_type in BINARY:
        X = permuted_quarters(op_type, SHAPE, np.float32)
        nodes = [constant_node("C", FACTORS), helper.make_node(op_type, ["X", "C"], ["Y"]), argmax()]
        yield _stays(op_type, nodes, X, SHAPE)
    for op_type, (attributes, shape) in DATA_MOVEMENT.items():
        X = permuted_quarters(op_type, SHAPE, np.float32)
        yield _stays(op_type, [helper.make_node(op_type, ["X"], ["Y"], **attributes), argmax()], X, shape)
    for op_type, (numbers, shape) in WITH_INTEGER_LIST.items():
        X = permuted_quarters(op_type, SHAPE, np.float32)
        nodes = [
            constant_node("C", np.array(numbers, dtype=np.int64)),
            helper.make_node(op_type, ["X", "C"], ["Y"]),
            argmax(),
        ]
        yield _stays(op_type, nodes, X, shape)
    yield _concatenated()
    for op_type, word in PASS_OPERATORS.items():
        yield from _before_others(op_type, word)
        yield _after_argmax(op_type, word)
        yield _identity_between(op_type, word)
        yield _after_abs(op_type, word)


def _around_zero(op_type: str) -> Any:
    """Return input values of both signs, in the domain of the operator."""
    return permuted_quarters(op_type, SHAPE, np.float32) / 2 - np.float32(0.4375)


def _stays(op_type: str, nodes: Sequence[onnx.NodeProto], X: Any, shape: Sequence[int], opset: int = 13) -> Case:
    graph = ScenarioGraph(nodes, (X,), outputs=[index_info(shape)], opsets={"": opset})
    return scenario(
        FAMILY,
        op_type.lower(),
        f"{op_type} before ArgMax stays",
        ("other_producer", *_relu(op_type)),
        DOES_NOT_APPLY,
        graph,
    )


def _relu(op_type: str) -> Sequence[str]:
    return ("relu",) if op_type == "Relu" else ()


def _concatenated() -> Case:
    """Define a case in which Concat is between two of the five operators and ArgMax."""
    nodes = [
        producer("Exp", result="Y1"),
        producer("Sqrt", result="Y2"),
        helper.make_node("Concat", ["Y1", "Y2"], ["Y"], axis=1),
        argmax(),
    ]
    graph = ScenarioGraph(nodes, outputs=[index_info((2, 6))])
    return scenario(
        FAMILY, "concat", "Concat of Exp and Sqrt before ArgMax stays", ("other_producer",), DOES_NOT_APPLY, graph
    )


def _before_others(op_type: str, word: str) -> Iterator[Case]:
    """Yield cases with an operator in place of ArgMax whose result depends on values or on the minimum."""
    first = producer(op_type)
    k = constant_node("k", np.array([1], dtype=np.int64))
    rows: Mapping[str, tuple[Sequence[onnx.NodeProto], Sequence[onnx.ValueInfoProto]]] = {
        "ArgMin": ([first, argmax(op_type="ArgMin")], [index_info(SHAPE)]),
        "ReduceMax": (
            [first, helper.make_node("ReduceMax", ["Y"], ["largest"], axes=[1], keepdims=0)],
            [make_value_info("largest", "float", argmax_shape(SHAPE, 1, 0))],
        ),
        "TopK": (
            [first, k, helper.make_node("TopK", ["Y", "k"], ["largest", "index"], axis=1)],
            [make_value_info("index", "int64", (2, 1))],
        ),
    }
    for after in AFTER:
        nodes, outputs = rows[after]
        yield scenario(
            FAMILY,
            f"{word}_before_{after.lower()}",
            f"{op_type} before {after} stays",
            ("only_argmax", word),
            DOES_NOT_APPLY,
            ScenarioGraph(nodes, outputs=outputs),
        )


def _after_argmax(op_type: str, word: str) -> Case:
    """Define a case in which the operator uses the index, converted to float."""
    X = permuted_quarters(f"{word}/after", (2, 3), np.float32) * 4 + np.float32(0.5)  # avoid 1, which is its own root
    nodes = [
        argmax("X", "first", keepdims=1),
        helper.make_node("Cast", ["first"], ["number"], to=onnx.TensorProto.FLOAT),
        helper.make_node("Add", ["number", "X"], ["sum"]),
        producer(op_type, "sum", "Y"),
        helper.make_node("Less", ["X", "Y"], ["index"]),
    ]
    return scenario(
        FAMILY,
        f"{word}_after_argmax",
        f"{op_type} after ArgMax stays",
        ("only_argmax", word),
        DOES_NOT_APPLY,
        ScenarioGraph(nodes, (X,), outputs=[make_value_info("index", "bool", SHAPE)]),
    )


def _identity_between(op_type: str, word: str) -> Case:
    nodes = [producer(op_type), helper.make_node("Identity", ["Y"], ["Z"]), argmax("Z")]
    return scenario(
        FAMILY,
        f"{word}_identity_between",
        f"{op_type} stays if an Identity is between {op_type} and ArgMax",
        ("adjacent", word),
        DOES_NOT_APPLY,
        ScenarioGraph(nodes),
    )


def _after_abs(op_type: str, word: str) -> Case:
    """Define a case with Abs before one of the five operators. Only the operator next to ArgMax matters."""
    nodes = [helper.make_node("Abs", ["X"], ["A"]), producer(op_type, "A", "Y"), argmax()]
    return scenario(
        FAMILY,
        f"{word}_after_abs",
        f"{op_type} is removed between Abs and ArgMax, and Abs stays",
        ("fires", "other_producer", word),
        applies_to("Y"),
        ScenarioGraph(nodes),
    )
