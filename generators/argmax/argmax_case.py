"""Definition of a case with a single ArgMax node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onnx import helper

from conformance.base.verdicts import Level
from conformance.corpus.cases.case import Case
from conformance.exact.models.arrays import type_name
from conformance.exact.models.model_building import argmax_shape, array_value_info, build_model, make_value_info

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from conformance.exact.models.arrays import Array


def argmax_case(
    name: str,
    title: str,
    clauses: Sequence[str],
    X: Array,
    attributes: Mapping[str, Any],
    opset: int = 13,
    *,
    level: Level = Level.MUST,
    declared_shape: Sequence[int | str | None] | None = None,
) -> Case:
    """Define a case with the model X → ArgMax → index.

    Args:
        name: the case's id without `test_argmax_`.
        title: the fact that the case tests.
        clauses: tested clauses without the prefix `argmax.`, the main one first.
        X: the input.
        attributes: attributes of the node.
        opset: version of the main domain.
        level: level of the case.
        declared_shape: declared shape of X, from which the declared shape of the index follows. Default: X's shape.
    """
    id = f"test_argmax_{name}"
    shape = declared_shape or X.shape
    index = argmax_shape(shape, attributes.get("axis", 0), attributes.get("keepdims", 1))
    node = helper.make_node("ArgMax", ["X"], ["index"], **attributes)
    given = array_value_info("X", X) if declared_shape is None else make_value_info("X", type_name(X.dtype), shape)
    return Case(
        id=id,
        title=title,
        level=level,
        clauses=tuple(f"argmax.{clause}" for clause in clauses),
        tags=("argmax", type_name(X.dtype), f"opset_{opset}"),
        model=build_model(id, [node], [given], [make_value_info("index", "int64", index)], {"": opset}),
        data_sets=((X,),),
    )
