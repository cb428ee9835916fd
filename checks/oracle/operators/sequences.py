"""Operators on sequences and optionals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnx import TensorProto

from checks.oracle.tensors import int64_tensor, scalar_tensor

if TYPE_CHECKING:
    from checks.oracle.calls import Call
    from checks.oracle.tensors import Tensor, Value


def _at(call: Call, sequence: list[Tensor], position: Tensor) -> Tensor:
    return sequence[position.integers()[0]]


def _construct(call: Call, *tensors: Tensor) -> list[Tensor]:
    return list(tensors)


def _length(call: Call, sequence: list[Tensor]) -> Tensor:
    return int64_tensor([len(sequence)], ())


def _map(call: Call, sequence: list[Tensor], *others: Tensor | list[Tensor]) -> tuple[Value, ...]:
    """Run the body for each tensor of the sequence, and for the other tensors of its place. Collect each output."""
    rows = [
        call.run(call.attributes["body"], (tensor, *(each[at] if isinstance(each, list) else each for each in others)))
        for at, tensor in enumerate(sequence)
    ]
    return tuple(list(column) for column in zip(*rows, strict=True))


def _optional(call: Call, value: Value = None) -> Value:
    return value


def _has_element(call: Call, value: Value = None) -> Tensor:
    return scalar_tensor(TensorProto.BOOL, value is not None)


OPERATORS = {
    "Optional": _optional,
    "OptionalHasElement": _has_element,
    "SequenceAt": _at,
    "SequenceConstruct": _construct,
    "SequenceLength": _length,
    "SequenceMap": _map,
}
