"""The amount of arithmetic of a node: the weight of the node when the judged share of a model is computed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from conformance.exact.declarations.exact_sums import term_count

if TYPE_CHECKING:
    from collections.abc import Mapping

    import onnx

    from conformance.exact.declarations.exact_sums import Shape


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
    terms = term_count(node, inputs)
    return max(largest, terms * (math.prod(inputs[0]) if node.op_type == "ConvTranspose" else math.prod(outputs[0])))
