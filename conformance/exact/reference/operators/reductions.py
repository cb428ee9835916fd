"""Operators whose results depend on all elements along an axis, in any number system.

The module has three parts: operators that return the position of an element in an order (ArgMax, ArgMin, TopK,
Hardmax); Softmax and LogSoftmax; sums, matrix products, extremes and normalizations. The references of ArgMax and of
the two softmax operators are plain array functions.
"""

from __future__ import annotations

from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from conformance.base.verdicts import Unsupported
from conformance.exact.models.arrays import is_computed
from conformance.exact.models.graphs import ARGMAX_DEFAULTS, softmax_default_axis
from conformance.exact.reference.formulas import FORMULAS
from conformance.exact.reference.formulas.linear import reduced_axes
from conformance.exact.reference.numbers.number_system import Value
from conformance.exact.reference.numbers.ranking import subtract_maximum
from conformance.exact.reference.operators.data_movement import integer_list, move_elements

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from conformance.exact.models.arrays import Array
    from conformance.exact.reference.nodes import Evaluation, Node, NodeFormula
    from conformance.exact.reference.numbers.formula_tensor import NumberTensor
    from conformance.exact.reference.numbers.number_system import NumberSystem


# Positions in an order


def argmax(largest: Array, *, axis: int, keepdims: int, select_last_index: int) -> Array:
    """Return the first or the last index at which `largest` is true.

    Args:
        largest: for every element, whether it is a maximum along the axis (bool, the data's shape).
        axis: the axis to reduce. A negative axis counts from the last one.
        keepdims: whether the axis is kept with size 1.
        select_last_index: whether the last of several maxima is returned, and not the first.

    Returns:
        Indices (int64), of the data's shape with the axis reduced.
    """
    if select_last_index:
        index = largest.shape[axis] - 1 - np.argmax(np.flip(largest, axis), axis=axis)
    else:
        index = np.argmax(largest, axis=axis)
    index = np.asarray(index, dtype=np.int64)
    return np.expand_dims(index, axis) if keepdims else index


def _argmax(node: Node, inputs: list[Value], system: NumberSystem) -> list[Value]:
    attributes = {**ARGMAX_DEFAULTS, **node.attributes}
    X = inputs[0]
    axis = attributes["axis"]
    if not X.elements.ndim or not X.elements.shape[axis]:
        raise Unsupported(f"{node.op_type} over an axis without elements has no result")
    largest = system.maximum_mask(X, axis)
    index = argmax(system.selected_maximum_mask(X, axis, largest), **attributes)
    choices = _acceptable_indices(
        largest & system.inexact_mask(X), largest, index, axis, keepdims=bool(attributes["keepdims"])
    )
    return [Value(index, index.dtype, choices)]


def _acceptable_indices(uncertain: Array, largest: Array, index: Array, axis: int, *, keepdims: bool) -> Array | None:
    """Return the acceptable indices of an ArgMax if the index depends on rounding, else None.

    Elements that are exactly equal do not count: `select_last_index` decides between them.
    """
    if not uncertain.any():
        return None
    choices = np.moveaxis(largest, axis, -1)
    doubtful = np.moveaxis(uncertain, axis, -1).any(axis=-1, keepdims=True)
    if keepdims:
        axis %= largest.ndim
        choices, doubtful = np.expand_dims(choices, axis), np.expand_dims(doubtful, axis)
    return np.where(doubtful, choices, index[..., np.newaxis] == np.arange(largest.shape[axis]))


def _argmin(node: Node, inputs: list[Value], system: NumberSystem) -> list[Value]:
    """Evaluate ArgMin: ArgMax of the elements in the opposite order."""
    return _argmax(node, [_reverse_order(inputs[0], system)], system)


def _reverse_order(X: Value, system: NumberSystem) -> Value:
    """Return X with elements in the opposite order: numbers are negated, integers inverted bit by bit.

    The smallest integer of a type has no negative.
    """
    return system.apply_monotone(lambda elements: ~elements if elements.dtype.kind in "iu" else -elements, X)


def _top_k(node: Node, inputs: list[Value], system: NumberSystem) -> list[Value]:
    axis = node.attributes.get("axis", -1)
    count = integer_list(inputs[1])[0] if len(inputs) > 1 else node.attributes["k"]
    if not 0 <= count <= inputs[0].elements.shape[axis]:
        raise Unsupported(f"{node.op_type} selects {count} elements from {inputs[0].elements.shape[axis]}")
    return list(system.top_k(inputs[0], axis, count, largest=bool(node.attributes.get("largest", 1))))


def _hardmax(node: Node, inputs: list[Value], system: NumberSystem) -> list[Value]:
    """Evaluate Hardmax: 1 at the first maximum and 0 elsewhere.

    Since opset 13 the maximum is along one axis; below opset 13 it is in each row of `coerce_to_matrix`.
    """
    X = inputs[0]
    axis = node.attributes.get("axis", softmax_default_axis(node.opset))
    shape = X.elements.shape
    if node.opset < 13:
        X, axis = move_elements(X, lambda elements: coerce_to_matrix(elements, axis)), 1
    largest = system.maximum_mask(X, axis)
    if (largest & system.inexact_mask(X)).any():
        raise Unsupported("rounding decides which element is the largest")
    index = argmax(largest, axis=axis, keepdims=1, select_last_index=0)
    hard = np.zeros(X.elements.shape, dtype=X.dtype)
    np.put_along_axis(hard, index, X.dtype.type(1), axis)
    return [system.from_array(hard.reshape(shape))]


INDICES: Mapping[str, Evaluation] = {"ArgMax": _argmax, "ArgMin": _argmin, "TopK": _top_k, "Hardmax": _hardmax}


# Softmax and LogSoftmax

SharedTreatment: TypeAlias = "Callable[[Array], Array]"
"""A function of the numbers that all elements along an axis have in common. See `NumberSystem.sort_keys`."""


def softmax(X: Array, *, axis: int, shared: SharedTreatment = np.asarray) -> Array:
    """Return Exp(X) / ReduceSum(Exp(X), axis), with the maximum subtracted first, so that no Exp overflows.

    Args:
        X: the operand.
        axis: the axis along which the results sum to 1.
        shared: a function that is applied to the numbers that all elements along the axis have in common.
    """
    Y = np.exp(subtract_maximum(X, axis, shared))
    return np.asarray(Y / shared(_largest_error_sum(Y, axis)))


def log_softmax(X: Array, *, axis: int, shared: SharedTreatment = np.asarray) -> Array:
    """Return Log(Softmax(X, axis)), as the shifted operand minus the logarithm of the sum."""
    shifted = subtract_maximum(X, axis, shared)
    return np.asarray(shifted - shared(np.log(_largest_error_sum(np.exp(shifted), axis))))


def exp_of_log_softmax(X: Array, *, axis: int, shared: SharedTreatment = np.asarray) -> Array:
    """Return Softmax, computed as Exp(X - Log(ReduceSum(Exp(X), axis)))."""
    return np.asarray(np.exp(log_softmax(X, axis=axis, shared=shared)))


def log_of_softmax(X: Array, *, axis: int, shared: SharedTreatment = np.asarray) -> Array:
    """Return LogSoftmax, computed as Log(Softmax(X, axis))."""
    return np.asarray(np.log(softmax(X, axis=axis, shared=shared)))


def coerce_to_matrix(X: Array, axis: int) -> Array:
    """Return X as the matrix that Softmax normalises below opset 13: the axes before `axis` by all other axes."""
    axis %= max(X.ndim, 1)
    return X.reshape(prod(X.shape[:axis]), prod(X.shape[axis:]))


def _largest_error_sum(Y: Array, axis: int) -> Array:
    """Return the sum along an axis, added from the largest term down: the order with the largest rounding error."""
    return np.asarray(np.flip(np.sort(Y, axis=axis), axis).sum(axis=axis, keepdims=True))


def _softmax(
    forms: Sequence[Callable[..., Array]], node: Node, inputs: list[Value], system: NumberSystem
) -> list[Value]:
    """Evaluate Softmax or LogSoftmax.

    Since opset 13 the results are normalised along one axis; below opset 13, in each row of `coerce_to_matrix`. The
    roundings are those of an exponential, of each addition to the sum, and of the quotient or the logarithm.

    Below opset 11 no range of `axis` was stated. For a tensor of rank 1, the default axis 1 has two interpretations:
    the tensor is a column, so that each element is normalised alone, or a row. The result may be either.
    """
    X = inputs[0]
    axis = node.attributes.get("axis", softmax_default_axis(node.opset))
    if not X.elements.size:
        return [X]
    rank = max(X.elements.ndim, 1)
    if node.opset >= 13:
        formulas = [partial(form, axis=axis) for form in forms]
        axes = {axis % rank}
    else:
        formulas = [partial(_on_matrix, form, axis) for form in forms]
        axes = set(range(axis % rank, rank))
    result = system.apply_elementwise(formulas[0], X, roundings=8 + X.elements.size)
    if node.opset < 11 and axis == X.elements.ndim:
        ones = system.apply_elementwise(partial(_on_column, forms[0]), X)
        return [system.enclose_alternatives(ones, result)]
    keys = system.sort_keys(formulas, X, axes)
    return [Value(result.elements, result.dtype, exact_keys=X.keys_of_image(axes), rounded_keys=keys)]


def _on_column(formula: Callable[..., Any], X: Array) -> Array:
    return np.asarray(formula(X.reshape(-1, 1), axis=1)).reshape(X.shape)


def _on_matrix(formula: Callable[..., Any], axis: int, X: Array, **shared: SharedTreatment) -> Array:
    return np.asarray(formula(coerce_to_matrix(X, axis), axis=1, **shared)).reshape(X.shape)


SOFTMAX: Mapping[str, Evaluation] = {
    "Softmax": partial(_softmax, [softmax, exp_of_log_softmax]),
    "LogSoftmax": partial(_softmax, [log_softmax, log_of_softmax]),
}


# Sums, matrix products, extremes and normalizations


def _evaluate_formula(formula: NodeFormula, node: Node, inputs: list[Value], system: NumberSystem) -> list[Value]:
    """Evaluate an operator by its formula. Integers beside the operands, such as axes, have to be exact."""
    operands: list[Value | None] = []
    others: list[Array | None] = []
    for position, value in enumerate(inputs):
        is_operand = position == 0 or is_computed(value.dtype) or node.op_type in _OF_OPERANDS
        is_operand = is_operand and not value.is_absent
        operands.append(value if is_operand else None)
        others.append(None if is_operand or value.is_absent else system.exact_elements(value))

    def compute(tensors: Sequence[NumberTensor | None]) -> list[NumberTensor]:
        given = [other if tensor is None else tensor for tensor, other in zip(tensors, others, strict=True)]
        return formula(node, given)

    return system.apply_formula(compute, operands)


_OF_OPERANDS = frozenset({"MatMul", "Gemm", "Sum", "Mean"})
"""Operators whose inputs are all operands, also if they are integers."""


def _reduce_extreme(largest: bool, node: Node, inputs: list[Value], system: NumberSystem) -> list[Value]:
    given = [None if value.is_absent else value.elements for value in inputs]
    axes = reduced_axes(node, given, inputs[0].elements.ndim) or []
    return [_keep_dims(node, system.reduce_extreme(inputs[0], axes, largest=largest), axes)]


def _keep_dims(node: Node, value: Value, axes: list[int]) -> Value:
    """Return a reduced tensor with the reduced axes restored as axes of size 1, unless `keepdims` is 0."""
    return (
        move_elements(value, lambda X: np.expand_dims(X, tuple(axes))) if node.attributes.get("keepdims", 1) else value
    )


REDUCTIONS: Mapping[str, Evaluation] = {
    **{name: partial(_evaluate_formula, formula) for name, formula in FORMULAS.items()},
    "ReduceMax": partial(_reduce_extreme, True),
    "ReduceMin": partial(_reduce_extreme, False),
}
