"""Elements that the specification leaves open: the page of the operator states no result for their operands.

An open element has an infinite bound, or a bound that contains every result with a meaning: an index of ArgMax is the
index of an element also if an element is NaN. The tables in `tolerances` list the operators.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.base.verdicts import Unsupported
from conformance.exact.models.arrays import format_of, is_computed
from conformance.exact.models.graphs import softmax_default_axis
from conformance.exact.reference.enclosures.exact import evaluate
from conformance.exact.reference.formulas.linear import reduced_axes
from conformance.exact.reference.numbers.enclosure import Enclosure, as_enclosure, between
from conformance.exact.reference.tolerances import UNSPECIFIED_NAN, UNSPECIFIED_OVERFLOW

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from conformance.exact.models.arrays import Array
    from conformance.exact.reference.nodes import Node, NodeEnclosure
    from conformance.exact.reference.numbers.enclosure import Tensor


def leave_open(node: Node, inputs: Sequence[Tensor], results: list[Tensor]) -> list[Tensor]:
    """Return the outputs of a node with the elements marked that its page leaves open.

    Args:
        node: the node.
        inputs: its inputs.
        results: its outputs.
    """
    first = inputs[0] if inputs else None
    if node.op_type == "OneHot" and node.opset < 11 and isinstance(first, np.ndarray):
        # the page excludes negative indices, and states a result of them
        is_negative = np.expand_dims(first < 0, node.attributes.get("axis", -1))
        return [as_enclosure(results[0]).leave_open(is_negative, "negative index")]
    if first is None or not np.size(_elements(first)):
        return _mark_empty(node, inputs, results)
    if is_computed(first.dtype):
        if node.op_type in UNSPECIFIED_NAN and any(_has_nan(tensor) for tensor in inputs):
            results = _mark_nan(node, inputs, results)
    elif first.dtype.kind in "iu" and isinstance(first, np.ndarray):
        if node.op_type in UNSPECIFIED_OVERFLOW:
            results = _mark_overflow(node, inputs, results)
        if node.op_type in _UNDEFINED:
            results = _mark_undefined(node, inputs, results)
        if node.op_type == "Shrink":
            results = [_mark_shrunk(node, first)]
    if node.op_type == "TopK" and not node.attributes.get("sorted", 1):
        results = [_in_any_order(tensor, node.attributes.get("axis", -1)) for tensor in results]
    read = _EARLIER_READINGS.get(node.op_type)
    if read is not None and isinstance(first, np.ndarray):
        results = read(node, first, results)
    return results


def _any_of_equals(node: Node, X: Array, results: list[Tensor]) -> list[Tensor]:
    """Return indices from the first to the last of equal elements. Below opset 12 the page does not choose one."""
    if node.opset >= 12 or not (is_computed(X.dtype) or X.dtype.kind in "iu"):
        return results
    axis = node.attributes.get("axis", 0)
    last = X.shape[axis] - 1 - (np.argmax if node.op_type == "ArgMax" else np.argmin)(np.flip(X, axis), axis)
    last = np.expand_dims(last, axis) if node.attributes.get("keepdims", 1) else last
    return _with_other(results[0], last, "index of equal elements")


def _in_other_order(node: Node, X: Array, results: list[Tensor]) -> list[Tensor]:
    """Return blocks in depth-column-row and in column-row-depth order. Below opset 11 the page states no order."""
    if node.opset >= 11 or not (is_computed(X.dtype) or X.dtype.kind in "iu"):
        return results
    n, depth, height, width = X.shape
    size = node.attributes["blocksize"]
    if node.op_type == "DepthToSpace":
        blocks = X.reshape(n, depth // size**2, size, size, height, width).transpose(0, 1, 4, 2, 5, 3)
        other = blocks.reshape(n, depth // size**2, height * size, width * size)
    else:
        blocks = X.reshape(n, depth, height // size, size, width // size, size).transpose(0, 1, 3, 5, 2, 4)
        other = blocks.reshape(n, depth * size**2, height // size, width // size)
    return _with_other(results[0], other, "order of blocks")


def _with_other(result: Tensor, other: Array, name: str) -> list[Tensor]:
    """Return a result with a second reading; an array if both are equal."""
    if isinstance(result, np.ndarray) and np.array_equal(result, other, equal_nan=result.dtype.kind == "f"):
        return [result]
    return [as_enclosure(result).with_readings(name, [Enclosure.exact(other)])]


_EARLIER_READINGS: Mapping[str, Callable[[Node, Array, list[Tensor]], list[Tensor]]] = {
    "ArgMax": _any_of_equals,
    "ArgMin": _any_of_equals,
    "DepthToSpace": _in_other_order,
    "SpaceToDepth": _in_other_order,
}
"""The results of pages that state less than those of later versions."""


def leave_large_states_open(node: Node, inputs: Sequence[Tensor], results: list[Tensor]) -> list[Tensor]:
    """Return the outputs of LinearAttention, undetermined if the factors of a term overflow in another order.

    Args:
        node: the node.
        inputs: its inputs: query, key, value, past_state, decay and beta.
        results: its outputs, as its function body computes them.
    """
    given = [None if tensor is None else _elements(tensor).astype(np.float64) for tensor in [*inputs, None, None, None]]
    query, key, value, state, _, beta = (_largest_magnitude(array) for array in given[:6])
    gain = 1.0 if given[4] is None else np.exp(given[4].max(initial=0.0))
    shape = _elements(inputs[1]).shape
    rule = node.attributes.get("update_rule", "gated_delta")
    width = shape[2] // node.attributes["kv_num_heads"]
    for _ in range(shape[1]):
        state *= gain
        state += max(beta, 1.0) * key * (value + ("delta" in rule) * state * key * width)
    reached = state * width * max(query, 1.0) * max(node.attributes.get("scale", 0.0), 1.0)
    if inputs[0] is None or reached <= format_of(inputs[0].dtype).largest:
        return results
    return [None if tensor is None else as_enclosure(tensor).undetermined(np.array(True)) for tensor in results]


def leave_masked_values_open(node: Node, inputs: Sequence[Tensor], results: list[Tensor]) -> list[Tensor]:
    """Return the outputs of Attention, undetermined where a value or a score that may be masked is not finite.

    The weight of a masked key is 0: the function body multiplies it by the value, and a kernel may leave it out. The
    page states zeros for a query whose keys are all masked. The body adds a mask to the score, which stays NaN. A score
    of finite numbers can overflow in a product that is scaled afterwards.

    Args:
        node: the node.
        inputs: its inputs: Q, K, V, attn_mask, past_key, past_value and nonpad_kv_seqlen.
        results: its outputs, as its function body computes them.
    """
    given = [*inputs, *[None] * 7]
    windows = (node.attributes.get(f"{side}_window_size", -1) for side in ("left", "right"))
    is_masked = given[3] is not None or given[6] is not None or node.attributes.get("is_causal", 0) or max(windows) >= 0
    if not is_masked or results[0] is None:
        return results
    heads = 1 if len(results[0].shape) == 4 else node.attributes["q_num_heads"]
    size = results[0].shape[-1] // heads
    is_open = np.zeros(size, bool)
    for values in (given[2], given[5]):
        if values is not None:
            is_open |= ~np.isfinite(_elements(values).astype(np.float64)).reshape(-1, size).all(axis=0)
    unknown = np.broadcast_to(np.tile(is_open, heads), results[0].shape)
    batch = results[0].shape[0]
    largest = np.zeros((batch, *[1] * (len(results[0].shape) - 1)))
    for keys in (given[1], given[4]):
        if keys is not None:  # a key of a batch element is in the scores of all its queries
            each = np.abs(_elements(keys).astype(np.float64)).reshape(batch, -1).max(axis=1, initial=0.0)
            largest = np.maximum(largest, each.reshape(largest.shape))
    queries = np.abs(_elements(given[0]).astype(np.float64))
    factor = queries.shape[-1] * max(1.0, node.attributes.get("scale", 1.0))
    limit = float(format_of(results[0].dtype).largest) / max(1.0, factor)
    unknown = unknown | ~(queries.max(axis=-1, keepdims=True, initial=0.0) * largest <= limit)
    return [as_enclosure(results[0]).undetermined(unknown), *results[1:]] if unknown.any() else results


def _largest_magnitude(array: Array | None) -> float:
    """Return the largest magnitude of the finite elements; 0 for an operand that is left out."""
    return 0.0 if array is None else float(np.abs(array[np.isfinite(array)]).max(initial=0.0))


def _elements(tensor: Tensor) -> Array:
    return tensor.value if isinstance(tensor, Enclosure) else np.asarray(tensor)


def _is_nan(tensor: Tensor) -> Array:
    elements = _elements(tensor)
    return np.isnan(elements.astype(np.float64)) if elements.dtype.kind != "O" else np.zeros(elements.shape, dtype=bool)


def _has_nan(tensor: Tensor) -> bool:
    return tensor is not None and is_computed(tensor.dtype) and bool(_is_nan(tensor).any())


def _mark_nan(node: Node, inputs: Sequence[Tensor], results: list[Tensor]) -> list[Tensor]:
    X = _is_nan(inputs[0])
    rank = X.ndim
    axis = node.attributes.get("axis", -1)

    def along(axes: int | tuple[int, ...], *, keepdims: bool = True) -> Array:
        return np.asarray(X.any(axis=axes, keepdims=keepdims))

    if node.op_type in ("ArgMax", "ArgMin"):
        axis = node.attributes.get("axis", 0)
        mask = along(axis, keepdims=bool(node.attributes.get("keepdims", 1)))
        return [_within(results[0], mask, X.shape[axis])]
    if node.op_type == "TopK":
        mask = along(axis)
        values = _order_with_nan(as_enclosure(inputs[0]), as_enclosure(results[0]), axis, node)
        return [values, _within(results[1], mask, X.shape[axis])]
    if node.op_type == "Hardmax":
        axis = node.attributes.get("axis", softmax_default_axis(node.opset)) % rank
        axes = (axis,) if node.opset >= 13 else tuple(range(axis, rank))
        return [_within(results[0], along(axes), 2)]
    if node.op_type in ("ReduceMax", "ReduceMin"):
        axes = tuple(reduced_axes(node, inputs, rank) or ())
        mask = along(axes, keepdims=bool(node.attributes.get("keepdims", 1)))
        return [as_enclosure(results[0]).leave_open(mask, "NaN")]
    if node.op_type in ("MaxPool", "GlobalMaxPool"):
        return results  # their windows are known where they are computed
    operands = [_is_nan(tensor) for tensor in inputs if tensor is not None and is_computed(tensor.dtype)]
    return [as_enclosure(results[0]).leave_open(reduce(np.logical_or, operands), "NaN")]


def _order_with_nan(X: Enclosure, result: Enclosure, axis: int, node: Node) -> Enclosure:
    """Return the elements that TopK selects. An element is open if it depends on the place of NaN.

    NaN comes after all numbers, or before them. The numbers keep their order.
    """
    elements = np.moveaxis(X.value, axis, -1)
    count = result.shape[axis]
    is_nan = np.asarray(np.isnan(elements))
    if X.error.any():
        return result.leave_open(np.moveaxis(np.asarray(is_nan.any(-1, keepdims=True)), -1, axis), "order of NaN")
    sign = 1 if node.attributes.get("largest", 1) else -1
    ordered = -sign * np.sort(-sign * elements, -1, kind="stable")  # NaN is last
    places = np.arange(count) - is_nan.sum(-1, keepdims=True)
    last = ordered[..., :count]
    first = np.where(places < 0, np.nan, np.take_along_axis(ordered, np.maximum(places, 0), -1))
    low = np.fmin(last, first)
    high = np.fmax(last, first)
    with np.errstate(all="ignore"):
        width = np.where((low == high) | np.isnan(low), 0.0, high - low)  # half of it could underflow
        width = np.where(np.isnan(first) != np.isnan(last), np.inf, width)  # no distance contains a number and NaN
    is_open = (last != first) & ~(np.isnan(last) & np.isnan(first))
    value, error, mask = (np.moveaxis(np.asarray(part), -1, axis) for part in (low, width, is_open))
    return Enclosure(value, error, result.dtype, unspecified=mask, silences=("order of NaN",) * bool(mask.any()))


def _within(tensor: Tensor, mask: Array, count: int) -> Enclosure:
    """Return integers below a count, of which some are open."""
    exact = as_enclosure(tensor)
    middle = (count - 1) / 2
    mask = np.broadcast_to(mask, exact.shape)
    arrays = np.where(mask, middle, exact.value), np.where(mask, middle, exact.error)
    return Enclosure(*arrays, exact.dtype, unspecified=mask, silences=("order of NaN",) * bool(mask.any()))


def _in_any_order(tensor: Tensor, axis: int) -> Tensor:
    """Return the selected elements, in an order that is open; each is between the smallest and the largest."""
    selected = as_enclosure(tensor)
    if not selected.value.size:
        return tensor
    low, high = (
        np.broadcast_to(extreme(ends, axis=axis, keepdims=True), selected.shape)
        for extreme, ends in ((np.min, selected.value - selected.error), (np.max, selected.value + selected.error))
    )
    if (low == high).all():
        return tensor
    return between(low, high, selected.dtype)


def _mark_empty(node: Node, inputs: Sequence[Tensor], results: list[Tensor]) -> list[Tensor]:
    """Mark the mean of nothing, and below opset 13 its largest and its smallest element."""
    first = inputs[0] if inputs else None
    name = "mean of nothing" if node.op_type == "ReduceMean" else _extreme_of_nothing(node)
    if not name or first is None or not isinstance(results[0], (Enclosure, np.ndarray)):
        return results
    axes = reduced_axes(node, inputs, len(first.shape))
    if axes is None or all(first.shape[axis] for axis in axes):
        return results
    return [as_enclosure(results[0]).leave_open(np.ones(results[0].shape, dtype=bool), name)]


def _extreme_of_nothing(node: Node) -> str:
    """Return the row of `SILENCES` for an extreme element of nothing; the page of ReduceMin-11 states it."""
    is_stated = node.opset >= 13 or (node.op_type == "ReduceMin" and node.opset == 11)
    return "extreme of nothing" if node.op_type in ("ReduceMax", "ReduceMin") and not is_stated else ""


def _mark_overflow(node: Node, inputs: Sequence[Tensor], results: list[Tensor]) -> list[Tensor]:
    """Mark integers whose exact value the type does not have, and means that are not integers."""
    result = results[0]
    if not isinstance(result, np.ndarray):
        return results
    given: list[Any] = list(inputs)
    arrays = [each.astype(np.float64) if _is_operand(each) else each for each in given]
    if len(inputs) > 1 and node.op_type.startswith(("Reduce", "Cum")):
        arrays[1:] = given[1:]
    dtype = given[0].dtype
    limits = np.iinfo(dtype)
    is_mean = node.op_type in ("Mean", "ReduceMean")
    try:
        (wide,) = (result,) if is_mean else evaluate(node, arrays)
    except Unsupported:
        return results
    exact = np.asarray(wide, dtype=np.float64)
    total = exact * len(inputs) if node.op_type == "Mean" else exact
    if node.op_type == "ReduceMean":
        total = exact * (np.size(_elements(inputs[0])) // max(1, exact.size))
    if node.op_type == "ReduceL2":  # the function of the schema adds squares in the type of the operand
        total = exact * exact
    slack = 1 - 2.0**-50 if limits.bits == 64 else 1.0
    with np.errstate(all="ignore"):
        overflows = ~((total >= limits.min * slack) & (total <= limits.max * slack))
    # a mean above 2^53 has no fraction in double
    between = (exact % 1 != 0) | (np.abs(exact) > 2.0**53) if result.dtype != dtype else np.zeros(exact.shape, bool)
    if not overflows.any() and result.dtype == dtype:
        return results
    value = exact if is_mean else result
    error = np.where(overflows, np.inf, np.where(between, 1.0, 0.0) + np.abs(value) * is_mean * 2.0**-52)
    names = ("overflow of integers",) * bool(overflows.any()) + ("fraction of a mean",) * bool(between.any())
    return [Enclosure(value, error, dtype, unspecified=overflows | between, silences=names)]


def _mark_shrunk(node: Node, X: Array) -> Tensor:
    """Return the result of Shrink of integers, computed in float or in double, or without a sum if there is no bias.

    A fraction may be rounded in either direction. A comparison and a sum in float round the integer first, and may
    leave the type.
    """
    limit, bias = (float(node.attributes.get(name, default)) for name, default in (("lambd", 0.5), ("bias", 0.0)))
    limits = np.iinfo(X.dtype)

    def shrunk(dtype: type[np.floating[Any]]) -> Array:
        wide = X.astype(dtype)
        typed = dtype(bias)
        return np.where(wide < -dtype(limit), wide + typed, np.where(wide > dtype(limit), wide - typed, dtype(0)))

    in_float, in_double = (shrunk(dtype).astype(np.float64) for dtype in (np.float32, np.float64))
    unmoved = np.where(in_double != 0, X, 0).astype(X.dtype)
    if not bias and np.array_equal(in_float, in_double) and np.abs(in_double).max(initial=0.0) < 2.0**24:
        return unmoved
    low = np.floor(np.minimum(in_float, in_double))
    high = np.ceil(np.maximum(in_float, in_double))
    is_large = np.maximum(np.abs(low), np.abs(high)) >= 2.0**53
    low = np.where(is_large, low - np.abs(low) * 2.0**-52, low)
    high = np.where(is_large, high + np.abs(high) * 2.0**-52, high)
    overflows = (low < limits.min) | (high > limits.max)
    value = np.where(low == high, low, (low + high) / 2)
    error = np.where(overflows, np.inf, np.where(low == high, 0.0, np.maximum(high - value, value - low)))
    name = ("arithmetic of integers",) if error.any() else ()
    return Enclosure(value, error, X.dtype, unspecified=error != 0 if name else None, silences=name)


_UNDEFINED: Mapping[str, Callable[[Array], Array]] = {
    **dict.fromkeys(("Div", "Mod"), lambda divisor: divisor == 0),
    "Pow": lambda exponent: exponent < 0,
}
"""The second operands for which an operator of integers has no result on its page."""


def _mark_undefined(node: Node, inputs: Sequence[Tensor], results: list[Tensor]) -> list[Tensor]:
    result = as_enclosure(results[0])
    mask = np.broadcast_to(_UNDEFINED[node.op_type](_elements(inputs[1])), result.shape)
    if not mask.any():
        return results
    return [result.leave_open(mask if result.unspecified is None else mask | result.unspecified, "undefined operand")]


def _bit_shift(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Return shifted integers. Below opset 28 the page states no result for a shift by all bits or more."""
    X, Y = inputs
    assert isinstance(X, np.ndarray)
    assert isinstance(Y, np.ndarray)
    X, Y = np.broadcast_arrays(X, Y)
    bits = 8 * X.dtype.itemsize
    is_inside = (Y >= 0) & (bits > Y)
    is_left = node.attributes["direction"] == "LEFT"
    shift = np.left_shift if is_left else np.right_shift
    beyond = np.zeros_like(X) if is_left else np.where(X < 0, ~np.zeros_like(X), np.zeros_like(X))
    Z = np.where(is_inside, shift(X, np.where(is_inside, Y, 0).astype(X.dtype)), beyond)
    if node.opset >= 28 or is_inside.all():
        return [Z]
    return [Enclosure.exact(Z).leave_open(~is_inside, "shift by all bits")]


INTEGER_ENCLOSURES: Mapping[str, NodeEnclosure] = {"BitShift": _bit_shift}
"""The operators of integers that leave elements open themselves."""


def _is_operand(tensor: Tensor) -> bool:
    return isinstance(tensor, np.ndarray) and tensor.dtype.kind in "iu"
