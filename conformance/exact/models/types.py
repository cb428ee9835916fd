"""Types and shapes of ONNX values: readable text such as `float[N,3]` or `seq(int64[])`, and comparison."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

from onnx import TensorProto

if TYPE_CHECKING:
    from collections.abc import Callable

    import onnx


def type_text(type: onnx.TypeProto) -> str:
    """Return a type as text, such as `float[N,3]`. An unknown dimension is `?`; an unknown rank has no brackets."""
    kind = type.WhichOneof("value")
    if kind in {"tensor_type", "sparse_tensor_type"}:
        tensor = type.tensor_type if kind == "tensor_type" else type.sparse_tensor_type
        text = f"{element_type_text(tensor.elem_type)}{shape_text(tensor.shape) if tensor.HasField('shape') else ''}"
        return text if kind == "tensor_type" else f"sparse({text})"
    if kind == "sequence_type":
        return f"seq({type_text(type.sequence_type.elem_type)})"
    if kind == "optional_type":
        return f"optional({type_text(type.optional_type.elem_type)})"
    if kind == "map_type":
        return f"map({element_type_text(type.map_type.key_type)},{type_text(type.map_type.value_type)})"
    return "nothing" if kind is None else str(kind)


def element_type_text(number: int) -> str:
    """Return the lower-case name of an element type, given as a number of `TensorProto.DataType`."""
    known = number in TensorProto.DataType.values()
    return str(TensorProto.DataType.Name(number)).lower() if known else f"type {number}"


def shape_text(dimensions: onnx.TensorShapeProto) -> str:
    """Return a shape as text: `[N,3]`."""
    return f"[{','.join(dimension_text(one) for one in dimensions.dim)}]"


def dimension_text(one: onnx.TensorShapeProto.Dimension) -> str:
    """Return the size or the symbolic name of a dimension, or `?`."""
    if one.HasField("dim_value"):
        return str(one.dim_value)
    return str(one.dim_param) or "?"


def strip_denotations(type: onnx.TypeProto) -> onnx.TypeProto:
    """Return a copy of a type without denotations, which describe the meaning of a type or a dimension."""
    plain = copy.deepcopy(type)
    _clear_denotations(plain)
    return plain


def _clear_denotations(type: onnx.TypeProto) -> None:
    type.ClearField("denotation")
    kind = type.WhichOneof("value")
    if kind in {"tensor_type", "sparse_tensor_type"} and getattr(type, kind).HasField("shape"):
        for one in getattr(type, kind).shape.dim:
            one.ClearField("denotation")
    elif kind in {"sequence_type", "optional_type"}:
        _clear_denotations(getattr(type, kind).elem_type)
    elif kind == "map_type":
        _clear_denotations(type.map_type.value_type)


def is_refinement(after: onnx.TypeProto, before: onnx.TypeProto) -> bool:
    """Return whether `after` equals `before` or is more specific.

    A more specific type gives a size to an unknown or symbolic dimension, a name to an unknown dimension, or a shape to
    a tensor without one.
    """
    return _are_types_compatible(
        after, before, lambda new, old: dimension_text(old) == "?" or bool(old.dim_param and new.HasField("dim_value"))
    )


def adds_only_dimension_names(after: onnx.TypeProto, before: onnx.TypeProto) -> bool:
    """Return whether `after` equals `before`, except for names given to unknown dimensions."""
    if after.tensor_type.HasField("shape") != before.tensor_type.HasField("shape"):
        return False
    return _are_types_compatible(after, before, lambda new, old: dimension_text(old) == "?" and bool(new.dim_param))


def _are_types_compatible(
    after: onnx.TypeProto,
    before: onnx.TypeProto,
    is_allowed: Callable[[onnx.TensorShapeProto.Dimension, onnx.TensorShapeProto.Dimension], bool],
) -> bool:
    """Return whether types are equal, except for a new shape of a tensor and allowed changes of its dimensions.

    Args:
        after: the new type.
        before: the old type.
        is_allowed: function of a new and an old dimension.
    """
    if before.WhichOneof("value") != "tensor_type" or after.WhichOneof("value") != "tensor_type":
        return after == before
    new = after.tensor_type
    old = before.tensor_type
    if new.elem_type != old.elem_type:
        return False
    if not new.HasField("shape") or len(new.shape.dim) != len(old.shape.dim):
        return not old.HasField("shape")
    pairs = zip(new.shape.dim, old.shape.dim, strict=True)
    return all(dimension_text(a) == dimension_text(b) or is_allowed(a, b) for a, b in pairs)
