"""Exact sums: operands of sums and products of matrices whose sums have the same result in every order of addition.

The bound of a sum of many terms admits a lost term, and operands rounded to fewer digits. An exact sum shows both: its
bound is that of one rounding.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from conformance.exact.declarations.hard_values import element_bits
from conformance.exact.models.arrays import format_of, is_computed
from conformance.exact.models.graphs import MAIN_DOMAINS, is_operator

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping, Sequence

    import onnx

    from conformance.exact.models.arrays import Array

Shape = tuple[int, ...]

MIN_SUMMED_TERMS = 64
"""Terms from which the bound of a sum is wide enough for exact sums."""


def summed_terms(node: onnx.NodeProto, shapes: Mapping[str, Shape]) -> int:
    """Return the number of terms of each sum of a node that computes sums, products of matrices or convolutions.

    It is 1 for every other node, and where a shape is not known.

    Args:
        node: the node.
        shapes: the shapes of its inputs and outputs by name; unknown ones are left out.
    """
    if not is_operator(node, *SUMS) or not all(name in shapes for name in (node.input[0], node.output[0])):
        return 1
    inputs = [shapes.get(name, ()) for name in node.input]
    sizes = math.prod(inputs[0]) // max(1, math.prod(shapes[node.output[0]]))
    return sizes if node.op_type in _SUMS_OF_ELEMENTS else term_count(node, inputs)


def term_count(node: onnx.NodeProto, inputs: Sequence[Shape]) -> int:
    """Return the number of terms of each element of the first output, or of the input of ConvTranspose.

    It is 1 for an operator without products and windows.
    """
    count = _TERMS.get(node.op_type) if node.domain in (*MAIN_DOMAINS, "com.microsoft") else None
    return 1 if count is None else count(node, inputs)


def exact_sums(
    node: onnx.NodeProto, values: Mapping[str, Array], free: Container[str], terms: int, salt: str = ""
) -> list[dict[str, Array]]:
    """Return sets of operands with which every order of addition of a node's sums gives the same result.

    In the first set, a sum has about one term that is not 0, with all digits of the type; other operands are powers of
    two. In the second set, all elements are small integers. The third set is the first one with the sparse operand in
    the second place, if the second operand is free.

    Args:
        node: the node.
        values: its operands by name.
        free: the names of the operands that may have other elements; the others keep theirs.
        terms: the number of terms of each sum, see `summed_terms`.
        salt: a text that chooses the elements.

    Returns:
        The sets. There are none if the node computes no sums of floating-point numbers, or only short ones.
    """
    first = node.input[0]
    if terms < MIN_SUMMED_TERMS or first not in free or not is_computed(values[first].dtype):
        return []
    names = [name for name in node.input if name in free and is_computed(values[name].dtype)]

    def operands(draw: Callable[[str, str, Array], Array]) -> dict[str, Array]:
        texts = {name: f"{salt}/{node.op_type}/X{place}/exact" for place, name in enumerate(node.input)}
        return {
            name: draw(name, texts[name], array) if name in names else array
            for name, array in values.items()
            if name in texts
        }

    def sparse(place: str) -> dict[str, Array]:
        return operands(
            lambda name, text, array: sparse_numbers(text, array, terms) if name == place else _powers(text, array)
        )

    found = [sparse(first), operands(lambda _, text, array: _small_integers(text, array, terms))]
    second = node.input[1] if len(node.input) > 1 else first
    return [*found, sparse(second)] if second != first and second in names else found


def sparse_numbers(text: str, array: Array, period: int) -> Array:
    """Return numbers from 1 to 2 with all digits of the type in one of so many places, and zeros elsewhere.

    Args:
        text: the text on which the elements depend.
        array: an array of the shape and type, of floating-point numbers.
        period: the number of places.
    """
    bits = element_bits(text, array.shape)
    steps = 2 ** (format_of(array.dtype).precision - 1)
    odd = (bits >> np.uint64(12)) % np.uint64(steps // 2) * np.uint64(2) + np.uint64(1)
    return _kept(bits, period, 1 + odd.astype(np.float64) / steps).astype(array.dtype)


def _powers(text: str, array: Array) -> Array:
    bits = element_bits(text, array.shape)
    return np.where(bits & np.uint64(1), 2.0, 0.5).astype(array.dtype)


def _small_integers(text: str, array: Array, terms: int) -> Array:
    """Return positive integers whose sums have no more digits than the type; in a narrow type, most are 0."""
    bits = element_bits(text, array.shape)
    integers = 1.0 + (bits >> np.uint64(40)) % np.uint64(3)
    return _kept(bits, max(1, 4 * terms >> format_of(array.dtype).precision), integers).astype(array.dtype)


def _kept(bits: Array, period: int, numbers: Array) -> Array:
    """Return one of so many numbers, and 0 in place of the others; at least one number is kept."""
    is_kept = (bits % np.uint64(period) == 0) | (bits == bits.min(initial=bits.max(initial=0)))
    return np.where(is_kept, numbers, 0.0)


_SUMS_OF_ELEMENTS = frozenset({"GlobalAveragePool", "ReduceL1", "ReduceMean", "ReduceSum"})

SUMS = frozenset({"AveragePool", "Conv", "Gemm", "MatMul", *_SUMS_OF_ELEMENTS})
"""Operators whose bounds grow with the number of terms, and that exact sums judge within few roundings."""


def _of_first(_: onnx.NodeProto, inputs: Sequence[Shape]) -> int:
    return inputs[0][-1] if inputs and inputs[0] else 1


def _of_gemm(node: onnx.NodeProto, inputs: Sequence[Shape]) -> int:
    is_transposed = any(attribute.name == "transA" and attribute.i for attribute in node.attribute)
    return inputs[0][0 if is_transposed else -1] if inputs and inputs[0] else 1


def _of_filter(position: int) -> Callable[[onnx.NodeProto, Sequence[Shape]], int]:
    def count(_: onnx.NodeProto, inputs: Sequence[Shape]) -> int:
        return math.prod(inputs[position][1:]) if len(inputs) > position else 1

    return count


def _of_recurrence(_: onnx.NodeProto, inputs: Sequence[Shape]) -> int:
    return sum(map(math.prod, inputs[1:3])) // max(1, inputs[1][1]) if len(inputs) > 2 and len(inputs[1]) > 1 else 1


def _of_window(node: onnx.NodeProto, _: Sequence[Shape]) -> int:
    return next((math.prod(attribute.ints) for attribute in node.attribute if attribute.name == "kernel_shape"), 1)


_TERMS: Mapping[str, Callable[[onnx.NodeProto, Sequence[Shape]], int]] = {
    "MatMul": _of_first,
    "MatMulInteger": _of_first,
    "QLinearMatMul": _of_first,
    "Gemm": _of_gemm,
    "QGemm": _of_gemm,
    "Conv": _of_filter(1),
    "ConvInteger": _of_filter(1),
    "QLinearConv": _of_filter(3),
    "ConvTranspose": _of_filter(1),
    "RNN": _of_recurrence,
    "GRU": _of_recurrence,
    "LSTM": _of_recurrence,
    "AveragePool": _of_window,
    "MaxPool": _of_window,
    "LpPool": _of_window,
}
"""The number of terms by operator."""
