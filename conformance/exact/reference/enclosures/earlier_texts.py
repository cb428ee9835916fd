"""Results by the earlier text of a page that changed within one version of an operator: the rows of `ERRATA`.

A node is right if its outputs follow one text throughout. Of some changes only the shape of an output is known here: an
output of the other shape is not judged. `node_enclosures` has the earlier texts of Attention, a function.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx

from conformance.exact.models.graphs import MAIN_DOMAINS
from conformance.exact.reference.enclosures.movement import ELEMENT_MOVEMENTS
from conformance.exact.reference.formulas.linear import explicit_pads, extents, strides
from conformance.exact.reference.numbers.enclosure import Enclosure, as_enclosure, current_reading, move
from conformance.exact.reference.tolerances import ERRATA

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from conformance.exact.models.arrays import Array
    from conformance.exact.reference.nodes import Node
    from conformance.exact.reference.numbers.enclosure import Tensor, TensorOrSequence
    from conformance.exact.reference.tolerances import Erratum

_OPERATORS = frozenset(operator for each in ERRATA.values() for operator in each.operators)


def errata_of(node: Node) -> Iterator[Erratum]:
    """Yield the changes of the page of a node's version."""
    if node.op_type in _OPERATORS and node.domain in MAIN_DOMAINS:
        version = _version_of(node.op_type, node.opset)
        yield from (row for row in ERRATA.values() if node.op_type in row.operators and version in row.versions)


@cache
def _version_of(op_type: str, opset: int) -> int:
    return int(onnx.defs.get_schema(op_type, max_inclusive_version=opset, domain="").since_version)


def readings_of(node: Node) -> Iterator[frozenset[str]]:
    """Yield the sets of changes before which the page of a node may be read, the smallest sets first."""
    names = [erratum.name for erratum in errata_of(node) if erratum.name not in _SHAPES]
    for size in range(1, len(names) + 1):
        yield from map(frozenset, combinations(names, size))


def by_earlier_texts(node: Node, inputs: Sequence[Tensor], results: list[Tensor]) -> list[Tensor]:
    """Return the outputs of a node by the text that the block of `read_as` reads.

    Args:
        node: the node.
        inputs: its inputs.
        results: its outputs by the text of the installed onnx.
    """
    if not current_reading():
        return results
    for erratum in errata_of(node):
        read = _READINGS.get(erratum.name) if erratum.name in current_reading() else None
        other = None if read is None else read(node, inputs, results[0])
        if other is not None:
            results = [other, *results[1:]]
    return results


def with_reading(name: str, result: TensorOrSequence, other: TensorOrSequence) -> TensorOrSequence:
    """Return a result of which another reading of the page is admissible too.

    Args:
        name: the name of the change.
        result: the result.
        other: the result by the other reading; it is left out if it has another shape, or is no tensor.
    """
    if not (isinstance(result, (np.ndarray, Enclosure)) and isinstance(other, (np.ndarray, Enclosure))):
        return result
    if result.shape != other.shape:
        return result
    if isinstance(result, np.ndarray) and isinstance(other, np.ndarray) and np.array_equal(result, other):
        return result
    return as_enclosure(result).with_readings(name, [as_enclosure(other)])


def changed_shapes(node: Node, shape: tuple[int, ...]) -> dict[tuple[int, ...], str]:
    """Return how the text of a page changed, for each shape that an output has by one of both texts only.

    Args:
        node: the node.
        shape: the shape of its first operand.
    """
    found = ((_SHAPES.get(erratum.name), erratum.change) for erratum in errata_of(node))
    return {other: change for read, change in found if read is not None for other in read(node, shape)}


def _unreduced(node: Node, inputs: Sequence[Tensor], _: Tensor) -> Tensor:
    axes = inputs[1] if len(inputs) > 1 else None
    has_axes = axes is not None and bool(np.prod(axes.shape))
    return None if has_axes or not node.attributes.get("noop_with_empty_axes", 0) else inputs[0]


def _quotient_of_zeros(node: Node, inputs: Sequence[Tensor], result: Tensor) -> Tensor:
    X = as_enclosure(inputs[0])
    is_zero = X.zero_mask().all(axis=node.attributes.get("axis", -1), keepdims=True)
    if not is_zero.any():
        return None
    quotient = as_enclosure(result)
    return Enclosure(np.where(is_zero, np.nan, quotient.value), quotient.error, quotient.dtype)


def _floored(_: Node, inputs: Sequence[Tensor], result: Tensor) -> Tensor:
    arrays: list[Any] = list(inputs)
    if not all(isinstance(each, np.ndarray) and each.dtype.kind == "i" for each in arrays):
        return None
    X, Y = np.broadcast_arrays(*arrays)
    floored = np.floor_divide(X, np.where(Y == 0, 1, Y).astype(Y.dtype))
    return np.where(Y == 0, as_enclosure(result).value.astype(X.dtype), floored)


def _lower_limit(node: Node, inputs: Sequence[Tensor], result: Tensor) -> Tensor:
    limits: list[Any] = [*inputs[1:], None, None]
    if node.opset < 11:
        found = (node.attributes.get(name) for name in ("min", "max"))
        limits = [None if each is None else np.asarray(each, as_enclosure(result).dtype) for each in found]
    low, high = (None if each is None else as_enclosure(each) for each in limits[:2])
    if low is None or high is None or not bool(np.all(low.value > high.value)):
        return None
    return low.moved(lambda part: np.broadcast_to(part.reshape(()), as_enclosure(result).shape))


def _platform_dependent(node: Node, inputs: Sequence[Tensor], result: Tensor) -> Tensor:
    remainder = as_enclosure(result)
    is_open = np.broadcast_to(as_enclosure(inputs[1]).zero_mask(), remainder.shape)
    return remainder.leave_open(is_open, "remainder of zero") if node.attributes.get("fmod", 0) else None


def _other_half(node: Node, inputs: Sequence[Tensor], _: Tensor) -> Tensor:
    """Return the result on the reversed operand, reversed."""

    def cropped(part: Array) -> Array:
        return np.flip(ELEMENT_MOVEMENTS[node.op_type](node, [np.flip(part), *inputs[1:]])[0])

    return move(inputs[0], cropped)


_READINGS: Mapping[str, Callable[[Node, Sequence[Tensor], Tensor], Tensor]] = {
    "reduction without axes": _unreduced,
    "quotient of zeros": _quotient_of_zeros,
    "division of integers": _floored,
    "half of an odd difference": _other_half,
    "limits in reverse": _lower_limit,
    "remainder of zero": _platform_dependent,
}
"""The results by the earlier text, by the name of the change; None if they are the same."""


def _non_zero(_: Node, shape: tuple[int, ...]) -> Sequence[tuple[int, ...]]:
    return () if shape else ((0, 0), (0, 1), (1, 0), (1, 1))


def _sizes(node: Node, shape: tuple[int, ...]) -> Sequence[tuple[int, ...]]:
    start = node.attributes.get("start", 0)
    return ((0,), (1,)) if start >= len(shape) > 0 else ()


def _pooled(node: Node, shape: tuple[int, ...]) -> Sequence[tuple[int, ...]]:
    """Return the shape whose quotients are rounded down."""
    way = node.attributes.get("auto_pad", "NOTSET")
    way = way.decode() if isinstance(way, bytes) else way
    if node.attributes.get("ceil_mode", 0) or way not in ("VALID", "SAME_UPPER", "SAME_LOWER"):
        return ()
    kernel = node.attributes["kernel_shape"]
    strides = node.attributes.get("strides") or [1] * len(kernel)
    lengths = [size - (width - 1) * (way == "VALID") for size, width in zip(shape[2:], kernel, strict=True)]
    return ((*shape[:2], *(length // stride for length, stride in zip(lengths, strides, strict=True))),)


def _all_windows(node: Node, shape: tuple[int, ...]) -> Sequence[tuple[int, ...]]:
    """Return the shape with all windows of the formula, if the last one starts in the padding at the end."""
    if not node.attributes.get("ceil_mode", 0) or node.attributes.get("auto_pad", "NOTSET") != "NOTSET":
        return ()
    kernel = node.attributes["kernel_shape"]
    pads = explicit_pads(node, shape[2:], kernel)
    axes = list(zip(shape[2:], pads, extents(node, kernel), strides(node, len(kernel)), strict=True))
    counts = [ceil((size + low + high - extent) / step) + 1 for size, (low, high), extent, step in axes]
    starts = [(count - 1) * step >= size + low for count, (size, (low, _), _, step) in zip(counts, axes, strict=True)]
    return ((*shape[:2], *counts),) if any(starts) else ()


_SHAPES: Mapping[str, Callable[[Node, tuple[int, ...]], Sequence[tuple[int, ...]]]] = {
    "places of a scalar": _non_zero,
    "start behind the last axis": _sizes,
    "size of automatic padding": _pooled,
    "window in the padding": _all_windows,
    "window in the padding of LpPool": _all_windows,
}
"""The shapes of the first output by one of both texts, if they differ, by the name of the change."""
