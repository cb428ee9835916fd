"""Kernel wrappers for ArgMax and for the operators before it: axes, the search, ties, and the axes of Softmax.

A kernel wrapper is a function from a kernel (the implementation of an operator) to a faulty kernel.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np
from ml_dtypes import finfo

from conformance.exact.models.graphs import softmax_default_axis
from conformance.run.mutants.wrappers import around, named, replace_inputs, replace_outputs, set_attributes

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.exact.models.arrays import Array
    from conformance.exact.reference.nodes import Node
    from conformance.run.mutants.mutant import Kernel, KernelWrapper
    from conformance.run.mutants.wrappers import Arrays


# Axes and slices


def reduced_axis_last(node: Node, X: Array) -> tuple[Array, int]:
    """Return X with the axis that ArgMax reduces moved to the end, and the index of this axis in X."""
    axis = node.attributes.get("axis", 0) % X.ndim
    return np.moveaxis(X, axis, -1), axis


def restore_reduced_axis(node: Node, values: Array, axis: int) -> Array:
    """Return one value per slice in the output shape of ArgMax; the reduced axis has size 1 if `keepdims` is set."""
    return np.expand_dims(values, axis) if node.attributes.get("keepdims", 1) else values


@named("moved_axis", around)
def move_axis(kernel: Kernel, node: Node, inputs: Arrays, function: Callable[[int, int], int]) -> Arrays:
    """Replace the attribute `axis`.

    Args:
        function: function of the axis and the rank that returns the new axis; it is reduced modulo the rank.
    """
    axis = node.attributes.get("axis", 0)
    rank = inputs[0].ndim
    return set_attributes(axis=function(axis, rank) % rank)(kernel)(node, inputs)


@named("attributes_where", around)
def set_attributes_where(
    kernel: Kernel,
    node: Node,
    inputs: Arrays,
    function: Callable[[int, tuple[int, ...]], bool],
    *,
    is_signed: bool = False,
    **values: Any,
) -> Arrays:
    """Set attributes of the nodes for whose axis and input shape `function` returns True.

    Args:
        function: function of the axis and the shape.
        is_signed: whether `function` takes the axis as the model states it, and not counted from 0.
    """
    axis = node.attributes.get("axis", 0)
    shape = inputs[0].shape
    taken = axis if is_signed else axis % max(len(shape), 1)
    return (set_attributes(**values)(kernel) if function(taken, shape) else kernel)(node, inputs)


@named("whole_tensor_by_default", replace_outputs)
def _search_whole_tensor(node: Node, inputs: Arrays, outputs: Arrays) -> Arrays:
    return outputs if "axis" in node.attributes else [np.asarray(inputs[0].argmax(), dtype=np.int64)]


@named("kept_axis_last", replace_outputs)
def _move_kept_axis_to_end(node: Node, _: Arrays, outputs: Arrays) -> Arrays:
    axis = node.attributes.get("axis", 0)
    return [np.moveaxis(outputs[0], axis, -1)] if node.attributes.get("keepdims", 1) else outputs


# The search along the axis


@named("searched_part", around)
def search_only_part(kernel: Kernel, node: Node, inputs: Arrays, function: Callable[[Array], Array]) -> Arrays:
    """Search only a part of each slice: the other elements are replaced by the smallest value of the type.

    Args:
        function: function of the positions along the axis that returns which of them are searched.
    """
    slices, axis = reduced_axis_last(node, inputs[0])
    seen = function(np.arange(slices.shape[-1]))
    if seen.all() or not seen.any():
        return kernel(node, inputs)
    least = -np.inf if slices.dtype.kind == "f" else np.iinfo(slices.dtype).min
    hidden = np.where(seen, slices, np.asarray(least, slices.dtype))
    return kernel(node, [np.moveaxis(hidden, -1, axis), *inputs[1:]])


@named("searched_elements")
def search_first_elements(count: int | Callable[[int], int]) -> KernelWrapper:
    """Search only the first elements of each slice.

    Args:
        count: the number of elements, or a function of the size of a slice that returns this number.
    """
    return search_only_part(lambda place: place < (count(place.size) if callable(count) else count))


@named("searched_rows", replace_outputs)
def search_first_rows(node: Node, inputs: Arrays, outputs: Arrays, count: int) -> Arrays:
    """Search only the first `count` slices, and return index 0 for all later slices."""
    slices, axis = reduced_axis_last(node, inputs[0])
    index = outputs[0].reshape(slices.shape[:-1])
    row = np.arange(index.size).reshape(index.shape)
    return [restore_reduced_axis(node, np.where(row < count, index, 0), axis)]


@named("search_start", replace_outputs)
def start_search_at(
    node: Node, inputs: Arrays, outputs: Arrays, function: Callable[[Array], Any], index: int = 0
) -> Arrays:
    """Start the search for the maximum with a value instead of the first element.

    Args:
        function: function of the data that returns the value.
        index: the result if all elements are at most the value.
    """
    slices, axis = reduced_axis_last(node, inputs[0])
    found = (slices > function(slices)).any(axis=-1)
    return [np.where(restore_reduced_axis(node, found, axis), outputs[0], np.int64(index))]


@named("index_for_nan", replace_outputs)
def return_index_for_nan(node: Node, inputs: Arrays, outputs: Arrays, function: Callable[[Array], int]) -> Arrays:
    """Return another index for slices that contain NaN.

    Args:
        function: function of these slices that returns the index.
    """
    slices, axis = reduced_axis_last(node, inputs[0])
    found = (slices != slices).any(axis=-1)  # noqa: PLR0124 - NaN, in bfloat16 too
    return [np.where(restore_reduced_axis(node, found, axis), np.int64(function(slices)), outputs[0])]


@named("preferred_tie", replace_outputs)
def prefer_tie(node: Node, inputs: Arrays, outputs: Arrays, function: Callable[[Array], Array]) -> Arrays:
    """Return, of equal maxima, the position with the lowest rank; nodes with `select_last_index` are not changed.

    Args:
        function: function of the positions along the axis that returns their ranks.
    """
    slices, axis = reduced_axis_last(node, inputs[0])
    if node.attributes.get("select_last_index", 0) or not slices.size:
        return outputs
    order = function(np.arange(slices.shape[-1]))
    largest = slices == slices.max(axis=-1, keepdims=True)
    index = np.where(largest, order, order.max() + 1).argmin(axis=-1)
    return [restore_reduced_axis(node, index.astype(np.int64), axis)]


@named("inputs_of_last_index", replace_inputs)
def change_inputs_of_last_index(node: Node, inputs: Arrays, function: Callable[[Array], Array], kinds: str) -> Arrays:
    """Replace the input of nodes with `select_last_index` by the result of `function`.

    Args:
        function: function of the input.
        kinds: the NumPy kinds of the inputs to replace.
    """
    is_changed = node.attributes.get("select_last_index", 0) and inputs[0].dtype.kind in kinds
    return [function(inputs[0])] if is_changed else inputs


@named("mirrored_last_index", replace_outputs)
def _mirror_last_index(node: Node, inputs: Arrays, outputs: Arrays) -> Arrays:
    """Return indices from the end of the axis for `select_last_index` along an inner axis."""
    shape = inputs[0].shape
    axis = node.attributes.get("axis", 0) % inputs[0].ndim
    is_mirrored = node.attributes.get("select_last_index", 0) and 0 < axis < len(shape) - 1
    return [shape[axis] - 1 - outputs[0]] if is_mirrored else outputs


@named("last_of_subnormals", replace_outputs)
def _select_last_subnormal(node: Node, inputs: Arrays, outputs: Arrays) -> Arrays:
    """Return the last index of slices in which all elements are positive subnormals of a 16-bit type."""
    slices, axis = reduced_axis_last(node, inputs[0])
    if slices.dtype.itemsize != 2 or slices.dtype.kind in "iu" or not slices.size:
        return outputs
    normal = finfo(slices.dtype).smallest_normal  # type: ignore[no-untyped-call]
    found = np.asarray(((slices > 0) & (slices < normal)).all(axis=-1))
    return [np.where(restore_reduced_axis(node, found, axis), np.int64(slices.shape[-1] - 1), outputs[0])]


@named("carried_largest", replace_outputs)
def _carry_largest(node: Node, inputs: Arrays, outputs: Arrays) -> Arrays:
    """Return the indices of a faulty search that does not reset the largest value between slices."""
    slices, _ = reduced_axis_last(node, inputs[0])
    if not slices.size:
        return outputs
    largest = slices.max(axis=-1).ravel()
    index = outputs[0].ravel().copy()
    for place in range(1, index.size):
        if largest[place] <= largest[place - 1]:
            largest[place] = largest[place - 1]
            index[place] = index[place - 1]
    return [index.reshape(outputs[0].shape)]


@named("flat_indices", replace_outputs)
def _return_flat_indices(node: Node, inputs: Arrays, outputs: Arrays) -> Arrays:
    """Return the positions of the maxima in the whole tensor, in row-major order, instead of along the axis."""
    slices, axis = reduced_axis_last(node, inputs[0])
    index = outputs[0].reshape(slices.shape[:-1])
    places = np.moveaxis(np.arange(slices.size).reshape(inputs[0].shape), axis, -1)
    return [np.take_along_axis(places, index[..., np.newaxis], -1).reshape(outputs[0].shape)]


@named("largest_values", replace_outputs)
def _return_largest_values(node: Node, inputs: Arrays, outputs: Arrays) -> Arrays:
    slices, axis = reduced_axis_last(node, inputs[0])
    return [restore_reduced_axis(node, slices.max(axis=-1), axis).astype(outputs[0].dtype)]


# Operators before ArgMax


@named("overwrite_input", replace_outputs)
def _overwrite_input(_: Node, inputs: Arrays, outputs: Arrays) -> Arrays:
    inputs[0][...] = outputs[0]
    return outputs


@named("normalized_axis", around)
def normalize_along(kernel: Kernel, node: Node, inputs: Arrays, function: Callable[[Node, int], int | None]) -> Arrays:
    """Make Softmax normalize along another axis.

    Args:
        function: function of the node and the rank that returns the axis; None for the correct axis.
    """
    axis = function(node, inputs[0].ndim)
    return (kernel if axis is None else set_attributes(axis=axis)(kernel))(node, inputs)


@named("opset", around)
def evaluate_as_opset(kernel: Kernel, node: Node, inputs: Arrays, opset: int) -> Arrays:
    """Evaluate Softmax as defined in another opset; the default axis is that of the opset of the model."""
    axis = node.attributes.get("axis", softmax_default_axis(node.opset))
    return kernel(dataclasses.replace(node, opset=opset, attributes={"axis": axis}), inputs)


@named("unshifted_softmax", replace_outputs)
def normalize_without_shift(node: Node, inputs: Arrays, _: Arrays, function: Callable[[Any], Any]) -> Arrays:
    """Compute Softmax as Exp divided by the sum of Exp, without subtracting the maximum first.

    Args:
        function: function that is applied to the quotients.
    """
    X = inputs[0]
    axis = node.attributes.get("axis", softmax_default_axis(node.opset)) % X.ndim
    axes = (axis,) if node.opset >= 13 else tuple(range(axis, X.ndim))
    Y = np.exp(X)
    return [function(Y / Y.sum(axis=axes, keepdims=True)).astype(X.dtype)]
