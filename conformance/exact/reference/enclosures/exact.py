"""Operators without rounding: they move, select or compare elements, or compute with integers.

A node whose inputs are all known is evaluated by the operators of the package's reference, on arrays of the tensors'
own types. An operator that only moves elements is applied to the values and to the bounds of an enclosure alike.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx

from conformance.base.verdicts import Unsupported
from conformance.exact.models.arrays import format_of, is_computed, type_name
from conformance.exact.models.graphs import normal_domain
from conformance.exact.reference.enclosures.casts import CASTS_OF_KNOWN
from conformance.exact.reference.enclosures.decisions import decide
from conformance.exact.reference.enclosures.movement import ELEMENT_DECISIONS, ELEMENT_MOVEMENTS
from conformance.exact.reference.enclosures.regions import non_max_suppression
from conformance.exact.reference.enclosures.text import TEXT
from conformance.exact.reference.formulas.linear import (
    accumulate,
    contracted_count,
    distinct_axes,
    integers,
    reduced_axes,
)
from conformance.exact.reference.numbers.enclosure import Enclosure, as_enclosure, is_strict
from conformance.exact.reference.numbers.number_system import ABSENT, NumberSystem
from conformance.exact.reference.operators import OPERATORS
from conformance.exact.reference.operators.data_movement import DATA_MOVEMENT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from conformance.exact.models.arrays import Array
    from conformance.exact.reference.nodes import Node
    from conformance.exact.reference.numbers.enclosure import Tensor

MOVEMENT = frozenset(DATA_MOVEMENT) - {"Constant", "Shape", "Dropout"} | {
    "Pad",
    "GatherND",
    "GatherElements",
    "DepthToSpace",
    "SpaceToDepth",
    *ELEMENT_MOVEMENTS,
}
"""Operators whose outputs have only elements of their inputs, in positions that do not depend on numbers."""

_MOVEMENTS_OF_ALL_ELEMENTS = frozenset({"Reshape", "Transpose", "Squeeze", "Unsqueeze", "Flatten", "Identity"})
"""Operators of one tensor that runtimes move past additions and multiplications."""

SELECTION = frozenset({"Relu", "Neg", "Abs", "Max", "Min", "Clip", "Where", "ReduceMax", "ReduceMin", "MaxPool"})
"""Operators that return elements, or their negatives, which the numbers select."""

COPYING = (
    MOVEMENT
    | SELECTION - {"Clip", "ReduceMax", "ReduceMin", "MaxPool"}
    | {"Less", "Greater", "Equal", "LessOrEqual", "GreaterOrEqual", "Not", "And", "Or", "Xor", "IsNaN", "IsInf"}
    | {"Ceil", "Floor", "Round", "Sign", "BitCast", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot"}
)
"""Operators whose evaluation on known elements takes little more memory than a copy of their outputs."""

DECISIONS = frozenset(
    {"ArgMax", "ArgMin", "TopK", "Hardmax", "Less", "Greater", "Equal", "LessOrEqual", "GreaterOrEqual", "Not", "And"}
    | {"Or", "Xor", "Ceil", "Floor", "Round", "Sign", "ThresholdedRelu", "Constant", "Shape", "Size", "Unique"}
    | {"ConstantOfShape", "NonZero", "IsNaN", "IsInf", "OneHot", "EyeLike", "BitCast", "BitwiseAnd"}
    | {"BitwiseOr", "BitwiseXor", "BitwiseNot", "NonMaxSuppression"}
    | frozenset(TEXT)
)
"""Operators whose result is exact for known elements, and can change completely where elements differ by rounding."""


def evaluate_exactly(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Return the outputs of a node that does not round.

    Raises:
        Unsupported: rounding of an input decides which elements the outputs have, or there is no reference.
    """
    inexact = [tensor for tensor in inputs if isinstance(tensor, Enclosure) and not tensor.is_exact]
    first = inputs[0] if inputs else None
    if not inexact and not (node.op_type == "Clip" and first is not None and is_computed(first.dtype)):
        return list(evaluate(node, [_known(tensor) for tensor in inputs]))
    if node.op_type in MOVEMENT:
        return _move(node, inputs)
    if node.op_type in ("Shape", "Size", "EyeLike"):
        return list(evaluate(node, [_known(tensor) for tensor in inputs]))
    if node.op_type in _MONOTONE_SELECTIONS:
        return _MONOTONE_SELECTIONS[node.op_type](node, inputs)
    return decide(node, inputs)


def _known(tensor: Tensor) -> Array | None:
    return tensor.value.astype(tensor.dtype) if isinstance(tensor, Enclosure) else tensor


def evaluate(node: Node, arrays: Sequence[Array | None]) -> list[Array]:
    """Return the outputs of a node on known elements, computed in the types of its inputs."""
    own = _OWN_OPERATORS.get(node.op_type)
    with np.errstate(all="ignore"):
        if own is not None:
            return own(node, arrays)
        evaluation = OPERATORS.get(node.op_type)
        if evaluation is None:
            raise Unsupported(f"no reference for {node.op_type} of integers")
        system = NumberSystem()
        values = evaluation(node, [ABSENT if array is None else system.from_array(array) for array in arrays], system)
        return [value.elements for value in values]


def _move(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Apply an operator that moves elements to the values and to the bounds.

    Raises:
        Unsupported: an operand that decides the positions is not known, such as indices that were rounded.
    """
    for place, tensor in enumerate(inputs):
        if isinstance(tensor, Enclosure) and not tensor.is_exact and not _is_moved(node, place):
            raise Unsupported("rounding of an input decides the result")
    moved = next(tensor for tensor in inputs if isinstance(tensor, Enclosure))
    if node.op_type == "Identity":
        return [moved]
    if moved.terms is not None and node.op_type in _MOVEMENTS_OF_ALL_ELEMENTS:
        others = [_known(tensor) for tensor in inputs[1:]]
        return [moved.moved(lambda part: evaluate(node, [part, *others])[0])]
    parts = []
    for attribute in ("value", "error"):
        arrays = [
            getattr(tensor, attribute)
            if isinstance(tensor, Enclosure)
            else _values(tensor, attribute, moved.value.dtype if _is_moved(node, place) else None)
            for place, tensor in enumerate(inputs)
        ]
        parts.append(evaluate(node, arrays))
    return [
        Enclosure(value, error, moved.dtype) if value.dtype in (np.float64, moved.value.dtype) else value
        for value, error in zip(*parts, strict=True)
    ]


def _is_moved(node: Node, place: int) -> bool:
    """Return whether the elements of an operand are moved: it has the type of the first one, as in Concat or Where."""
    domain = normal_domain(node.domain)
    if not place or not onnx.defs.has(node.op_type, domain):
        return not place
    formal = onnx.defs.get_schema(node.op_type, max_inclusive_version=node.opset, domain=domain).inputs
    return bool(formal[min(place, len(formal) - 1)].type_str == formal[0].type_str)


def _values(tensor: Array | None, attribute: str, dtype: np.dtype[Any] | None) -> Array | None:
    """Return the values in a type, or the bounds, of a tensor that is no enclosure.

    Without a type, the tensor has shapes, axes or indices, and is returned.
    """
    if tensor is None or dtype is None:
        return tensor
    return tensor.astype(dtype) if attribute == "value" else np.zeros(tensor.shape)


def _enclosures(inputs: Sequence[Tensor]) -> list[Enclosure]:
    return [as_enclosure(tensor) for tensor in inputs if tensor is not None]


def _extreme_of_operands(largest: bool) -> Callable[[Node, Sequence[Tensor]], list[Tensor]]:
    def enclose(_: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
        tensors = _enclosures(inputs)
        value = tensors[0].value
        error = tensors[0].error
        for tensor in tensors[1:]:
            value = (np.maximum if largest else np.minimum)(value, tensor.value)
            error = np.maximum(error, tensor.error)
        result = Enclosure(value, np.broadcast_to(error, value.shape), tensors[0].dtype)
        return [_with_limited_terms(result, *(tensor for tensor in tensors if not tensor.is_exact))]

    return enclose


def _clip(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    if any(isinstance(tensor, Enclosure) and not tensor.is_exact for tensor in inputs[1:]):
        raise Unsupported("a limit of Clip is not exact")
    known = [_known(tensor) for tensor in inputs[1:]]
    X = _enclosures(inputs[:1])[0]
    limits = [*(None if limit is None else limit.astype(np.float64) for limit in known), None, None]
    if node.opset < 11:
        limits = [node.attributes.get("min"), node.attributes.get("max")]
    largest = float(format_of(X.dtype).largest) if is_computed(X.dtype) else np.inf
    if node.opset < 11:  # the defaults are numbers in float, which a narrower type does not reach
        greatest = float(np.finfo(np.float32).max)
        largest = greatest if largest >= greatest else np.inf
    low, high = (sign * largest if limit is None else limit for sign, limit in zip((-1, 1), limits, strict=False))
    result = X.apply(lambda x: np.minimum(np.maximum(x, low), high))
    # without a limit, the page has the largest number, and the function body of the schema has no limit
    is_unbounded = np.zeros(X.shape, dtype=bool)
    for sign, limit in zip((-1, 1), limits, strict=False):
        if limit is None and not is_strict():
            is_unbounded |= sign * X.value > largest
    return [_with_limited_terms(replace(result, error=np.where(is_unbounded, np.inf, result.error)), X)]


def _relu(X: Enclosure) -> Enclosure:
    return _with_limited_terms(X.apply(lambda x: np.maximum(x, 0)), X)


def _with_limited_terms(result: Enclosure, *limited: Enclosure) -> Enclosure:
    """Return a tensor to which exact limits were applied with the terms that the tensor had before."""
    terms = limited[0].terms if len(limited) == 1 else None
    has_shape = terms is not None and terms.magnitudes.shape == result.shape
    return replace(result, terms=replace(terms, is_limited=True)) if terms is not None and has_shape else result


def _where(_: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    condition = inputs[0]
    if not isinstance(condition, np.ndarray):
        raise Unsupported("rounding of an input decides the condition of Where")
    A, B = _enclosures(inputs[1:])
    for chosen, mask in ((A, condition), (B, ~condition)):
        if mask.all() and chosen.shape == np.broadcast_shapes(condition.shape, A.shape, B.shape):
            return [chosen]
    return [Enclosure(np.where(condition, A.value, B.value), np.where(condition, A.error, B.error), A.dtype)]


def _extreme_along_axes(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    X = _enclosures(inputs[:1])[0]
    axes = reduced_axes(node, inputs, len(X.shape))
    if axes is None:
        return [X]
    keepdims = bool(node.attributes.get("keepdims", 1))
    return [X.extreme(axes, largest=node.op_type == "ReduceMax", keepdims=keepdims)]


_MONOTONE_SELECTIONS: Mapping[str, Callable[[Node, Sequence[Tensor]], list[Tensor]]] = {
    "Relu": lambda _, inputs: [_relu(_enclosures(inputs)[0])],
    "Neg": lambda _, inputs: [-_enclosures(inputs)[0]],
    "Abs": lambda _, inputs: [abs(_enclosures(inputs)[0])],
    "Max": _extreme_of_operands(largest=True),
    "Min": _extreme_of_operands(largest=False),
    "Clip": _clip,
    "Where": _where,
    **dict.fromkeys(("ReduceMax", "ReduceMin"), _extreme_along_axes),
    "Ceil": lambda _, inputs: [_enclosures(inputs)[0].apply(np.ceil)],
    "Floor": lambda _, inputs: [_enclosures(inputs)[0].apply(np.floor)],
    "Round": lambda _, inputs: [_enclosures(inputs)[0].apply(np.rint)],
}


# Operators on known elements that the oracle of the corpus does not have


def _divide_integers(_: Node, arrays: Sequence[Any]) -> list[Array]:
    """Return quotients of integers, rounded toward zero; after a division by zero, any number."""
    A = arrays[0]
    B = np.where(arrays[1] == 0, 1, arrays[1]).astype(arrays[1].dtype)
    if A.dtype.kind == "f":
        return [np.trunc(A / B)]
    quotient = A // B
    is_rounded_down = (quotient * B != A) & ((A < 0) != (B < 0))
    return [np.asarray(quotient + is_rounded_down, A.dtype)]


def _power_of_integers(_: Node, arrays: Sequence[Any]) -> list[Array]:
    """Return powers of integers in the type of the base; for a negative exponent, any number."""
    A = arrays[0]
    B = np.maximum(arrays[1], 0)
    if A.dtype.kind == "f":
        return [np.asarray(np.power(A, B))]
    # without a common type, NumPy computes in double; modulo 2**64, all powers have the bits of those in their type
    return [np.asarray(np.power(A.astype(np.uint64), B.astype(np.uint64))).astype(A.dtype)]


def _modulo(node: Node, arrays: Sequence[Any]) -> list[Array]:
    """Return remainders; of integers after a division by zero, any number."""
    A, B = arrays
    if A.dtype.kind in "iu":
        B = np.where(B == 0, 1, B).astype(B.dtype)
    return [np.asarray(np.fmod(A, B) if node.attributes.get("fmod", 0) else np.mod(A, B), A.dtype)]


def _default_fill(X: Array, mode: str) -> Any:
    """Return the element with which Pad fills by default.

    Raises:
        Unsupported: it is 0, and the type has no zero.
    """
    if mode == "constant" and type_name(X.dtype) == "float8e8m0":
        raise Unsupported("float8e8m0 has no zero, with which Pad fills by default")
    return "" if X.dtype == object else 0


def _pad(node: Node, arrays: Sequence[Any]) -> list[Array]:
    X = arrays[0]
    mode = node.attributes.get("mode", "constant")
    if node.opset < 11:
        pads = node.attributes.get("pads", node.attributes.get("paddings"))
        fill = node.attributes.get("value", 0.0)
        axes = list(range(X.ndim))
    else:
        pads = [int(pad) for pad in arrays[1]]
        value = arrays[2] if len(arrays) > 2 else None
        fill = value.item() if value is not None and value.size else _default_fill(X, mode)
        given = arrays[3] if len(arrays) > 3 else None
        axes = list(range(X.ndim)) if given is None else distinct_axes(given.tolist(), X.ndim)
    widths = [(0, 0)] * X.ndim
    for position, axis in enumerate(axes):
        widths[axis] = (pads[position], pads[position + len(axes)])
    cut = tuple(slice(max(0, -low), X.shape[a] - max(0, -high)) for a, (low, high) in enumerate(widths))
    widths = [(max(0, low), max(0, high)) for low, high in widths]
    options: dict[str, Any] = {"constant_values": np.array(fill, X.dtype)} if mode == "constant" else {}
    return [np.pad(X[cut], widths, mode=mode, **options)]


def _gather_elements(node: Node, arrays: Sequence[Any]) -> list[Array]:
    X, indices = arrays
    axis = node.attributes.get("axis", 0) % X.ndim
    part = tuple(slice(None if each == axis else size) for each, size in enumerate(indices.shape))
    if (indices < -X.shape[axis]).any():
        raise Unsupported("an index of GatherElements is out of bounds")
    return [np.take_along_axis(X[part], np.where(indices < 0, indices + X.shape[axis], indices), axis)]


def _gather_nd(node: Node, arrays: Sequence[Any]) -> list[Array]:
    X, indices = arrays
    batch = node.attributes.get("batch_dims", 0)
    if batch == 0:
        return [X[tuple(np.moveaxis(indices, -1, 0))]]
    flat = X.reshape(-1, *X.shape[batch:]), indices.reshape(-1, *indices.shape[batch:])
    parts = [x[tuple(np.moveaxis(i, -1, 0))] for x, i in zip(*flat, strict=True)]
    return [np.stack(parts).reshape(*X.shape[:batch], *parts[0].shape)]


def _depth_to_space(node: Node, arrays: Sequence[Any]) -> list[Array]:
    (X,) = arrays
    n, c, h, w = X.shape
    b = node.attributes["blocksize"]
    if node.attributes.get("mode", "DCR") == "DCR":
        Y = X.reshape(n, b, b, c // b**2, h, w).transpose(0, 3, 4, 1, 5, 2)
    else:
        Y = X.reshape(n, c // b**2, b, b, h, w).transpose(0, 1, 4, 2, 5, 3)
    return [Y.reshape(n, c // b**2, h * b, w * b)]


def _space_to_depth(node: Node, arrays: Sequence[Any]) -> list[Array]:
    (X,) = arrays
    n, c, h, w = X.shape
    b = node.attributes["blocksize"]
    order = (0, 3, 5, 1, 2, 4) if node.attributes.get("mode", "DCR") == "DCR" else (0, 1, 3, 5, 2, 4)
    Y = X.reshape(n, c, h // b, b, w // b, b).transpose(order)
    return [Y.reshape(n, c * b**2, h // b, w // b)]


def _mean_of_integers(node: Node, arrays: Sequence[Any]) -> list[Array]:
    """Return means of integers, without an overflow of their sum, as numbers in double if they are no integers."""
    dtype = arrays[0].dtype
    if node.op_type == "Mean":
        total = sum(array.astype(object) for array in arrays)
        count = len(arrays)
    else:
        axes = reduced_axes(node, arrays, arrays[0].ndim)
        if axes is None:
            return [arrays[0]]
        total = arrays[0].astype(object).sum(axis=tuple(axes), keepdims=bool(node.attributes.get("keepdims", 1)))
        count = prod(arrays[0].shape[axis] for axis in axes)
    total = np.asarray(total, dtype=object)
    if count and not np.any(total % count):
        return [np.asarray(total // count, dtype=dtype)]
    return [np.asarray(total.astype(np.float64) / count)]


def _constant_of_shape(node: Node, arrays: Sequence[Any]) -> list[Array]:
    value = node.attributes.get("value", np.zeros(1, np.float32))
    return [np.full([int(size) for size in arrays[0]], value.reshape(-1)[0], dtype=value.dtype)]


def _range(_: Node, arrays: Sequence[Any]) -> list[Array]:
    start, limit, delta = (array.item() for array in arrays)
    return [np.arange(start, limit, delta, dtype=arrays[0].dtype)]


def _one_hot(node: Node, arrays: Sequence[Any]) -> list[Array]:
    indices = arrays[0]
    depth = int(np.asarray(arrays[1]).item())
    (off, on) = arrays[2]
    if is_computed(indices.dtype):
        if not (np.abs(indices) < 2.0**63).all():
            raise Unsupported("OneHot of indices that no integer has")
        indices = indices.astype(np.int64)
    axis = node.attributes.get("axis", -1)
    # below version 11 an index counts only from 0
    places = np.where((indices < 0) & (node.opset >= 11), indices + depth, indices)
    hot = np.expand_dims(places, axis) == np.arange(depth).reshape(
        [-1 if a == axis % (indices.ndim + 1) else 1 for a in range(indices.ndim + 1)]
    )
    return [np.where(hot, on, off).astype(arrays[2].dtype)]


def _non_zero(_: Node, arrays: Sequence[Any]) -> list[Array]:
    """Return the indices of elements that are not 0. A scalar has no index: the shape is (0, N)."""
    X = arrays[0]
    return [np.array(np.nonzero(X.reshape(-1)) if not X.ndim else np.nonzero(X), np.int64)[: X.ndim]]


def _einsum(node: Node, arrays: Sequence[Any]) -> list[Array]:
    contracted_count(node.attributes["equation"].replace(" ", ""), [array.shape for array in arrays])
    try:
        return [np.asarray(np.einsum(node.attributes["equation"], *arrays))]
    except ValueError as reason:
        raise Unsupported(f"Einsum with the equation {node.attributes['equation']}") from reason


def _reduce_prod(node: Node, arrays: Sequence[Any]) -> list[Array]:
    X = arrays[0]
    axes = reduced_axes(node, arrays, arrays[0].ndim)
    keepdims = bool(node.attributes.get("keepdims", 1))
    return [X if axes is None else np.asarray(np.prod(X, axis=tuple(axes), keepdims=keepdims, dtype=X.dtype))]


def _reduce_extreme(node: Node, arrays: Sequence[Any]) -> list[Array]:
    """Return the largest or the smallest elements; of no elements the lowest or the highest number of the type."""
    X = arrays[0]
    axes = reduced_axes(node, arrays, arrays[0].ndim)
    if axes is None:
        return [X]
    along = tuple(axes)
    keepdims = bool(node.attributes.get("keepdims", 1))
    is_largest = node.op_type == "ReduceMax"
    if all(X.shape[axis] for axis in along):
        return [np.asarray((np.max if is_largest else np.min)(X, axis=along, keepdims=keepdims), X.dtype)]
    fill: float
    if X.dtype.kind in "iu":
        fill = np.iinfo(X.dtype).min if is_largest else np.iinfo(X.dtype).max
    else:
        fill = (not is_largest) if X.dtype.kind == "b" else -np.inf if is_largest else np.inf
    shape = np.sum(np.zeros(X.shape, bool), axis=along, keepdims=keepdims).shape
    return [np.full(shape, fill, X.dtype)]


def _cumprod(node: Node, arrays: Sequence[Any]) -> list[Array]:
    return [accumulate(node, integers(arrays[1])[0], arrays[0], np.cumprod, 1) if arrays[0].size else arrays[0]]


def _integer(function: Callable[..., Array]) -> Callable[[Node, Sequence[Any]], list[Array]]:
    return lambda _, arrays: [np.asarray(function(*arrays), dtype=arrays[0].dtype)]


_OWN_OPERATORS: Mapping[str, Callable[[Node, Sequence[Any]], list[Array]]] = {
    "Div": _divide_integers,
    "Mod": _modulo,
    "SpaceToDepth": _space_to_depth,
    "ReduceMean": _mean_of_integers,
    "Mean": _mean_of_integers,
    "Pow": _power_of_integers,
    "PRelu": lambda _, arrays: [np.where(arrays[0] < 0, arrays[0] * arrays[1], arrays[0])],
    "Pad": _pad,
    "GatherElements": _gather_elements,
    "GatherND": _gather_nd,
    "DepthToSpace": _depth_to_space,
    "ConstantOfShape": _constant_of_shape,
    "Range": _range,
    "Sign": _integer(np.sign),
    "Size": lambda _, arrays: [np.asarray(arrays[0].size, dtype=np.int64)],
    "NonZero": _non_zero,
    "IsNaN": lambda _, arrays: [np.isnan(arrays[0])],
    "IsInf": lambda node, arrays: [_is_infinite(arrays[0], node)],
    "OneHot": _one_hot,
    "BitwiseAnd": _integer(np.bitwise_and),
    "BitwiseOr": _integer(np.bitwise_or),
    "BitwiseXor": _integer(np.bitwise_xor),
    "BitwiseNot": _integer(np.invert),
    "Einsum": _einsum,
    "ReduceMax": _reduce_extreme,
    "ReduceMin": _reduce_extreme,
    "ReduceProd": _reduce_prod,
    "CumProd": _cumprod,
    "NonMaxSuppression": non_max_suppression,
    **CASTS_OF_KNOWN,
    **TEXT,
    **ELEMENT_MOVEMENTS,
    **ELEMENT_DECISIONS,
}


def _is_infinite(X: Array, node: Node) -> Array:
    positive, negative = (node.attributes.get(f"detect_{sign}", 1) for sign in ("positive", "negative"))
    return np.asarray(np.isinf(X) & (((X > 0) & bool(positive)) | ((X < 0) & bool(negative))))


EXACT_OPERATORS = MOVEMENT | DECISIONS | (SELECTION - {"MaxPool"})
"""Operators of the main domain that `evaluate_exactly` evaluates for every type."""
