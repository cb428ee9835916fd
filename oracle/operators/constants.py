"""Operators whose results do not depend on numbers: constants, and tensors that pass through."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onnx import TensorProto

from oracle.tensors import Tensor, elements_of, int64, scalar

if TYPE_CHECKING:
    from oracle.calls import Call
    from oracle.tensors import Value


def _constant(call: Call) -> Tensor:
    """The value of the one attribute that is given."""
    ((name, value),) = call.attributes.items()
    readings: dict[str, Any] = {
        "value": lambda: value,
        "sparse_value": lambda: value,
        "value_float": lambda: scalar(TensorProto.FLOAT, value),
        "value_floats": lambda: Tensor(TensorProto.FLOAT, elements_of(value, (len(value),))),
        "value_int": lambda: scalar(TensorProto.INT64, value),
        "value_ints": lambda: int64(value, (len(value),)),
    }
    tensor: Tensor = readings[name]()
    return tensor


def _identity(call: Call, x: Value) -> Value:
    return x


def _dropout(
    call: Call, x: Tensor, ratio: Tensor | None = None, training: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """In inference, which is the default, everything passes."""
    if training is not None and training.scalar():
        raise NotImplementedError("The second oracle does not know Dropout in training, which is random.")
    return x, Tensor(TensorProto.BOOL, elements_of([True] * x.elements.size, x.shape))


OPERATORS = {"Constant": _constant, "Dropout": _dropout, "Identity": _identity}
