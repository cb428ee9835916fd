"""Cases of a whole training step in one graph: forward pass, loss and gradient, then the optimizer for all parameters.

The network is Relu(features @ W1 + B1) @ W2 + B2. The loss is the mean squared distance from the target. The values are
chosen so that rounding does not decide whether a hidden unit is active.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import helper

from conformance.base.verdicts import Level
from conformance.corpus.cases.case import Case
from conformance.exact.models.model_building import array_value_info, build_model, pseudo_random_array
from generators.declarations.training_dimensions import OPERAND_RANGES
from generators.generated_values import FLOAT_TYPE_NAMES
from generators.training_optimizers.optimizer_families import FLOATS
from generators.training_optimizers.table import OPERATORS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import onnx

    from conformance.exact.models.arrays import Array
    from generators.training_optimizers.operator import Operator

OPSET = 13
BATCH = 3
FEATURES = 2
HIDDEN = 4
PARAMETERS: Mapping[str, tuple[int, ...]] = {"W1": (FEATURES, HIDDEN), "B1": (HIDDEN,), "W2": (HIDDEN, 1), "B2": (1,)}
COUNTS = (0, 1, 5)
"""T of the data sets. The first two start from a state of zeros, the last one from another state."""

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
"""Operator, inputs and output of each node of the forward and the backward pass."""

ATTRIBUTES: Mapping[str, Mapping[str, Any]] = {
    "Transpose": {"perm": [1, 0]},
    "ReduceSum": {"keepdims": 0},
    "ReduceMean": {"keepdims": 0},
}
"""Attributes by operator."""


def training_step_cases() -> Iterator[Case]:
    """Yield a training step of each optimizer in float and double."""
    for operator in OPERATORS:
        for dtype in FLOATS:
            yield _case(operator, dtype)


def _case(operator: Operator, dtype: Any) -> Case:
    id = f"test_{operator.prefix}_training_network_{FLOAT_TYPE_NAMES[dtype]}"
    data_sets = tuple(_inputs(operator, id, T, dtype) for T in COUNTS)
    return Case(
        id=id,
        title=f"{operator.name} takes a network's training step: forward, loss, gradient and update in one graph",
        level=Level.MUST,
        clauses=tuple(
            f"{operator.prefix}.{clause}" for clause in (operator.step, "several_tensors", "operands", "results")
        ),
        tags=(operator.prefix, FLOAT_TYPE_NAMES[dtype], "training", "network"),
        model=_model(operator, id, data_sets[0], dtype),
        data_sets=data_sets,
    )


def _state(operator: Operator) -> list[str]:
    return [name for name in operator.signature.operands if name not in {"X", "G"}]


def _inputs(operator: Operator, id: str, T: int, dtype: Any) -> tuple[Array, ...]:
    """Return R, T, features, target, the parameters, and their states grouped by operand."""
    return (
        np.array(operator.rate, dtype=dtype),
        np.array(T, dtype=np.int64),
        pseudo_random_array(f"{id}/features", (BATCH, FEATURES), dtype),
        pseudo_random_array(f"{id}/target", (BATCH, 1), dtype),
        *(pseudo_random_array(f"{id}/{name}", shape, dtype, -1.0, 1.0) for name, shape in PARAMETERS.items()),
        *(
            pseudo_random_array(f"{id}/{kind}{name}", shape, dtype, *OPERAND_RANGES[kind])
            if T > 1
            else np.zeros(shape, dtype=dtype)
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
    return build_model(
        id,
        [*(_node(*row) for row in (*FORWARD, *BACKWARD)), optimizer],
        [array_value_info(name, array) for name, array in zip(names, inputs, strict=True)],
        [
            array_value_info("loss", inputs[0]),
            *(array_value_info(name, array) for name, array in zip(results, inputs[4:], strict=True)),
        ],
        {"": OPSET, **operator.imports},
        constants,
    )


def _node(op_type: str, inputs: Sequence[str], output: str) -> onnx.NodeProto:
    return helper.make_node(op_type, inputs, [output], **ATTRIBUTES.get(op_type, {}))
