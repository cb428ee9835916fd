"""Types and shapes of values as a person writes them: `float[N,3]`, `seq(int64[])`."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

from onnx import TensorProto

if TYPE_CHECKING:
    from collections.abc import Callable

    import onnx


def described(type: onnx.TypeProto) -> str:
    """A type in words: an open dimension is `?`, a tensor of unknown rank has no brackets."""
    kind = type.WhichOneof("value")
    if kind in {"tensor_type", "sparse_tensor_type"}:
        tensor = type.tensor_type if kind == "tensor_type" else type.sparse_tensor_type
        text = f"{element(tensor.elem_type)}{shape(tensor.shape) if tensor.HasField('shape') else ''}"
        return text if kind == "tensor_type" else f"sparse({text})"
    if kind == "sequence_type":
        return f"seq({described(type.sequence_type.elem_type)})"
    if kind == "optional_type":
        return f"optional({described(type.optional_type.elem_type)})"
    if kind == "map_type":
        return f"map({element(type.map_type.key_type)},{described(type.map_type.value_type)})"
    return "nothing" if kind is None else str(kind)


def element(number: int) -> str:
    """An element type's name in lower case."""
    known = number in TensorProto.DataType.values()
    return str(TensorProto.DataType.Name(number)).lower() if known else f"type {number}"


def shape(dimensions: onnx.TensorShapeProto) -> str:
    """A shape in brackets."""
    return f"[{','.join(dimension(one) for one in dimensions.dim)}]"


def dimension(one: onnx.TensorShapeProto.Dimension) -> str:
    """A dimension's size or name, or `?`."""
    if one.HasField("dim_value"):
        return str(one.dim_value)
    return str(one.dim_param) or "?"


def undenoted(type: onnx.TypeProto) -> onnx.TypeProto:
    """A type without its denotations, which say what is meant by it and its dimensions and not what it is."""
    plain = copy.deepcopy(type)
    _strip(plain)
    return plain


def _strip(type: onnx.TypeProto) -> None:
    type.ClearField("denotation")
    kind = type.WhichOneof("value")
    if kind in {"tensor_type", "sparse_tensor_type"} and getattr(type, kind).HasField("shape"):
        for one in getattr(type, kind).shape.dim:
            one.ClearField("denotation")
    elif kind in {"sequence_type", "optional_type"}:
        _strip(getattr(type, kind).elem_type)
    elif kind == "map_type":
        _strip(type.map_type.value_type)


def refines(after: onnx.TypeProto, before: onnx.TypeProto) -> bool:
    """Whether a tensor's type says all that it said, and maybe more about what was left open or had but a name."""
    if before.WhichOneof("value") != "tensor_type" or after.WhichOneof("value") != "tensor_type":
        return after == before
    new, old = after.tensor_type, before.tensor_type
    if new.elem_type != old.elem_type:
        return False
    if not old.HasField("shape"):
        return True
    return _agree(new, old, lambda a, b: dimension(b) == "?" or (bool(b.dim_param) and a.HasField("dim_value")))


def names(after: onnx.TypeProto, before: onnx.TypeProto) -> bool:
    """Whether a tensor's type is what it was, but for names of dimensions that had none."""
    if before.WhichOneof("value") != "tensor_type" or after.WhichOneof("value") != "tensor_type":
        return after == before
    new, old = after.tensor_type, before.tensor_type
    if new.elem_type != old.elem_type or new.HasField("shape") != old.HasField("shape"):
        return False
    return _agree(new, old, lambda a, b: dimension(b) == "?" and bool(a.dim_param))


def _agree(
    new: onnx.TypeProto.Tensor,
    old: onnx.TypeProto.Tensor,
    may: Callable[[onnx.TensorShapeProto.Dimension, onnx.TensorShapeProto.Dimension], bool],
) -> bool:
    """Whether two shapes are of one rank, and each dimension is what it was or what it may become."""
    if not new.HasField("shape") or len(new.shape.dim) != len(old.shape.dim):
        return not old.HasField("shape")
    pairs = zip(new.shape.dim, old.shape.dim, strict=True)
    return all(dimension(a) == dimension(b) or may(a, b) for a, b in pairs)
