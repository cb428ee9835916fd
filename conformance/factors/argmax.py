"""Nodes of a tested ArgMax and of the operators before it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import helper

from conformance.factors.connections import Fragment
from conformance.generation.models import argmax_shape

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import onnx

    from conformance.models.arrays import Array


def argmax_fragment(
    X: Array, before: Sequence[tuple[str, Mapping[str, Any]]], attributes: Mapping[str, Any], opset: int
) -> Fragment:
    """Return tested nodes: the operators `before`, applied to X one after the other, and then an ArgMax."""
    nodes, taken = [], "X"
    for place, (op_type, own) in enumerate(before):
        nodes.append(helper.make_node(op_type, [taken], [f"Y{place}"], **own))
        taken = f"Y{place}"
    last = [_argmax(taken, each) for each in (attributes, _opposite_tie_attributes(attributes))]
    again = (*nodes, last[1])
    return Fragment((*nodes, last[0]), {"X": X}, {"index": index_like(X.shape, attributes)}, {"": opset}, {}, again)


def index_like(shape: Sequence[int], attributes: Mapping[str, Any]) -> Array:
    """Return an array of the type and shape of ArgMax's result for an input of this shape."""
    return np.zeros(argmax_shape(shape, attributes.get("axis", 0), attributes.get("keepdims", 1)), np.int64)


def _argmax(taken: str, attributes: Mapping[str, Any]) -> onnx.NodeProto:
    """Return an ArgMax node of the value `taken`, with its attributes in the given order; `make_node` sorts them."""
    node = helper.make_node("ArgMax", [taken], ["index"])
    node.attribute.extend(helper.make_attribute(*attribute) for attribute in attributes.items())
    return node


def _opposite_tie_attributes(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of the attributes with the opposite value of `select_last_index`, if it is present."""
    return {name: 1 - value if name == "select_last_index" else value for name, value in attributes.items()}
