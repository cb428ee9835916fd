"""Nodes of the first versions of operators, in the form of later versions.

Below version 7 an operator broadcasts its second operand at the attribute `axis`; other operators had attributes or
operands of another form.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import onnx

from conformance.base.verdicts import Unsupported
from conformance.exact.reference.formulas.linear import integers
from conformance.exact.reference.numbers.enclosure import Enclosure, move
from conformance.exact.reference.operators import LATER_FORMS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from conformance.exact.reference.nodes import Node
    from conformance.exact.reference.numbers.enclosure import Tensor

    Operands = tuple[Node, Sequence[Tensor]]


def modernize(node: Node, inputs: Sequence[Tensor]) -> Operands:
    """Return a node of the main domain, and its inputs, in the form of a later version.

    Raises:
        Unsupported: the version has no such form.
    """
    if "consumed_inputs" in node.attributes:
        node = replace(node, attributes={k: v for k, v in node.attributes.items() if k != "consumed_inputs"})
    if node.opset >= LATER_FORMS.get(node.op_type, 0):
        return node, inputs
    return _CHANGES[node.op_type](node, inputs)


def _binary(node: Node, inputs: Sequence[Tensor]) -> Operands:
    """Give the second operand axes of size 1 behind its own, which begin at `axis`, by default the last ones."""
    A, B = inputs
    assert A is not None
    assert B is not None
    if not node.attributes.get("broadcast", 0):
        return node, inputs
    behind = len(A.shape) - node.attributes.get("axis", len(A.shape) - len(B.shape)) - len(B.shape)
    kept = {name: value for name, value in node.attributes.items() if name not in ("axis", "broadcast")}
    return replace(node, attributes=kept), [A, move(B, lambda b: b.reshape((*b.shape, *[1] * behind)))]


def _prelu(node: Node, inputs: Sequence[Tensor]) -> Operands:
    """Give the slopes, one for all channels or one for each, the axes of the tensor."""
    X, slope = inputs
    assert X is not None
    return node, [X, move(slope, lambda s: s.reshape(-1, *[1] * (len(X.shape) - 2)))]


def _cast(node: Node, inputs: Sequence[Tensor]) -> Operands:
    return replace(node, attributes={"to": onnx.TensorProto.DataType.Value(node.attributes["to"])}), inputs


def _tile(node: Node, inputs: Sequence[Tensor]) -> Operands:
    """Return the number of repetitions of each axis, of which one is given."""
    X, tiles, axis = inputs
    assert X is not None
    repeats = np.ones(len(X.shape), np.int64)
    repeats[_whole(axis)] = _whole(tiles)
    return node, [X, repeats]


def _whole(given: Tensor) -> int:
    """Return an integer that may be a floating-point number."""
    value = given.value if isinstance(given, Enclosure) and given.is_exact else given
    if not isinstance(value, np.ndarray) or value.size != 1 or value.item() % 1:
        raise Unsupported("Tile with numbers that are not known integers")
    return integers(np.asarray(value, np.int64).reshape(1))[0]


def _upsample(node: Node, inputs: Sequence[Tensor]) -> Operands:
    given = node.attributes
    scales = [1.0, 1.0, given["height_scale"], given["width_scale"]]
    return replace(node, attributes={"scales": scales, "mode": given.get("mode", "nearest")}), inputs


def _selu(node: Node, inputs: Sequence[Tensor]) -> Operands:
    """State the defaults of version 1, which have four decimals."""
    defaults = {"alpha": float(np.float32(1.6732)), "gamma": float(np.float32(1.0507))}
    return replace(node, attributes=defaults | dict(node.attributes)), inputs


_CHANGES: Mapping[str, Callable[[Node, Sequence[Tensor]], Operands]] = {
    **dict.fromkeys(LATER_FORMS, _binary),
    "PRelu": _prelu,
    "Cast": _cast,
    "Tile": _tile,
    "Upsample": _upsample,
    "Selu": _selu,
}
"""The function that returns the later form, by op_type."""
