"""What is not one of the five before ArgMax, and what is not ArgMax after one of the five, stays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import helper

from conformance.dimensions.blocks import constant
from conformance.generation.models import argmax_shape, declared_as
from conformance.generation.values import ranked
from generators.eliminate_nop_monotone_argmax.scenario import (
    FIVE,
    SHAPE,
    STAYS,
    ScenarioGraph,
    argmax,
    fires,
    index_of,
    producer,
    scenario,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from conformance.corpus.case import Case

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
"""Operators of one tensor of X's shape and the attributes they stand with; some of them only rise with X too."""

YOUNGER = {"HardSwish": 14, "Mish": 18}
"""Those of them that came after opset 13."""

BINARY = ("Add", "Sub", "Mul", "Div", "Pow", "Max", "Min", "Sum", "Mean")
"""Operators of X and a constant of its shape."""

FACTORS = np.array([[1, 2, 3], [3, 2, 1]], dtype=np.float32)

MOVED: Mapping[str, tuple[Mapping[str, Any], Sequence[int]]] = {
    "Transpose": ({"perm": [1, 0]}, (3, 2)),
    "Flatten": ({"axis": 1}, SHAPE),
    "ReduceMax": ({"axes": [0]}, (1, 3)),
    "ReduceMean": ({"axes": [0]}, (1, 3)),
}
"""Operators that move or join the elements of X, with their attributes and the shape they give."""

SHAPED: Mapping[str, tuple[Sequence[int], Sequence[int]]] = {
    "Reshape": ([3, 2], (3, 2)),
    "Expand": ([2, 3], SHAPE),
    "Unsqueeze": ([0], (1, 2, 3)),
    "ReduceSum": ([0], (1, 3)),
    "Tile": ([1, 2], (2, 6)),
    "Gather": ([1, 0], SHAPE),
}
"""Operators of X and a list of integers, with the list and the shape they give."""

AFTER = ("ArgMin", "ReduceMax", "TopK")


def cases() -> Iterator[Case]:
    """Others before ArgMax, the five before others, and the five in other places."""
    for op_type, attributes in UNARY.items():
        X = _around_zero(op_type)
        Y = helper.make_node(op_type, ["X"], ["Y"], **attributes)
        yield _stays(op_type, [Y, argmax()], X, SHAPE, YOUNGER.get(op_type, 13))
    for op_type in BINARY:
        X = ranked(op_type, SHAPE, np.float32)
        nodes = [constant("C", FACTORS), helper.make_node(op_type, ["X", "C"], ["Y"]), argmax()]
        yield _stays(op_type, nodes, X, SHAPE)
    for op_type, (attributes, shape) in MOVED.items():
        X = ranked(op_type, SHAPE, np.float32)
        yield _stays(op_type, [helper.make_node(op_type, ["X"], ["Y"], **attributes), argmax()], X, shape)
    for op_type, (numbers, shape) in SHAPED.items():
        X = ranked(op_type, SHAPE, np.float32)
        nodes = [
            constant("C", np.array(numbers, dtype=np.int64)),
            helper.make_node(op_type, ["X", "C"], ["Y"]),
            argmax(),
        ]
        yield _stays(op_type, nodes, X, shape)
    yield _concatenated()
    for op_type, word in FIVE.items():
        yield from _before_others(op_type, word)
        yield _after_argmax(op_type, word)
        yield _with_a_gap(op_type, word)
        yield _under_another(op_type, word)


def _around_zero(op_type: str) -> Any:
    """Values of both signs, none of which any of these operators has no number for."""
    return ranked(op_type, SHAPE, np.float32) / 2 - np.float32(0.4375)


def _stays(op_type: str, nodes: Sequence[onnx.NodeProto], X: Any, shape: Sequence[int], opset: int = 13) -> Case:
    graph = ScenarioGraph(nodes, (X,), outputs=[index_of(shape)], opsets={"": opset})
    return scenario(
        FAMILY, op_type.lower(), f"{op_type} before ArgMax stays", ("other_producer", *_relu(op_type)), STAYS, graph
    )


def _relu(op_type: str) -> Sequence[str]:
    return ("relu",) if op_type == "Relu" else ()


def _concatenated() -> Case:
    """Each input of the Concat is one of the five, but ArgMax's input is not."""
    nodes = [
        producer("Exp", result="Y1"),
        producer("Sqrt", result="Y2"),
        helper.make_node("Concat", ["Y1", "Y2"], ["Y"], axis=1),
        argmax(),
    ]
    graph = ScenarioGraph(nodes, outputs=[index_of((2, 6))])
    return scenario(FAMILY, "concat", "Concat of Exp and Sqrt before ArgMax stays", ("other_producer",), STAYS, graph)


def _before_others(op_type: str, word: str) -> Iterator[Case]:
    """ArgMin and the others care about values or about the least."""
    first, k = producer(op_type), constant("k", np.array([1], dtype=np.int64))
    rows: Mapping[str, tuple[Sequence[onnx.NodeProto], Sequence[onnx.ValueInfoProto]]] = {
        "ArgMin": ([first, argmax(op_type="ArgMin")], [index_of(SHAPE)]),
        "ReduceMax": (
            [first, helper.make_node("ReduceMax", ["Y"], ["largest"], axes=[1], keepdims=0)],
            [declared_as("largest", "float", argmax_shape(SHAPE, 1, 0))],
        ),
        "TopK": (
            [first, k, helper.make_node("TopK", ["Y", "k"], ["largest", "index"], axis=1)],
            [declared_as("index", "int64", (2, 1))],
        ),
    }
    for after in AFTER:
        nodes, outputs = rows[after]
        yield scenario(
            FAMILY,
            f"{word}_before_{after.lower()}",
            f"{op_type} before {after} stays",
            ("only_argmax", word),
            STAYS,
            ScenarioGraph(nodes, outputs=outputs),
        )


def _after_argmax(op_type: str, word: str) -> Case:
    """The operator takes the index, as a float, and its result is ArgMax's no more."""
    X = ranked(f"{word}/after", (2, 3), np.float32) * 4 + np.float32(0.5)  # 1 is its own root, but for rounding
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
        STAYS,
        ScenarioGraph(nodes, (X,), outputs=[declared_as("index", "bool", SHAPE)]),
    )


def _with_a_gap(op_type: str, word: str) -> Case:
    nodes = [producer(op_type), helper.make_node("Identity", ["Y"], ["Z"]), argmax("Z")]
    return scenario(
        FAMILY,
        f"{word}_identity_between",
        f"{op_type} stays where an Identity comes between it and ArgMax",
        ("adjacent", word),
        STAYS,
        ScenarioGraph(nodes),
    )


def _under_another(op_type: str, word: str) -> Case:
    """Of Neg and one of the five, the one next to ArgMax decides."""
    nodes = [helper.make_node("Abs", ["X"], ["A"]), producer(op_type, "A", "Y"), argmax()]
    return scenario(
        FAMILY,
        f"{word}_after_abs",
        f"{op_type} is taken away between Abs and ArgMax, and Abs stays",
        ("fires", "other_producer", word),
        fires("Y"),
        ScenarioGraph(nodes),
    )
