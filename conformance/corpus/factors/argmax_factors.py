"""Nodes of a tested ArgMax and of the operators before it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import helper

from conformance.corpus.factors.connections import Fragment
from conformance.exact.models.model_building import argmax_shape, make_ordered_node

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from conformance.exact.models.arrays import Array


def argmax_fragment(
    X: Array, before: Sequence[tuple[str, Mapping[str, Any]]], attributes: Mapping[str, Any], opset: int
) -> Fragment:
    """Return tested nodes: the operators `before`, applied to X one after the other, and then an ArgMax."""
    nodes = []
    taken = "X"
    for place, (op_type, own) in enumerate(before):
        nodes.append(helper.make_node(op_type, [taken], [f"Y{place}"], **own))
        taken = f"Y{place}"
    last, other = (
        make_ordered_node("ArgMax", [taken], ["index"], each)
        for each in (attributes, _opposite_tie_attributes(attributes))
    )
    index = index_like(X.shape, attributes)
    return Fragment((*nodes, last), {"X": X}, {"index": index}, {"": opset}, {}, (*nodes, other))


def index_like(shape: Sequence[int], attributes: Mapping[str, Any]) -> Array:
    """Return an array of the type and shape of ArgMax's result for an input of this shape."""
    return np.zeros(argmax_shape(shape, attributes.get("axis", 0), attributes.get("keepdims", 1)), np.int64)


def _opposite_tie_attributes(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of the attributes with the opposite value of `select_last_index`, if it is present."""
    return {name: 1 - value if name == "select_last_index" else value for name, value in attributes.items()}
