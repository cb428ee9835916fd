"""Deviations of ArgMax: ties, axes, kept dimensions, types, and how a search for the largest goes wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.deviations import arithmetic
from conformance.deviations.deviation import Deviation, table
from conformance.deviations.searching import along, looking_at, reduced
from conformance.deviations.sizes import OF_AXES
from conformance.deviations.twists import answering, each_input, each_output, reading, refusing

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.deviations.deviation import Kernel, Twist
    from conformance.models.arrays import Array
    from conformance.reference.nodes import Node


def _setting(**attributes: int) -> Twist:
    return reading(lambda given: {**given, **attributes})


def _flipping(name: str, default: int) -> Twist:
    return reading(lambda given: {**given, name: 1 - given.get(name, default)})


def _moving_axis(change: Callable[[int, int], int], *, negative: bool = False) -> Twist:
    """The axis becomes another one: `change` gets it and the rank; where `negative`, only a negative axis does."""

    def twist(kernel: Kernel) -> Kernel:
        def run(node: Node, inputs: list[Array]) -> list[Array]:
            axis, rank = node.attributes.get("axis", 0), inputs[0].ndim
            moved = axis if negative and axis >= 0 else change(axis, rank) % rank
            return _setting(axis=moved)(kernel)(node, inputs)

        return run

    return twist


def _floats(change: Callable[[Array], Array]) -> Twist:
    return each_input(lambda X: change(X) if X.dtype.kind == "f" else X)


def _integers(change: Callable[[Array], Array]) -> Twist:
    return each_input(lambda X: change(X) if X.dtype.kind in "iu" else X)


def _with_sign(kind: str) -> Twist:
    """Integers' bits read as signed or unsigned ones."""
    return _integers(lambda X: X.view(f"{kind}{X.itemsize}"))


def _starting_at(start: Callable[[Array], Any], index: int = 0) -> Twist:
    """The search begins with a value that none may exceed; then the index that it began with is the answer."""

    def answer(node: Node, inputs: list[Array], outputs: list[Array]) -> list[Array]:
        slices, axis = along(node, inputs[0])
        found = (slices > start(slices)).any(axis=-1)
        return [np.where(reduced(node, found, axis), outputs[0], np.int64(index))]

    return answering(answer)


def _flat(node: Node, inputs: list[Array], outputs: list[Array]) -> list[Array]:
    """Places in the whole tensor, in row-major order."""
    slices, axis = along(node, inputs[0])
    index = outputs[0].reshape(slices.shape[:-1])
    places = np.moveaxis(np.arange(slices.size).reshape(inputs[0].shape), axis, -1)
    return [np.take_along_axis(places, index[..., np.newaxis], -1).reshape(outputs[0].shape)]


def _values(node: Node, inputs: list[Array], outputs: list[Array]) -> list[Array]:
    slices, axis = along(node, inputs[0])
    return [reduced(node, slices.max(axis=-1), axis).astype(outputs[0].dtype)]


def _not_reset(node: Node, inputs: list[Array], outputs: list[Array]) -> list[Array]:
    """The largest value so far is carried from slice to slice, with its index."""
    slices, _ = along(node, inputs[0])
    if not slices.size:
        return outputs
    largest = slices.max(axis=-1).ravel()
    index = outputs[0].ravel().copy()
    for place in range(1, index.size):
        if largest[place] <= largest[place - 1]:
            largest[place], index[place] = largest[place - 1], index[place - 1]
    return [index.reshape(outputs[0].shape)]


def _whole_tensor(node: Node, inputs: list[Array], outputs: list[Array]) -> list[Array]:
    return outputs if "axis" in node.attributes else [np.asarray(inputs[0].argmax(), dtype=np.int64)]


def _kept_at_end(node: Node, _: list[Array], outputs: list[Array]) -> list[Array]:
    axis = node.attributes.get("axis", 0)
    return [np.moveaxis(outputs[0], axis, -1)] if node.attributes.get("keepdims", 1) else outputs


def _answering_for_nan(index: Callable[[Array], int]) -> Twist:
    """Where a slice has a NaN, an index that is made of the slices."""

    def answer(node: Node, inputs: list[Array], outputs: list[Array]) -> list[Array]:
        slices, axis = along(node, inputs[0])
        found = (slices != slices).any(axis=-1)  # noqa: PLR0124 - NaN, in bfloat16 too
        return [np.where(reduced(node, found, axis), np.int64(index(slices)), outputs[0])]

    return answering(answer)


def _limit(X: Array) -> Any:
    return np.finfo(X.dtype).min if X.dtype.kind == "f" else np.iinfo(X.dtype).min


TIES = (
    Deviation("last_of_ties", "gives the last of equal maxima where select_last_index is not set", "first_index",
              defaults={"select_last_index": 1}),
    Deviation("always_first", "ignores select_last_index and gives the first of equal maxima", "select_last_index",
              twists=(_setting(select_last_index=0),)),
    Deviation("always_last", "gives the last of equal maxima whatever select_last_index is", "first_index",
              twists=(_setting(select_last_index=1),)),
    Deviation("always_first_in_if", "ignores select_last_index in a branch of an If", "select_last_index",
              twists=(_setting(select_last_index=0),), within="If"),
    Deviation("always_last_in_function", "gives the last of equal maxima in a function", "first_index",
              twists=(_setting(select_last_index=1),), within="function"),
    Deviation("ties_swapped", "takes select_last_index for its opposite", "select_last_index",
              twists=(_flipping("select_last_index", 0),)),
)  # fmt: skip

AXES = (
    Deviation("always_kept", "keeps the reduced dimension whatever keepdims is", "keepdims",
              twists=(_setting(keepdims=1),)),
    Deviation("always_kept_in_function", "keeps the reduced dimension in a function whatever keepdims is", "keepdims",
              twists=(_setting(keepdims=1),), within="function"),
    Deviation("never_kept", "removes the reduced dimension whatever keepdims is", "keepdims",
              twists=(_setting(keepdims=0),)),
    Deviation("keepdims_swapped", "takes keepdims for its opposite", "keepdims", twists=(_flipping("keepdims", 1),)),
    Deviation("keepdims_default_0", "removes the reduced dimension where keepdims is not set", "keepdims_default",
              defaults={"keepdims": 0}, convention="NumPy"),
    Deviation("kept_at_end", "keeps the reduced dimension as the last one", "keepdims",
              twists=(answering(_kept_at_end),)),
    Deviation("axis_default_last", "reduces the last axis where axis is not set", "axis_default",
              defaults={"axis": -1}),
    Deviation("axis_default_1", "reduces the second axis where axis is not set", "axis_default",
              defaults={"axis": 1}),
    Deviation("axis_default_all", "searches the whole tensor where axis is not set", "axis_default",
              twists=(answering(_whole_tensor),), convention="NumPy and PyTorch"),
    Deviation("axis_always_0", "reduces the first axis whatever axis is", "axis", twists=(_setting(axis=0),)),
    Deviation("axis_always_last", "reduces the last axis whatever axis is", "axis", twists=(_setting(axis=-1),)),
    Deviation("axis_from_end", "counts axis from the last dimension", "axis",
              twists=(_moving_axis(lambda axis, rank: rank - 1 - axis % rank),)),
    Deviation("negative_axis_off_by_1", "adds the rank less 1 to a negative axis", "negative_axis",
              twists=(_moving_axis(lambda axis, rank: axis + rank - 1, negative=True),)),
    Deviation("negative_axis_unsigned", "takes a negative axis for its magnitude", "negative_axis",
              twists=(_moving_axis(lambda axis, _: -axis, negative=True),)),
    Deviation("negative_axis_as_0", "takes a negative axis for 0", "negative_axis",
              twists=(_moving_axis(lambda _, __: 0, negative=True),)),
    Deviation("negative_axis_as_last", "takes every negative axis for the last", "negative_axis",
              twists=(_moving_axis(lambda _, rank: rank - 1, negative=True),)),
    Deviation("column_major", "writes indices in column-major order", "axis",
              twists=(each_output(lambda array: array.ravel(order="F").reshape(array.shape)),)),
    Deviation("empty_refused", "raises an error where the other axis is empty", "axis",
              twists=(refusing(lambda X: not X.size, "the tensor is empty"),)),
    Deviation("axis_of_size_1_refused", "raises an error for a tensor with a dimension of size 1", "index",
              twists=(refusing(lambda X: 1 in X.shape, "a dimension has size 1"),)),
)  # fmt: skip

TYPES = (
    Deviation("integers_as_double", "compares integers as doubles", "data_type",
              twists=(_integers(lambda X: X.astype("f8")),)),
    Deviation("integers_as_float", "compares integers as floats", "data_type",
              twists=(_integers(lambda X: X.astype("f4")),)),
    Deviation("integers_as_int32", "compares the low 32 bits of 64-bit integers", "data_type",
              twists=(_integers(lambda X: X.astype("i4") if X.itemsize == 8 else X),)),
    Deviation("integers_as_int16", "compares the low 16 bits of 32-bit integers", "data_type",
              twists=(_integers(lambda X: X.astype("i2") if X.itemsize == 4 else X),)),
    Deviation("bytes_as_signed", "compares uint8 as int8", "data_type",
              twists=(each_input(lambda X: X.view("i1") if X.dtype == np.uint8 else X),)),
    Deviation("unsigned_as_signed", "compares unsigned integers as signed ones", "data_type",
              twists=(_with_sign("i"),)),
    Deviation("signed_as_unsigned", "compares signed integers as unsigned ones", "data_type",
              twists=(_with_sign("u"),)),
    Deviation("double_as_float", "compares doubles as floats", "data_type",
              twists=(each_input(lambda X: X.astype("f4") if X.dtype == np.float64 else X),)),
    Deviation("float_as_half", "compares floats in half precision", "data_type",
              twists=(_floats(lambda X: X.astype("f2")),)),
    Deviation("float_as_bfloat16", "compares floats in bfloat16", "data_type",
              twists=(_floats(arithmetic.bfloat16_bits),)),
    Deviation("float_as_integers", "truncates floats to integers before it compares them", "data_type",
              twists=(_floats(np.trunc),)),
    Deviation("float_bits", "compares the bits of floats as signed integers", "data_type",
              twists=(_floats(lambda X: X.view(f"i{X.itemsize}")),)),
    Deviation("half_bits", "compares the bits of float16 as unsigned integers", "data_type",
              twists=(each_input(lambda X: X.view("u2") if X.dtype == np.float16 else X),)),
    Deviation("int32_indices", "gives int32 indices", "output_type", twists=(each_output(lambda a: a.astype("i4")),)),
    Deviation("float_indices", "gives indices in the type of floating-point data", "output_type",
              twists=(answering(lambda _, inputs, outputs: [outputs[0].astype(inputs[0].dtype)]),)),
)  # fmt: skip

SEARCHES = (
    Deviation("smallest", "gives the index of the smallest element", "index",
              twists=(each_input(lambda X: ~X if X.dtype.kind in "iu" else -X),)),
    Deviation("magnitude", "compares magnitudes", "index", twists=(each_input(np.abs),)),
    Deviation("starts_at_0", "starts the search at 0 and finds nothing among negative elements", "index",
              twists=(_starting_at(lambda _: 0),)),
    Deviation("starts_at_least_positive", "starts the search at the smallest positive normal value, C's FLT_MIN",
              "index", twists=(_starting_at(lambda X: np.finfo(X.dtype).tiny if X.dtype.kind == "f" else 0),)),
    Deviation("starts_at_least_finite", "starts the search at the least finite value, and finds no infinity",
              "select_last_index", twists=(_starting_at(_limit),)),
    Deviation("starts_without_index", "gives -1 where nothing is above the least value of the type", "index",
              twists=(_starting_at(_limit, -1),)),
    Deviation("without_index_for_nan", "gives -1 where an element is NaN", "range",
              twists=(_answering_for_nan(lambda _: -1),)),
    Deviation("beyond_for_nan", "gives the number of elements where one is NaN", "range",
              twists=(_answering_for_nan(lambda slices: slices.shape[-1]),)),
    Deviation("not_reset", "carries the largest element from slice to slice", "index",
              twists=(answering(_not_reset),)),
    Deviation("tail_of_4_skipped", "looks at whole vectors of four elements only", "index",
              twists=(looking_at(lambda place: place < place.size // 4 * 4),)),
    Deviation("last_skipped", "does not look at the last element", "index",
              twists=(looking_at(lambda place: place < place.size - 1),)),
    Deviation("first_skipped", "does not look at the first element", "index",
              twists=(looking_at(lambda place: place > 0),)),
    Deviation("1024_elements_at_most", "looks at no more than 1024 elements, one block of threads", "index",
              twists=(looking_at(lambda place: place < 1024),)),
    Deviation("values", "gives the largest element instead of its index", "index", twists=(answering(_values),)),
    Deviation("from_1", "counts indices from 1", "index", twists=(each_output(lambda array: array + 1),)),
    Deviation("flat_indices", "gives places in the whole tensor instead of along the axis", "index",
              twists=(answering(_flat),)),
)  # fmt: skip

ARGMAX = table("ArgMax", "argmax", (*TIES, *AXES, *TYPES, *SEARCHES, *OF_AXES))
"""Every deviation of ArgMax."""
