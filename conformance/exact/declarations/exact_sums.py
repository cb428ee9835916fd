"""Exact sums: operands of sums and products of matrices whose sums have the same result in every order of addition.

The bound of a sum of many terms admits a lost term, and operands rounded to fewer digits. An exact sum shows both: its
bound is that of a few roundings. Other operators with wide bounds have operands for the same purpose: shares with one
large term, statistics of numbers that cancel, extremes of numbers of one sign, recurrences whose errors shrink, and
scores whose exponentials overflow.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from conformance.base.verdicts import Unsupported
from conformance.exact.declarations.hard_values import element_bits
from conformance.exact.models.arrays import format_of, is_computed
from conformance.exact.models.graphs import MAIN_DOMAINS, is_operator
from conformance.exact.models.model_building import unit_fractions
from conformance.exact.reference.formulas.linear import contracted_count
from conformance.exact.reference.tolerances import NARROW

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping, Sequence

    import onnx

    from conformance.exact.models.arrays import Array

Shape = tuple[int, ...]

MIN_SUMMED_TERMS = 64
"""Terms from which the bound of a sum is wide enough for exact sums."""

MIN_MOMENT_TERMS = 16
"""Terms from which the bound of a mean and a variance is wide enough for operands of a few terms."""


SHORT_AXIS = 3
"""Elements of each axis of the operand of a short mean, at most."""


def probed_terms(node: onnx.NodeProto, shapes: Mapping[str, Shape]) -> int:
    """Return the number of elements of each sum, share or statistic of a node of `WITH_EXACT_SUMS`, at most.

    It is enough for operands of extremes and recurrences, and 1 for another node, or for an unknown shape. Arguments
    are those of `summed_terms`.
    """
    if is_operator(node, *_EXTREMES, *_RECURRENT, *_SCORES):
        return MIN_SUMMED_TERMS
    if not is_operator(node, *_SHARES, *_MOMENTS) or node.input[0] not in shapes:
        return summed_terms(node, shapes)
    shape = shapes[node.input[0]]
    return max(shape, default=1) if is_operator(node, *_SHARES) else _moment_terms(node, shape)


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
    if node.op_type in _SUMMED_TERMS:
        return _SUMMED_TERMS[node.op_type](node, inputs)
    sizes = math.prod(inputs[0]) // max(1, math.prod(shapes[node.output[0]]))
    return sizes if node.op_type in (*_SUMS_OF_ELEMENTS, *_SUMS_OF_SQUARES) else term_count(node, inputs)


def term_count(node: onnx.NodeProto, inputs: Sequence[Shape]) -> int:
    """Return the number of terms of each element of the first output, or of the input of ConvTranspose.

    It is 1 for an operator without products and windows.
    """
    count = _TERMS.get(node.op_type) if node.domain in (*MAIN_DOMAINS, "com.microsoft") else None
    return 1 if count is None else count(node, inputs)


def exact_sums(
    node: onnx.NodeProto, values: Mapping[str, Array], free: Container[str], terms: int, salt: str = ""
) -> list[dict[str, Array]]:
    """Return sets of operands with which the bounds of a node of `WITH_EXACT_SUMS` are narrow.

    In the first set of a sum, it has about one term that is not 0, with all digits of the type. In the second set, all
    elements are small integers. Statistics have numbers that cancel, and then a few of them among zeros. Sums of
    integers have large ones that do not overflow.

    Args:
        node: the node.
        values: its operands by name.
        free: the names of the operands that may have other elements; the others keep theirs.
        terms: the number of terms of each sum, see `probed_terms`.
        salt: a text that chooses the elements.

    Returns:
        The sets. There are none for other operators, for short sums, and for operands of other types.
    """
    first = node.input[0]
    least = MIN_MOMENT_TERMS if is_operator(node, *_MOMENTS) else MIN_SUMMED_TERMS
    if terms < least or first not in free:
        return []
    is_integer = values[first].dtype.kind in "iu"
    if not is_integer and not is_computed(values[first].dtype):
        return []
    names = [name for name in node.input if name in free and values[name].dtype == values[first].dtype]

    def operands(draw: Callable[[str, Array], Array], draw_others: Callable[[str, Array], Array]) -> dict[str, Array]:
        texts = {name: f"{salt}/{node.op_type}/X{place}/exact" for place, name in enumerate(node.input)}
        return {
            name: (draw if name == first else draw_others)(texts[name], array) if name in names else array
            for name, array in values.items()
            if name in texts
        }

    if is_operator(node, *_EXTREMES):
        sign = -1 if "Max" in node.op_type else 1
        return [operands(lambda text, array: _of_one_sign(text, array, sign), _digits)]
    if is_integer:
        if not is_operator(node, *SUMS):
            return []
        limit = np.iinfo(values[first].dtype).max // terms
        reach = limit if node.op_type in _SUMS_OF_ELEMENTS else math.isqrt(limit)
        return [operands(*[lambda text, array: _integers_up_to(text, array, reach)] * 2)]
    if is_operator(node, *_SHARES):
        return [
            operands(lambda text, array: sparse_numbers(text, array, terms) * array.dtype.type(LARGE_TERM), _digits)
        ]
    if is_operator(node, *_RECURRENT):
        return [operands(_small_fractions, _small_fractions)]
    if is_operator(node, *_SCORES):
        factor = _factor_of_large_scores(node, values[first].shape)
        large = [lambda text, array: (_digits(text, array) * factor).astype(array.dtype)] * 2
        return [operands(*large)]
    if is_operator(node, *_MOMENTS):
        return [
            operands(lambda _, array: _cancelling(array), _digits),
            operands(lambda text, array: _few_pairs(text, array, terms), _digits),
        ]
    factor = 4 if node.op_type in _SUMS_OF_ELEMENTS else 16
    return [
        operands(lambda text, array: sparse_numbers(text, array, terms), _digits),
        operands(*[lambda text, array: _small_integers(text, array, factor * terms)] * 2),
    ]


def short_mean(node: onnx.NodeProto, values: Mapping[str, Array], terms: int) -> Array | None:
    """Return the operand of a mean of few numbers, in a type that has too few digits for the count of many.

    The mean of 1,000 numbers of float16 is nearly the quotient of their sum by 999.

    Args:
        node: the node.
        values: its operands by name.
        terms: the number of terms of the mean of these operands.

    Returns:
        The operand with shorter axes. It is None for other operators, other types and few terms.
    """
    array = values.get(node.input[0])
    if not is_operator(node, *_MEANS) or array is None or not is_computed(array.dtype):
        return None
    if format_of(array.dtype).name not in NARROW or terms < MIN_SUMMED_TERMS:
        return None
    chosen = _small_integers(f"/{node.op_type}/few", array, terms)
    return np.ascontiguousarray(chosen[(slice(0, SHORT_AXIS),) * array.ndim])


LARGE_TERM = 100
"""Factor of the numbers from 1 to 2 whose exponentials exceed all others together, and overflow in float."""


def sparse_numbers(text: str, array: Array, period: int) -> Array:
    """Return numbers from 1 to 2 with all digits of the type in one of so many places, and zeros elsewhere.

    Args:
        text: the text on which the elements depend.
        array: an array of the shape and type, of floating-point numbers.
        period: the number of places.
    """
    return _kept(element_bits(text, array.shape), period, _numbers_with_all_digits(text, array)).astype(array.dtype)


def _numbers_with_all_digits(text: str, array: Array) -> Array:
    steps = np.uint64(2 ** (format_of(array.dtype).precision - 1))
    halves = (element_bits(text, array.shape) >> np.uint64(12)) % (steps // np.uint64(2))
    return np.asarray(1 + (2.0 * halves + 1) / float(steps))


def _digits(text: str, array: Array) -> Array:
    """Return numbers from 1 to 2 with all digits of the type; integers stay."""
    return _numbers_with_all_digits(text, array).astype(array.dtype) if is_computed(array.dtype) else array


def _few_pairs(text: str, array: Array, terms: int) -> Array:
    """Return numbers of both signs among zeros, so that the sum of each row along the last axis is exactly 0.

    Few rows have a number and, next to it, its negative.

    Args:
        text: the text on which the elements depend.
        array: an array of the shape and type, of floating-point numbers.
        terms: the number of elements of each mean.
    """
    size = array.shape[-1] if array.ndim else 1
    if size < 2:
        return _cancelling(array)
    pairs = element_bits(text, (*array.shape[:-1], size // 2))
    numbers = _numbers_with_all_digits(text, np.zeros(pairs.shape, array.dtype))
    numbers = np.where(pairs == pairs.min(axis=-1, keepdims=True), numbers, 0.0)
    period = max(1, terms // size // 2)
    rows = _kept(element_bits(f"{text}/rows", array.shape[:-1]), period, np.ones(array.shape[:-1]))
    result = np.zeros(array.shape)
    result[..., 0 : size // 2 * 2 : 2] = numbers * rows[..., np.newaxis]
    result[..., 1 : size // 2 * 2 : 2] = -numbers * rows[..., np.newaxis]
    return result.astype(array.dtype)


def _small_integers(text: str, array: Array, sums: int) -> Array:
    """Return positive integers whose sums, up to a number, have no more digits than the type; some may be 0."""
    bits = element_bits(text, array.shape)
    integers = 1.0 + (bits >> np.uint64(40)) % np.uint64(3)
    return _kept(bits, max(1, sums >> format_of(array.dtype).precision), integers).astype(array.dtype)


def _integers_up_to(text: str, array: Array, reach: int) -> Array:
    """Return integers from 0 to a number."""
    return (element_bits(text, array.shape) % np.uint64(reach + 1)).astype(array.dtype)


def _small_fractions(text: str, array: Array) -> Array:
    """Return numbers from -1/4 to 1/4, with which the error of a step becomes smaller in the next one."""
    return ((unit_fractions(element_bits(text, array.shape)) - 0.5) / 2).astype(array.dtype)


def _cancelling(array: Array) -> Array:
    """Return 1 and -1 in turn along the last axis, so that each row has the sum 0, also one of an odd length."""
    size = array.shape[-1] if array.ndim else 1
    row = np.where(np.arange(size) % 2, -1.0, 1.0)
    row[-1 if size % 2 and size > 1 else size :] = 0
    return np.broadcast_to(row, array.shape).astype(array.dtype)


def _of_one_sign(text: str, array: Array, sign: int) -> Array:
    """Return large numbers of one sign: a result that starts with 0, or with a small number, is wrong."""
    bits = element_bits(text, array.shape) >> np.uint64(40)
    if array.dtype.kind in "iu":
        limit = int(np.iinfo(array.dtype).max)
        large = (np.uint64(limit // 2) + bits % np.uint64(limit // 4)).astype(array.dtype)
        return large if sign > 0 or array.dtype.kind == "u" else (-large).astype(array.dtype)
    with np.errstate(over="ignore"):
        return (sign * float(format_of(array.dtype).largest) / 4 * (1 + bits / 2.0**24)).astype(array.dtype)


def _kept(bits: Array, period: int, numbers: Array) -> Array:
    """Return one of so many numbers, and 0 in place of the others; at least one number is kept."""
    is_kept = (bits % np.uint64(period) == 0) | (bits == bits.min(initial=bits.max(initial=0)))
    return np.where(is_kept, numbers, 0.0)


_SUMS_OF_ELEMENTS = frozenset({"CumSum", "GlobalAveragePool", "ReduceL1", "ReduceLogSum", "ReduceMean", "ReduceSum"})

_MEANS = frozenset({"GlobalAveragePool", "ReduceMean"})

_SUMS_OF_SQUARES = frozenset({"ReduceL2", "ReduceSumSquare"})

SUMS = frozenset(
    {"AveragePool", "Conv", "ConvTranspose", "Einsum", "Gemm", "MatMul", *_SUMS_OF_ELEMENTS, *_SUMS_OF_SQUARES}
)
"""Operators whose bounds grow with the number of terms, and that exact sums judge within few roundings."""

PRODUCTS = frozenset(
    {
        "Conv",
        "ConvInteger",
        "ConvTranspose",
        "Einsum",
        "Gemm",
        "MatMul",
        "MatMulInteger",
        "QLinearConv",
        "QLinearMatMul",
    }
)
"""Operators that compute products of matrices or convolutions."""

_SHARES = frozenset({"LogSoftmax", "ReduceLogSumExp", "Softmax"})

_MOMENTS = frozenset(
    {
        "GroupNormalization",
        "InstanceNormalization",
        "LayerNormalization",
        "MeanVarianceNormalization",
        "RMSNormalization",
    }
)

_EXTREMES = frozenset({"GlobalMaxPool", "MaxPool", "ReduceMax", "ReduceMin"})

_RECURRENT = frozenset({"GRU", "LSTM", "RNN"})

_SCORES = frozenset({"Attention"})

WITH_LONG_AXES = SUMS | _SHARES | _MOMENTS | _EXTREMES | _RECURRENT
"""Operators for which `exact_sums` has other operands if an axis is long."""

WITH_EXACT_SUMS = WITH_LONG_AXES | _SCORES
"""Operators for which `exact_sums` has operands."""


def _factor_of_large_scores(node: onnx.NodeProto, shape: Shape) -> float:
    """Return the factor of numbers from 1 to 2 with which exponentials of scores of Attention overflow in float."""
    given = {attribute.name: attribute for attribute in node.attribute}
    heads = given["q_num_heads"].i if "q_num_heads" in given else 1
    size = max(1, (shape[-1] if shape else 1) // max(1, heads))
    scale = given["scale"].f if "scale" in given else 0.0
    return math.sqrt(LARGE_TERM / (size * (scale if scale > 0 else 1 / math.sqrt(size))))


def _moment_terms(node: onnx.NodeProto, shape: Shape) -> int:
    """Return the number of elements of each mean of a normalization."""
    given = {attribute.name: attribute for attribute in node.attribute}
    if node.op_type == "GroupNormalization":
        return math.prod(shape[1:]) // max(1, given["num_groups"].i if "num_groups" in given else 1)
    if node.op_type == "InstanceNormalization":
        return math.prod(shape[2:])
    if node.op_type == "MeanVarianceNormalization":
        axes = given["axes"].ints if "axes" in given else (0, 2, 3)
        return math.prod(shape[axis] for axis in axes if -len(shape) <= axis < len(shape))
    axis = given["axis"].i if "axis" in given else -1
    return math.prod(shape[axis:]) if -len(shape) <= axis < len(shape) else 1


def _of_einsum(node: onnx.NodeProto, inputs: Sequence[Shape]) -> int:
    equation = next((attribute.s.decode() for attribute in node.attribute if attribute.name == "equation"), "")
    try:
        return contracted_count(equation.replace(" ", ""), inputs)
    except (Unsupported, ValueError):
        return 1


def _of_transposed_filter(node: onnx.NodeProto, inputs: Sequence[Shape]) -> int:
    given = {attribute.name: attribute for attribute in node.attribute}
    groups = given["group"].i if "group" in given else 1
    strides = math.prod(given["strides"].ints) if "strides" in given else 1
    count = math.prod(inputs[1][:1] + inputs[1][2:]) if len(inputs) > 1 else 1
    return max(1, count // max(1, groups * strides))


_SUMMED_TERMS: Mapping[str, Callable[[onnx.NodeProto, Sequence[Shape]], int]] = {
    "ConvTranspose": _of_transposed_filter,
    "CumSum": lambda _, inputs: max(inputs[0], default=1),
    "Einsum": _of_einsum,
}
"""The number of terms of each element of the output, by operator, where `term_count` does not return it."""


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
