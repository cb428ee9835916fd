"""A whole training step in one graph: forward, loss and gradient in primitives, then the optimizer of all parameters.

The network is Relu(features @ W1 + B1) @ W2 + B2, the loss its mean squared distance from the target. Values are such
that no hidden unit is so near 0 that rounding would decide whether it is active.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import helper

from conformance.corpus.case import Case
from conformance.dimensions.building import RANGES
from conformance.generation.models import TYPES, declared, model
from conformance.generation.values import scattered
from conformance.verdicts import Level
from generators.training_optimizers.families import FLOATS
from generators.training_optimizers.table import OPERATORS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import onnx

    from conformance.models.arrays import Array
    from generators.training_optimizers.operator import Operator

OPSET = 13
BATCH, FEATURES, HIDDEN = 3, 2, 4
PARAMETERS: Mapping[str, tuple[int, ...]] = {"W1": (FEATURES, HIDDEN), "B1": (HIDDEN,), "W2": (HIDDEN, 1), "B2": (1,)}
COUNTS = (0, 1, 5)
"""T of the data sets: the first two start from a state of zeros, the last goes on from another."""

FORWARD = (
    ("MatMul", ("features", "W1"), "product1"),
    ("Add", ("product1", "B1"), "raw"),
    ("Relu", ("raw",), "hidden"),
    ("MatMul", ("hidden", "W2"), "product2"),
    ("Add", ("product2", "B2"), "prediction"),
    ("Sub", ("prediction", "target"), "error"),
    ("Mul", ("error", "error"), "squared"),
    ("ReduceMean", ("squared",), "loss"),
)
BACKWARD = (
    ("Mul", ("error", "two_by_batch"), "d_prediction"),
    ("Transpose", ("hidden",), "hidden_transposed"),
    ("MatMul", ("hidden_transposed", "d_prediction"), "d_W2"),
    ("ReduceSum", ("d_prediction", "axis0"), "d_B2"),
    ("Transpose", ("W2",), "W2_transposed"),
    ("MatMul", ("d_prediction", "W2_transposed"), "d_hidden"),
    ("Less", ("zero", "raw"), "active"),
    ("Where", ("active", "d_hidden", "zero"), "d_raw"),
    ("Transpose", ("features",), "features_transposed"),
    ("MatMul", ("features_transposed", "d_raw"), "d_W1"),
    ("ReduceSum", ("d_raw", "axis0"), "d_B1"),
)
"""Operator, inputs and output of each node, and what the operators need to be told."""

ATTRIBUTES: Mapping[str, Mapping[str, Any]] = {
    "Transpose": {"perm": [1, 0]},
    "ReduceSum": {"keepdims": 0},
    "ReduceMean": {"keepdims": 0},
}


def training_steps() -> Iterator[Case]:
    """A step of each optimizer in both types."""
    for operator in OPERATORS:
        for dtype in FLOATS:
            yield _case(operator, dtype)


def _case(operator: Operator, dtype: Any) -> Case:
    id = f"test_{operator.prefix}_training_network_{TYPES[dtype]}"
    data_sets = tuple(_inputs(operator, id, T, dtype) for T in COUNTS)
    return Case(
        id=id,
        title=f"{operator.name} takes a network's training step: forward, loss, gradient and update in one graph",
        level=Level.MUST,
        clauses=tuple(
            f"{operator.prefix}.{clause}" for clause in (operator.step, "several_tensors", "operands", "results")
        ),
        tags=(operator.prefix, TYPES[dtype], "training", "network"),
        model=_model(operator, id, data_sets[0], dtype),
        data_sets=data_sets,
    )


def _state(operator: Operator) -> list[str]:
    return [name for name in operator.signature.operands if name not in {"X", "G"}]


def _inputs(operator: Operator, id: str, T: int, dtype: Any) -> tuple[Array, ...]:
    """R, T, features and target, the parameters and their state, kind by kind."""
    return (
        np.array(operator.rate, dtype=dtype),
        np.array(T, dtype=np.int64),
        scattered(f"{id}/features", (BATCH, FEATURES), dtype),
        scattered(f"{id}/target", (BATCH, 1), dtype),
        *(scattered(f"{id}/{name}", shape, dtype, -1.0, 1.0) for name, shape in PARAMETERS.items()),
        *(
            scattered(f"{id}/{kind}{name}", shape, dtype, *RANGES[kind]) if T > 1 else np.zeros(shape, dtype=dtype)
            for kind in _state(operator)
            for name, shape in PARAMETERS.items()
        ),
    )


def _model(operator: Operator, id: str, inputs: Sequence[Array], dtype: Any) -> bytes:
    state = [f"{kind}_{name}" for kind in _state(operator) for name in PARAMETERS]
    names = ["R", "T", "features", "target", *PARAMETERS, *state]
    gradients = [f"d_{name}" for name in PARAMETERS]
    results = [f"{name}_new" for name in (*PARAMETERS, *state)]
    optimizer = helper.make_node(
        operator.name,
        ["R", "T", *PARAMETERS, *gradients, *state],
        results,
        domain=operator.signature.domain,
        **operator.usual,
    )
    constants = {
        "zero": np.array(0, dtype=dtype),
        "two_by_batch": np.array(2 / BATCH, dtype=dtype),
        "axis0": np.array([0], dtype=np.int64),
    }
    return model(
        id,
        [*(_node(*row) for row in (*FORWARD, *BACKWARD)), optimizer],
        [declared(name, array) for name, array in zip(names, inputs, strict=True)],
        [
            declared("loss", inputs[0]),
            *(declared(name, array) for name, array in zip(results, inputs[4:], strict=True)),
        ],
        {"": OPSET, **operator.imports},
        constants,
    )


def _node(op_type: str, inputs: Sequence[str], output: str) -> onnx.NodeProto:
    return helper.make_node(op_type, inputs, [output], **ATTRIBUTES.get(op_type, {}))
