"""Messages whose tensors are all stored as raw bytes: so what is only stored in another way is seen to be the same."""

from __future__ import annotations

from typing import TypeVar

from google.protobuf.message import Message  # type: ignore[import-untyped]
from onnx import TensorProto

from conformance.models.arrays import array_of, tensor_of

M = TypeVar("M", bound=Message)
TYPED = ("float_data", "int32_data", "int64_data", "double_data", "uint64_data")
"""Fields that elements of numbers can be stored in instead."""


def as_raw(message: M) -> M:
    """A copy with every tensor's numbers in `raw_data`; of tensors that cannot be read they stay where they are."""
    copy: M = type(message)()
    copy.CopyFrom(message)
    store_raw(copy)
    return copy


def store_raw(message: Message) -> None:
    """The same, of the message itself."""
    if isinstance(message, TensorProto):
        _store(message)
        return
    for descriptor, content in message.ListFields():
        if descriptor.message_type is not None:
            for entry in content if hasattr(content, "extend") else [content]:
                store_raw(entry)


def _store(tensor: TensorProto) -> None:
    if tensor.data_location == TensorProto.DEFAULT:
        tensor.ClearField("data_location")  # which is to say the same
    if not any(getattr(tensor, field) for field in TYPED) or tensor.data_location == TensorProto.EXTERNAL:
        return
    try:
        raw = tensor_of(array_of(tensor)).raw_data
    except (KeyError, TypeError, ValueError, NotImplementedError):
        return
    for field in TYPED:
        tensor.ClearField(field)
    tensor.raw_data = raw
