"""The amount of arithmetic of a node: the weight of the node when the judged share of a model is computed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from conformance.exact.models.graphs import MAIN_DOMAINS, is_operator

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import onnx

Shape = tuple[int, ...]


def operation_count(node: onnx.NodeProto, shapes: Mapping[str, Shape]) -> int:
    """Return about how many multiplications and additions, or moves of elements, a node needs.

    Products of matrices and convolutions have one operation for each term of each element. Every other node has one
    operation for each element of its largest tensor.

    Args:
        node: the node.
        shapes: the shapes of its inputs and outputs by name; unknown ones are left out.
    """
    inputs = [shapes.get(name, ()) for name in node.input]
    outputs = [shapes[name] for name in node.output if name in shapes]
    largest = max(map(math.prod, [*inputs, *outputs]), default=0)
    if not outputs:
        return largest
    terms = _term_count(node, inputs)
    return max(largest, terms * (math.prod(inputs[0]) if node.op_type == "ConvTranspose" else math.prod(outputs[0])))


def summed_terms(node: onnx.NodeProto, shapes: Mapping[str, Shape]) -> int:
    """Return the number of terms of each sum of a node that computes sums, products of matrices or convolutions.

    It is 1 for every other node, and where a shape is not known.

    Args:
        node: the node.
        shapes: the shapes of its inputs and outputs by name; unknown ones are left out.
    """
    if not is_operator(node, *SUMS) or not all(name in shapes for name in (node.input[0], node.output[0])):
        return 1
    inputs = [shapes.get(name, ()) for name in node.input]
    sizes = math.prod(inputs[0]) // max(1, math.prod(shapes[node.output[0]]))
    return sizes if node.op_type in _SUMS_OF_ELEMENTS else _term_count(node, inputs)


def _term_count(node: onnx.NodeProto, inputs: Sequence[Shape]) -> int:
    count = _TERMS.get(node.op_type) if node.domain in (*MAIN_DOMAINS, "com.microsoft") else None
    return 1 if count is None else count(node, inputs)


_SUMS_OF_ELEMENTS = frozenset({"GlobalAveragePool", "ReduceMean", "ReduceSum"})

SUMS = frozenset({"AveragePool", "Conv", "Gemm", "MatMul", *_SUMS_OF_ELEMENTS})
"""Operators whose bounds grow with the number of terms, and that exact sums judge within few roundings."""


def _of_first(_: onnx.NodeProto, inputs: Sequence[Shape]) -> int:
    return inputs[0][-1] if inputs and inputs[0] else 1


def _of_gemm(node: onnx.NodeProto, inputs: Sequence[Shape]) -> int:
    is_transposed = any(attribute.name == "transA" and attribute.i for attribute in node.attribute)
    return inputs[0][0 if is_transposed else -1] if inputs and inputs[0] else 1


def _of_filter(position: int) -> Callable[[onnx.NodeProto, Sequence[Shape]], int]:
    def count(_: onnx.NodeProto, inputs: Sequence[Shape]) -> int:
        return math.prod(inputs[position][1:]) if len(inputs) > position else 1

    return count


def _of_recurrence(_: onnx.NodeProto, inputs: Sequence[Shape]) -> int:
    return sum(map(math.prod, inputs[1:3])) // max(1, inputs[1][1]) if len(inputs) > 2 and len(inputs[1]) > 1 else 1


def _of_window(node: onnx.NodeProto, _: Sequence[Shape]) -> int:
    return next((math.prod(attribute.ints) for attribute in node.attribute if attribute.name == "kernel_shape"), 1)


_TERMS: Mapping[str, Callable[[onnx.NodeProto, Sequence[Shape]], int]] = {
    "MatMul": _of_first,
    "MatMulInteger": _of_first,
    "QLinearMatMul": _of_first,
    "Gemm": _of_gemm,
    "QGemm": _of_gemm,
    "Conv": _of_filter(1),
    "ConvInteger": _of_filter(1),
    "QLinearConv": _of_filter(3),
    "ConvTranspose": _of_filter(1),
    "RNN": _of_recurrence,
    "GRU": _of_recurrence,
    "LSTM": _of_recurrence,
    "AveragePool": _of_window,
    "MaxPool": _of_window,
    "LpPool": _of_window,
}
"""The number of terms of each element of the first output, or of the input of ConvTranspose, by operator."""
