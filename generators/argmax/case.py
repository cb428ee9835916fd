"""A case of one ArgMax."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onnx import helper

from conformance.corpus.case import Case
from conformance.generation.models import argmax_shape, declared, declared_as, model
from conformance.models.arrays import type_name
from conformance.verdicts import Level

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from conformance.models.arrays import Array


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
    """A model of X → ArgMax → index.

    Args:
        name: the case's id without `test_argmax_`.
        clauses: without their prefix, the chief one first.
        declared_shape: what X is declared as, by default of its very shape; the index is declared likewise.
    """
    id = f"test_argmax_{name}"
    shape = declared_shape or X.shape
    index = argmax_shape(shape, attributes.get("axis", 0), attributes.get("keepdims", 1))
    node = helper.make_node("ArgMax", ["X"], ["index"], **attributes)
    given = declared("X", X) if declared_shape is None else declared_as("X", type_name(X.dtype), shape)
    return Case(
        id=id,
        title=title,
        level=level,
        clauses=tuple(f"argmax.{clause}" for clause in clauses),
        tags=("argmax", type_name(X.dtype), f"opset_{opset}"),
        model=model(id, [node], [given], [declared_as("index", "int64", index)], {"": opset}),
        data_sets=((X,),),
    )
