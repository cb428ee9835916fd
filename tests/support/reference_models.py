"""Models of the operators, built from the pages of the operators, and the oracle's answers for them.

The tables are independent of the signatures and formulas of the package.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import pytest
from onnx import helper

from conformance.base.verdicts import Level
from conformance.exact.models.arrays import type_name, type_number
from conformance.exact.reference.graph import Graph
from conformance.exact.reference.numbers.number_system import NumberSystem
from conformance.exact.reference.oracle import Answer, answers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


both_levels = pytest.mark.parametrize("level", [Level.MUST, Level.SHOULD])

TRAINING = "ai.onnx.preview.training"
OPERANDS = {"Adam": "XGVH", "Momentum": "XGV", "Adagrad": "XGH"}
RESULTS = {"Adam": "XVH", "Momentum": "XV", "Adagrad": "XH"}
MOMENTUM = {"alpha": 0.0, "beta": 1.0, "mode": "standard", "norm_coefficient": 0.0}


def declared(name: str, array: Any) -> onnx.ValueInfoProto:
    array = np.asarray(array)
    return helper.make_tensor_value_info(name, type_number(type_name(array.dtype)), array.shape)


def build_model(
    nodes: Sequence[onnx.NodeProto],
    inputs: Mapping[str, Any],
    outputs: Mapping[str, int],
    *,
    opset: int = 13,
    initializers: Sequence[onnx.TensorProto] = (),
) -> bytes:
    """Return a serialised model; inputs are given by example, outputs by element type."""
    graph = helper.make_graph(
        nodes,
        "graph",
        [declared(name, array) for name, array in inputs.items()],
        [helper.make_tensor_value_info(name, elem_type, None) for name, elem_type in outputs.items()],
        initializers,
    )
    imports = [helper.make_opsetid("", opset), helper.make_opsetid(TRAINING, 1)]
    return helper.make_model(graph, ir_version=8, opset_imports=imports).SerializeToString()


def optimizer_node(op_type: str, inputs: Sequence[str], outputs: Sequence[str], **attributes: Any) -> onnx.NodeProto:
    return helper.make_node(op_type, inputs, outputs, domain=TRAINING, **attributes)


def optimizer_inputs(R: Any, T: int, *operands: Any, dtype: Any = np.float32, R_dtype: Any = None) -> list[Any]:
    """Return R, T and the operands as arrays; a number becomes a tensor of one element."""
    tensors = [np.atleast_1d(np.asarray(operand, dtype=dtype)) for operand in operands]
    with np.errstate(over="ignore"):  # a random R can be infinite in its type
        rate = np.array(R, dtype=R_dtype or dtype)
    return [rate, np.array(T, dtype=np.int64), *tensors]


def optimizer_model(op_type: str, inputs: Sequence[Any], **attributes: Any) -> bytes:
    """Return a model with one optimizer node; each output has the type of its tensor."""
    if op_type == "Momentum":
        attributes = {**MOMENTUM, **attributes}
    count = (len(inputs) - 2) // len(OPERANDS[op_type])
    named = {f"input_{place}": array for place, array in enumerate(inputs)}
    types = [helper.np_dtype_to_tensor_dtype(tensor.dtype) for tensor in inputs[2 : 2 + count]]
    outputs = {f"output_{place}": elem_type for place, elem_type in enumerate(types * len(RESULTS[op_type]))}
    return build_model([optimizer_node(op_type, [*named], [*outputs], **attributes)], named, outputs)


def oracle_answers(
    op_type: str,
    R: Any,
    T: int,
    *operands: Any,
    level: Level = Level.SHOULD,
    dtype: Any = np.float32,
    R_dtype: Any = None,
    **attributes: Any,
) -> list[Answer]:
    """Return the oracle's answers for one optimizer node."""
    inputs = optimizer_inputs(R, T, *operands, dtype=dtype, R_dtype=R_dtype)
    return answers(optimizer_model(op_type, inputs, **attributes), inputs, level)


def oracle_answer(op_type: str, X: Any, *, level: Level = Level.SHOULD, opset: int = 13, **attributes: Any) -> Answer:
    """Return the oracle's answer for a node with one input."""
    elem_type = onnx.TensorProto.INT64 if op_type == "ArgMax" else type_number(type_name(X.dtype))
    node = helper.make_node(op_type, ["X"], ["Y"], **attributes)
    return answers(build_model([node], {"X": X}, {"Y": elem_type}, opset=opset), [X], level)[0]


def reference_outputs(model: bytes, inputs: Sequence[Any]) -> list[Any]:
    """Return the outputs of the reference backend."""
    values = Graph.from_model(onnx.load_model_from_string(model)).run(inputs, NumberSystem())
    return [value.elements for value in values]


def error_in_bounds(answer: Answer, output: Any) -> float:
    """Return the largest error of an output as a multiple of its bound."""
    agrees = (output == answer.expected) | (np.isnan(output) & np.isnan(answer.expected)) | np.isinf(answer.bound)
    with np.errstate(all="ignore"):
        error = np.abs(np.asarray(output, dtype=np.longdouble) - answer.expected)
        ratio = np.where(agrees, 0, error / answer.bound)
    return float(np.max(np.where(np.isnan(ratio), np.inf, ratio), initial=0))


def float32(value: float) -> float:
    """Return the float32 value of a decimal attribute."""
    return float(np.float32(value))


def nearest(value: Fraction, dtype: Any) -> Any:
    """Return the value of a NumPy type that is nearest to a fraction: ties to even, overflow to infinity."""
    try:
        number = np.float64(float(value))
    except OverflowError:
        return np.dtype(dtype).type(np.inf if value > 0 else -np.inf)
    with np.errstate(over="ignore"):
        return np.dtype(dtype).type(number if np.dtype(dtype) == np.float64 else _to_odd(number, value))


def _to_odd(number: np.float64, value: Fraction) -> np.float64:
    """Return the fraction as a double rounded to odd, so that rounding it again is correct."""
    is_even = number.view(np.uint64) % 2 == 0
    if (rest := value - Fraction(float(number))) and is_even:
        return np.nextafter(number, np.float64(np.inf if rest > 0 else -np.inf))
    return number
