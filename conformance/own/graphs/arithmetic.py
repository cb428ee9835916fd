"""The amount of arithmetic of a node: the weight of the node when the judged share of a model is computed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from conformance.exact.models.types import MAIN_DOMAINS

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
    count = _TERMS.get(node.op_type) if node.domain in (*MAIN_DOMAINS, "com.microsoft") else None
    if count is None or not outputs:
        return largest
    terms = count(node, inputs)
    return max(largest, terms * (math.prod(inputs[0]) if node.op_type == "ConvTranspose" else math.prod(outputs[0])))


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
