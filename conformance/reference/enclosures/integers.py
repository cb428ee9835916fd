"""Operators of integers that leave elements open."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from conformance.reference.numbers.enclosure import Enclosure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from conformance.reference.nodes import Node, NodeEnclosure
    from conformance.reference.numbers.enclosure import Tensor


def _bit_shift(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Return shifted integers. Below opset 28 the page states no result for a shift by all bits or more."""
    X, Y = inputs
    assert isinstance(X, np.ndarray)
    assert isinstance(Y, np.ndarray)
    X, Y = np.broadcast_arrays(X, Y)
    bits = 8 * X.dtype.itemsize
    is_inside = (Y >= 0) & (bits > Y)
    is_left = node.attributes["direction"] == "LEFT"
    shift = np.left_shift if is_left else np.right_shift
    beyond = np.zeros_like(X) if is_left else np.where(X < 0, ~np.zeros_like(X), np.zeros_like(X))
    Z = np.where(is_inside, shift(X, np.where(is_inside, Y, 0).astype(X.dtype)), beyond)
    if node.opset >= 28 or is_inside.all():
        return [Z]
    return [Enclosure.exact(Z).leave_open(~is_inside)]


INTEGER_ENCLOSURES: Mapping[str, NodeEnclosure] = {"BitShift": _bit_shift}
