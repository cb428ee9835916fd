"""The operands of one element of a node's output, as texts: what a reader needs to compute the element by hand."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.exact.models.graphs import names_taken_by
from conformance.exact.models.types import MAIN_DOMAINS
from conformance.exact.reference.formulas.elementwise import ELEMENTWISE_ENCLOSURES
from conformance.exact.reference.numbers.enclosure import Enclosure

if TYPE_CHECKING:
    from collections.abc import Mapping

    import onnx

    from conformance.exact.models.arrays import Array
    from conformance.exact.reference.numbers.enclosure import Tensor

MAX_ROW = 6
"""Elements of a row that are shown: the first ones and the last one."""

MAX_OPERANDS = 4
"""Operands that are shown."""

_ELEMENTWISE = {*ELEMENTWISE_ENCLOSURES, "Less", "Greater", "Equal", "LessOrEqual", "GreaterOrEqual", "Not", "And"} | {
    "Or",
    "Xor",
    "Ceil",
    "Floor",
    "Round",
    "Sign",
    "ThresholdedRelu",
    "Relu",
    "Neg",
    "Abs",
    "Max",
    "Min",
    "Clip",
    "Where",
    "IsNaN",
    "IsInf",
    "Mod",
    "Cast",
    "Pow",
}

_ALONG_AN_AXIS = {"Softmax", "LogSoftmax", "Hardmax", "LayerNormalization", "RMSNormalization", "LpNormalization"}


def operand_texts(
    node: onnx.NodeProto, known: Mapping[str, Tensor], shape: tuple[int, ...], index: tuple[int, ...]
) -> tuple[str, ...]:
    """Return the elements of the operands that an element depends on; an empty tuple for other operators.

    Args:
        node: the node.
        known: its operands by name.
        shape: the shape of the output.
        index: the position of the element in the output.
    """
    if node.domain not in MAIN_DOMAINS:
        return ()
    texts = []
    for position, name in enumerate(names_taken_by(node)[:MAX_OPERANDS]):
        tensor = known.get(name)
        place = None if tensor is None else _place(node, position, tuple(tensor.shape), shape, index)
        if tensor is not None and place is not None:
            with suppress(IndexError):  # a malformed node, whose operands do not fit its output
                texts.append(f"{name} = {_text(tensor, place)}")
    return tuple(texts)


def _place(
    node: onnx.NodeProto, position: int, own: tuple[int, ...], shape: tuple[int, ...], index: tuple[int, ...]
) -> tuple[Any, ...] | None:
    """Return the part of an operand, as an index of NumPy, that an element of the output depends on."""
    if node.op_type == "MatMul" and len(own) > 1 and len(shape) > 1:
        batch = _broadcast(own[:-2], index[:-2])
        inner = (index[-2], slice(None)) if position == 0 else (slice(None), index[-1])
        return None if batch is None else (*batch, *inner)
    if node.op_type in _ALONG_AN_AXIS and position == 0 and own == shape:
        axis = next((attribute.i for attribute in node.attribute if attribute.name == "axis"), -1) % len(own)
        return tuple(slice(None) if each == axis else index[each] for each in range(len(own)))
    if node.op_type in _ELEMENTWISE:
        return _broadcast(own, index)
    return None


def _broadcast(own: tuple[int, ...], index: tuple[int, ...]) -> tuple[int, ...] | None:
    """Return the position of an operand's element that broadcasting moves to an index."""
    if len(own) > len(index):
        return None
    last = index[len(index) - len(own) :]
    return tuple(0 if size == 1 else place for size, place in zip(own, last, strict=True))


def _text(tensor: Tensor, place: tuple[Any, ...]) -> str:
    values, errors = (
        (tensor.value, tensor.error) if isinstance(tensor, Enclosure) else (np.asarray(tensor), np.zeros(()))
    )
    part = np.asarray(values[place])
    if part.ndim:
        return _row(part)
    error = float(np.asarray(errors[place] if errors.ndim else errors))
    return f"{number_text(part)} ± {error:.2g}" if error else number_text(part)


def _row(row: Array) -> str:
    flat = [number_text(each) for each in row[: MAX_ROW - 1]]
    if row.size <= MAX_ROW:
        return f"[{', '.join(map(number_text, row))}]"
    return f"[{', '.join(flat)}, …, {number_text(row[-1])}] ({row.size} elements)"


def number_text(element: Any) -> str:
    """Return the digits of an element: nine of a number with a fraction, and all of an integer. A text is quoted."""
    if isinstance(element, str):
        return repr(element)
    try:
        return str(int(element)) if np.asarray(element).dtype.kind in "iu" else f"{float(element):.9g}"
    except (TypeError, ValueError):
        return repr(element)[:40]
