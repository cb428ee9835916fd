"""Operators without arithmetic: constants, and operators that return their input."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onnx import TensorProto

from checks.oracle.tensors import Tensor, int64_tensor, object_array, scalar_tensor

if TYPE_CHECKING:
    from checks.oracle.calls import Call
    from checks.oracle.tensors import Value


def _constant(call: Call) -> Tensor:
    """Return the value of the node's only attribute."""
    ((name, value),) = call.attributes.items()
    tensors: dict[str, Any] = {
        "value": lambda: value,
        "sparse_value": lambda: value,
        "value_float": lambda: scalar_tensor(TensorProto.FLOAT, value),
        "value_floats": lambda: Tensor(TensorProto.FLOAT, object_array(value, (len(value),))),
        "value_int": lambda: scalar_tensor(TensorProto.INT64, value),
        "value_ints": lambda: int64_tensor(value, (len(value),)),
    }
    tensor: Tensor = tensors[name]()
    return tensor


def _identity(call: Call, x: Value) -> Value:
    return x


def _dropout(
    call: Call, x: Tensor, ratio: Tensor | None = None, training: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Return the input and a mask of true: inference mode, the default."""
    if training is not None and training.scalar():
        raise NotImplementedError("The second oracle does not support Dropout in training mode, which is random.")
    return x, Tensor(TensorProto.BOOL, object_array([True] * x.elements.size, x.shape))


OPERATORS = {"Constant": _constant, "Dropout": _dropout, "Identity": _identity}
