"""Formulas of sums and sums of products: matrix products, convolutions and reductions.

A sum of n products has an error of at most n u of the sum of the products' magnitudes, in any order of addition, with
or without fused multiply-add. At level must, a convolution may also be computed by Winograd's transforms of tiles.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from math import ceil, log2, prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from conformance.base.verdicts import Level, Unsupported
from conformance.exact.models.arrays import format_of, type_name
from conformance.exact.reference.formulas.elementwise import absolute, exp, log, sqrt, tensor
from conformance.exact.reference.numbers import portable
from conformance.exact.reference.numbers.enclosure import (
    Enclosure,
    SumOfProducts,
    admit,
    current_level,
    is_strict,
    judged_at,
    leave_to_readings,
)
from conformance.exact.reference.tolerances import NARROW, ROUNDINGS, forms_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from conformance.exact.models.arrays import Array
    from conformance.exact.reference.nodes import Node, NodeEnclosure, NodeFormula
    from conformance.exact.reference.numbers.enclosure import Tensor
    from conformance.exact.reference.numbers.formula_tensor import T

    Pads = list[tuple[int, int]]
    """The padding before and after each spatial axis."""


FLOAT = np.dtype(np.float32)

DOUBLE_EXPONENTS = 700.0
"""Magnitude from which the exponential of a number overflows or underflows in double."""


def stack(parts: Sequence[T], axis: int) -> T:
    """Return tensors of the same shape along a new axis."""
    return parts[0].stack(parts[1:], axis)


def sections(X: T, sizes: Sequence[int]) -> list[T]:
    """Return the parts of a tensor with the given sizes along its last axis."""
    ends = np.cumsum(sizes)
    return [X.moved(lambda x, e=end, s=size: x[..., e - s : e]) for end, size in zip(ends, sizes, strict=True)]  # type: ignore[misc]


def optional_tensor(inputs: Sequence[T | Array | None], position: int) -> T | None:
    """Return an optional input as a tensor of floating-point numbers; None if the node leaves it out."""
    return tensor(inputs[position]) if len(inputs) > position and inputs[position] is not None else None


def integers(given: object) -> list[int]:
    """Return the elements of a tensor of integers, such as a shape or axes."""
    if not isinstance(given, np.ndarray) or given.dtype.kind not in "iu":
        raise Unsupported("a shape, or axes, are not integers")
    return [int(element) for element in given.flat]


def distinct_axes(axes: Iterable[int], rank: int) -> list[int]:
    """Return axes that are not negative.

    Raises:
        Unsupported: an axis is repeated, for which pages state no result.
    """
    found = [axis % rank for axis in axes]
    if len({*found}) < len(found):
        raise Unsupported("an axis is repeated")
    return found


# Matrix products


def matmul(A: T, B: T) -> T:
    """Return the matrix product, with broadcasting of the leading dimensions."""
    return A.dot(B, portable.matmul, A.shape[-1])


def squared_distances(A: T, B: T) -> T:
    """Return the squared Euclidean distance of each row of A and each row of B."""
    squares, others = ((X * X).sum([1]) for X in (A, B))
    difference = A.moved(lambda a: a[:, np.newaxis]) - B
    products = matmul(A, B.moved(np.transpose))
    return admit(
        "SquaredDistance",
        written=lambda: (difference * difference).sum([2]),
        expanded=lambda: squares.moved(lambda s: s[:, np.newaxis]) + others - 2.0 * products,
    )


def _matmul(_: Node, inputs: Sequence[T | Array | None]) -> list[T]:
    return [matmul(tensor(inputs[0]), tensor(inputs[1]))]


def _gemm(node: Node, inputs: Sequence[T | Array | None]) -> list[T]:
    """Enclose Gemm: alpha A B + beta C."""
    given = node.attributes
    A, B = (
        tensor(X).moved(np.transpose) if given.get(flag, 0) else tensor(X)
        for X, flag in zip(inputs[:2], ("transA", "transB"), strict=True)
    )
    product = matmul(A, B)
    C = optional_tensor(inputs, 2)
    alpha = float(given.get("alpha", 1.0))
    beta = float(given.get("beta", 1.0))
    if product.dtype.kind in "iu" and not (alpha.is_integer() and beta.is_integer()):
        raise Unsupported("Gemm of integers with a factor that has a fraction")
    Y = product if alpha == 1 else product.times(product.constant(alpha), is_fused=True)
    if C is not None and beta == 0 and np.isfinite(C.value).all():
        Y = _broadcast_to(Y, C)
    elif C is not None:
        Y = Y.plus(C if beta == 1 else C.times(C.constant(beta)), is_fused=True)
    for operand, factor in ((product, alpha), (C, beta)):
        # the page multiplies an infinity or NaN by 0; libraries do not read the operand
        if operand is not None and factor == 0 and not is_strict():
            Y = Y.undetermined(~np.broadcast_to(np.isfinite(operand.value), Y.shape))
    if C is not None and beta != 0 and Y.dtype.kind not in "iu" and np.isinf(Y.value).any():
        Y = Y.undetermined(np.isinf(Y.value) & _may_overflow(A, B, C, alpha, beta))
    return [Y]


def _may_overflow(A: T, B: T, C: T, alpha: float, beta: float) -> Array:
    """Return where the finite terms of alpha A B + beta C may overflow, and then cancel an infinite one.

    A kernel may add the terms to beta C, so that the order of the terms is open.
    """
    with np.errstate(all="ignore"):
        a, b, c = (np.abs(np.where(np.isfinite(X.value), X.value, 0).astype(np.float64)) for X in (A, B, C))
        return np.asarray(abs(alpha) * np.matmul(a, b) + abs(beta) * c > float(format_of(A.dtype).largest))


def _broadcast_to(Y: T, C: T) -> T:
    shape = np.broadcast_shapes(Y.shape, C.shape)
    return Y if shape == Y.shape else Y.moved(lambda y: np.broadcast_to(y, shape))


def _einsum(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    equation = node.attributes["equation"].replace(" ", "")
    operands = [tensor(given) for given in inputs]
    count = contracted_count(equation, [X.shape for X in operands])

    def contract(*arrays: Array) -> Array:
        try:
            return portable.einsum(equation, *arrays)
        except ValueError as reason:
            raise Unsupported(f"Einsum with the equation {equation}") from reason

    if len(operands) == 2:
        is_open = _depends_on_order(equation, operands, contract)
        return [operands[0].dot(operands[1], contract, count).undetermined(is_open)]
    (first, *_) = operands
    terms = [SumOfProducts.of(X) for X in operands]
    if len(operands) == 1 and count == 1:
        return [first.moved(contract)]
    magnitudes = [each.magnitudes for each in terms]
    with np.errstate(all="ignore"):
        value = contract(*(X.value for X in operands))
        total = contract(*magnitudes)
        error = sum(
            (
                contract(*magnitudes[:place], each.error, *magnitudes[place + 1 :])
                for place, each in enumerate(terms)
                if each.error.any()
            ),
            np.zeros_like(value),
        )
    roundings = count + len(operands) - 1 + sum(each.roundings for each in terms)
    # the product of two operands is a tensor of their type
    with judged_at(Level.MUST if len(operands) > 2 else current_level()):
        return [_with_partial_products(first.from_terms(value, total, error, roundings), magnitudes, count)]


def _depends_on_order(equation: str, operands: Sequence[Enclosure], contract: Callable[..., Array]) -> Array:
    """Return where it matters that an operand may be added up first, over the axes that it alone has.

    This sum may overflow although the result does not, and its sign decides the product with an infinity.
    """
    left, _, result = equation.replace("...", ".").partition("->")
    is_open = np.array(False)
    for place, (X, term) in enumerate(zip(operands, left.split(","), strict=True)) if "->" in equation else ():
        kept = "".join(dict.fromkeys(name for name in term if name in result or left.count(name) > term.count(name)))
        if len(kept) < len(term):
            finite = np.where(np.isfinite(X.value), X.magnitude, 0.0)
            sums = np.einsum(f"{term}->{kept}".replace(".", "..."), finite)
            masks = [
                np.ones(X.shape) if other == place else np.isinf(Y.value) * 1.0 for other, Y in enumerate(operands)
            ]
            is_open = is_open | (sums > float(format_of(X.dtype).largest)).any() | (contract(*masks) > 0)
    return is_open


def _with_partial_products(result: Enclosure, factors: Sequence[Array], count: int) -> Enclosure:
    """Return sums of products of three or more factors, some of which may overflow or underflow before the last."""
    if len(factors) < 3 or not result.value.size:
        return result
    limits = format_of(result.dtype)
    with np.errstate(all="ignore"):
        largest = count * prod(max(1.0, float(np.max(each, initial=0.0, where=np.isfinite(each)))) for each in factors)
        lowest = prod(min(1.0, float(np.min(each, initial=1.0, where=each > 0))) for each in factors)
    if not largest <= float(limits.largest):
        return result.undetermined(np.ones(result.shape, dtype=bool))
    result = result.undetermined(~np.isfinite(result.value))
    if lowest >= float(limits.smallest_normal):
        return result
    return replace(result, error=result.error + count * len(factors) * float(limits.smallest_normal) * largest)


def contracted_count(equation: str, shapes: Sequence[tuple[int, ...]]) -> int:
    """Return the number of products that an Einsum adds for each element of its result.

    Raises:
        Unsupported: an operand has another rank than its part of the equation.
        ValueError: two axes with one name have different sizes.
    """
    left, arrow, result = equation.partition("->")
    sizes: dict[str, int] = {}
    for term, shape in zip(left.split(","), shapes, strict=True):
        before, _, after = term.partition("...")
        if len(before) + len(after) > len(shape):
            raise Unsupported(f"Einsum with the equation {equation} of a tensor of rank {len(shape)}")
        for name, size in (*zip(before, shape, strict=False), *zip(after[::-1], shape[::-1], strict=False)):
            if 1 not in (size, known := sizes.get(name, size)) and size != known:
                raise ValueError(f"{name} has the sizes {known} and {size} in the equation {equation}")
            sizes[name] = max(size, known)
    if not arrow:
        result = "".join(name for name in sizes if left.count(name) == 1)
    return prod(size for name, size in sizes.items() if name not in result)


# Convolutions


def explicit_pads(node: Node, sizes: Sequence[int], kernel: Sequence[int]) -> Pads:
    """Return the padding before and after each spatial axis of a convolution or pooling.

    Args:
        node: the node, with the attributes `auto_pad`, `pads`, `strides` and `dilations`.
        sizes: the sizes of the spatial axes of the input.
        kernel: the sizes of the kernel.
    """
    rank = len(sizes)
    given = node.attributes
    mode = given.get("auto_pad", "NOTSET")
    if mode == "NOTSET":
        pads = list(given.get("pads", [0] * (2 * rank)))
        return list(zip(pads[:rank], pads[rank:], strict=True))
    if mode == "VALID":
        return [(0, 0)] * rank
    return _split([max(0, total) for total in _same_totals(node, sizes, kernel)], mode == "SAME_UPPER")


def _same_totals(node: Node, sizes: Sequence[int], kernel: Sequence[int]) -> list[int]:
    """Return the sums of the pads that `auto_pad` SAME states, which are negative for a stride above the kernel."""
    axes = zip(sizes, extents(node, kernel), strides(node, len(sizes)), strict=True)
    return [(-(-size // stride) - 1) * stride + extent - size for size, extent, stride in axes]


def _split(totals: Sequence[int], is_upper: bool, halve: Callable[[int], int] = lambda total: total // 2) -> Pads:
    """Return pads with the given sums; the half that is rounded down is the first one if `is_upper`."""
    pairs = [(halve(total), total - halve(total)) for total in totals]
    return pairs if is_upper else [(second, first) for first, second in pairs]


def pad_readings(node: Node, sizes: Sequence[int], kernel: Sequence[int]) -> list[Pads]:
    """Return the readings of the padding of a convolution or pooling: more than one if `auto_pad` makes it negative.

    A kernel limits a negative sum at 0, or takes it literally, halved in either direction.
    """
    limited = explicit_pads(node, sizes, kernel)
    mode = node.attributes.get("auto_pad", "NOTSET")
    totals = _same_totals(node, sizes, kernel) if mode.startswith("SAME") else []
    if all(total >= 0 for total in totals):
        return [limited]
    literal = [_split(totals, mode == "SAME_UPPER", halve) for halve in (lambda t: t // 2, lambda t: int(t / 2))]
    return [limited, literal[0]] if literal[0] == literal[1] else [limited, *literal]


def pad_or_crop(X: Array, pads: Pads, fill: float = 0.0) -> Array:
    """Return a tensor (N, C, spatial sizes) with padding; negative padding cuts elements off."""
    wider = [(max(0, low), max(0, high)) for low, high in pads]
    padded = np.pad(X, [(0, 0), (0, 0), *wider], constant_values=fill)
    kept = [slice(max(0, -low), size - max(0, -high)) for (low, high), size in zip(pads, padded.shape[2:], strict=True)]
    return np.asarray(padded[(slice(None), slice(None), *kept)])


def strides(node: Node, rank: int) -> list[int]:
    """Return the attribute `strides`, by default 1 for each axis."""
    return list(node.attributes.get("strides", [1] * rank))


def dilations(node: Node, rank: int) -> list[int]:
    """Return the attribute `dilations`, by default 1 for each axis."""
    return list(node.attributes.get("dilations", [1] * rank))


def extents(node: Node, kernel: Sequence[int]) -> list[int]:
    """Return the sizes of the kernel with its gaps."""
    return [(size - 1) * gap + 1 for size, gap in zip(kernel, dilations(node, len(kernel)), strict=True)]


def windows(X: Array, node: Node, kernel: Sequence[int], pads: Pads, fill: float) -> list[Array]:
    """Return, for each position of the kernel in row-major order, the elements that it meets (N, C, output sizes).

    Args:
        X: the input (N, C, spatial sizes).
        node: the node, with the attributes `strides` and `dilations`.
        kernel: the sizes of the kernel.
        pads: the padding before and after each spatial axis.
        fill: the value of the padding.
    """
    rank = len(kernel)
    padded = pad_or_crop(X, pads, fill)
    steps = strides(node, rank)
    gaps = dilations(node, rank)
    sizes = [(padded.shape[2 + axis] - extent) // steps[axis] + 1 for axis, extent in enumerate(extents(node, kernel))]
    return [padded[place] for place in window_places(kernel, gaps, sizes, steps)]


def window_places(
    kernel: Sequence[int], gaps: Sequence[int], counts: Sequence[int], steps: Sequence[int]
) -> Iterator[tuple[slice, ...]]:
    """Yield, for each position of the kernel in row-major order, the places (N, C, counts) that it meets.

    Args:
        kernel: the sizes of the kernel.
        gaps: the distances of its elements.
        counts: the numbers of windows along each spatial axis.
        steps: the distances of the windows.
    """
    for position in product(*map(range, kernel)):
        axes = zip(position, gaps, counts, steps, strict=True)
        yield (
            slice(None),
            slice(None),
            *(
                slice(index * gap, index * gap + max(0, (count - 1) * step + 1), step)
                for index, gap, count, step in axes
            ),
        )


def _with_bias(Y: T, B: T | None) -> T:
    """Add the bias of each channel; it is a term of the sum, and may be the first one."""
    return Y if B is None else Y.plus(B.moved(lambda b: b.reshape(1, -1, *[1] * (len(Y.shape) - 2))), is_fused=True)


def convolve(node: Node, x: Array, w: Array, pads: Pads) -> Array:
    """Return the convolution of an input with filters.

    Args:
        node: the node, with the attributes `group`, `strides` and `dilations`.
        x: the input (N, C, spatial sizes).
        w: the filters (M, C / group, kernel sizes).
        pads: the padding before and after each spatial axis.
    """
    groups = node.attributes.get("group", 1)
    parts = w.reshape(groups, w.shape[0] // groups, w.shape[1], -1)
    total: Any = 0
    for number, window in enumerate(windows(x, node, w.shape[2:], pads, 0.0)):
        grouped = window.reshape(window.shape[0], groups, w.shape[1], -1)
        total = total + portable.matmul(parts[..., number], grouped)
    return np.asarray(total).reshape(x.shape[0], w.shape[0], *window.shape[2:])


def _conv(node: Node, inputs: Sequence[T | Array | None]) -> list[T]:
    X = tensor(inputs[0])
    W = tensor(inputs[1])
    B = optional_tensor(inputs, 2)

    def convolved(pads: Pads) -> T:
        products = X.dot(W, lambda x, w: convolve(node, x, w, pads), prod(W.shape[1:]))
        products = _with_transforms(node, products, X, W, pads)
        Y = _with_bias(products, B)
        is_special = ~np.isfinite(W.value)
        if is_special.any():  # many kernels leave out the products of the padding, which are NaN for such weights
            inside = convolve(node, np.ones(X.shape), is_special.astype(np.float64), pads)
            every = is_special.reshape(W.shape[0], -1).sum(axis=1).reshape(1, -1, *[1] * (len(X.shape) - 2))
            Y = Y.leave_open(inside < every, "products of the padding")
        return Y

    return [leave_to_readings("negative padding", convolved, pad_readings(node, X.shape[2:], W.shape[2:]))]


TILE = 6
"""Largest size of a tile of outputs that Winograd's algorithm computes at once, along each axis."""


def _with_transforms(node: Node, products: T, X: T, W: T, pads: Pads) -> T:
    """Return the products of a convolution with the errors of algorithms that multiply transforms.

    An output then has roundings of inputs that only other outputs meet. Of narrow types, the transforms are computed in
    float. A number that is not finite, or near the largest one, makes all outputs infinite or NaN that are computed
    together: their error is infinite.

    Args:
        node: the node, a Conv or ConvTranspose.
        products: the sums of products (N, M, spatial sizes).
        X: the input (N, C, spatial sizes).
        W: the filters, as in the page of the operator.
        pads: the padding before and after each spatial axis, of a convolution with strides of 1.
    """
    if not (isinstance(products, Enclosure) and isinstance(X, Enclosure) and isinstance(W, Enclosure)):
        return products
    if products.dtype.kind not in "fV" or not products.value.size:
        return products
    kernel = W.shape[2:]
    wide = FLOAT if type_name(products.dtype) in NARROW else products.dtype
    limits = format_of(wide)
    is_plain = {*strides(node, len(kernel)), *dilations(node, len(kernel))} == {1}
    error: Array = np.zeros(())
    with np.errstate(all="ignore"):
        sums = W.magnitude.sum(axis=tuple(range(2, len(W.shape))))
        filters = sums.reshape(node.attributes.get("group", 1), -1, sums.shape[1])
        if node.op_type == "ConvTranspose":
            filters = np.swapaxes(filters, 1, 2)
        for form in forms_of("Conv", current_level()):
            if form == "tiles" and is_plain and max(kernel, default=1) >= 3:
                reached = _reach_of_tiles(kernel, X.magnitude, filters, pads)
            elif form == "transforms" and prod((*kernel, *X.shape[2:])) > 1:
                reached = _reach_of_image(extents(node, kernel), X.magnitude, filters, float(limits.largest))
            else:
                continue
            is_lost = ~(reached <= float(limits.largest))  # also NaN, of an infinity and a filter of zeros
            error = np.maximum(error, np.where(is_lost, np.inf, float(limits.unit_roundoff) * reached))
        error = np.broadcast_to(error, products.shape)
        total = np.where(np.isnan(products.value), products.error, products.error + error)
    # the transforms of a sum that overflows can be infinities of both signs
    overflows = None if products.overflows is None else products.overflows & ~np.isinf(error)
    return replace(products, error=total, overflows=overflows)


def _reach_of_tiles(kernel: Sequence[int], X: Array, filters: Array, pads: Pads) -> Array:
    """Return the error of Winograd's algorithm in units of roundoff: that of a sum over all inputs of a tile.

    Args:
        kernel: the sizes of the kernel.
        X: the magnitudes of the input (N, C, spatial sizes).
        filters: the sums of the magnitudes of each filter (groups, M / groups, C / groups).
        pads: the padding before and after each spatial axis.
    """
    near = pad_or_crop(X, [(low + TILE - 1, high + TILE - 1) for low, high in pads], 0.0)
    is_special = ~np.isfinite(near)
    near = np.where(is_special, 0.0, near)
    largest = near.max(initial=0.0) or 1.0
    near = (near / largest) ** 2
    for axis, size in enumerate(kernel, 2):
        near = sliding_window_view(near, size + 2 * (TILE - 1), axis).sum(axis=-1)
        if is_special.any():
            is_special = np.asarray(sliding_window_view(is_special, size + 2 * (TILE - 1), axis).any(axis=-1))
    near = np.where(is_special if is_special.any() else False, np.inf, np.sqrt(near) * largest)
    return ROUNDINGS["tile of a convolution"] * _filtered(near, filters)


def _reach_of_image(kernel: Sequence[int], X: Array, filters: Array, largest: float) -> Array:
    """Return the error of Fourier transforms in units of roundoff, which is relative to the largest input of a channel.

    All outputs of an image and a filter have one error. It is infinite if a transform can exceed the largest number,
    because all products are added up, also over the channels.

    Args:
        kernel: the sizes of the kernel with its gaps.
        X: the magnitudes of the input (N, C, spatial sizes).
        filters: the sums of the magnitudes of each filter (groups, M / groups, C / groups).
        largest: the largest number of the type that is computed.
    """
    axes = tuple(range(2, X.ndim))
    length = prod(size + extent - 1 for size, extent in zip(X.shape[2:], kernel, strict=True))
    roundings = ROUNDINGS["stage of a convolution"] * log2(length)
    reached = roundings * _filtered(X.max(axis=axes, keepdims=True, initial=0.0), filters)
    sums = X.sum(axis=axes, keepdims=True)
    transformed = length * _filtered(sums, filters)
    grouped = sums.reshape(len(X), len(filters), -1).max(axis=-1, initial=0.0)
    every = np.maximum(grouped[:, :, np.newaxis], filters.max(axis=-1, initial=0.0))
    is_finite = (transformed <= largest) & (every.reshape(transformed.shape) <= largest)
    return np.where(is_finite, reached, np.inf)


def _filtered(X: Array, filters: Array) -> Array:
    """Return magnitudes (N, C, spatial sizes), times those of filters, as sums over the channels (N, M, …)."""
    grouped = X.reshape(len(X), len(filters), filters.shape[2], -1)
    return np.asarray(np.matmul(filters, grouped)).reshape(len(X), -1, *X.shape[2:])


def _transposed_pads(
    node: Node, sizes: Sequence[int], kernel: Sequence[int], full: Sequence[int]
) -> tuple[str, list[Pads]]:
    """Return the readings of the padding of ConvTranspose, which is cut off, and why there are several.

    `output_shape` and `auto_pad` state its sum. Without enough elements the sum is negative.

    Raises:
        Unsupported: the page states two sizes of the output.
    """
    mode = node.attributes.get("auto_pad", "NOTSET")
    wanted = node.attributes.get("output_shape")
    if wanted is None and mode in ("NOTSET", "VALID"):
        return "", [explicit_pads(node, sizes, kernel)]
    if wanted is None:
        _require_one_size(node)
        wanted = [size * step for size, step in zip(sizes, strides(node, len(sizes)), strict=True)]
    totals = [size - result for size, result in zip(full, wanted[-len(full) :], strict=True)]
    if node.opset < 11 and any(total % 2 for total in totals):
        sides = (mode == "SAME_UPPER", mode != "SAME_UPPER")
        halves = (lambda total: total // 2, lambda total: int(total / 2))
        return "side of the odd padding", [_split(totals, side, halve) for side in sides for halve in halves]
    pads = [_split(totals, mode == "SAME_UPPER", halve) for halve in (lambda t: t // 2, lambda t: int(t / 2))]
    return "halves of a negative padding", pads[: 1 + (pads[0] != pads[1])]


def _require_one_size(node: Node) -> None:
    """Raise `Unsupported` for a ConvTranspose with `auto_pad` SAME whose size has two readings."""
    if any(node.attributes.get("output_padding", [])):
        raise Unsupported(
            "ConvTranspose with auto_pad SAME and output_padding: the page and onnx's shape inference state two sizes"
        )
    if node.opset < 11 and any(step != 1 for step in node.attributes.get("strides", [])):
        raise Unsupported(
            "ConvTranspose below opset 11 with auto_pad SAME and strides: the page states the size of the input, and "
            "onnx's shape inference the product with the strides"
        )


def _conv_transpose(node: Node, inputs: Sequence[T | Array | None]) -> list[T]:
    X = tensor(inputs[0])
    W = tensor(inputs[1])
    B = optional_tensor(inputs, 2)
    groups = node.attributes.get("group", 1)
    kernel = W.shape[2:]
    rank = len(W.shape) - 2
    steps = strides(node, rank)
    gaps = dilations(node, rank)
    added = list(node.attributes.get("output_padding", [0] * rank))
    full = [
        (size - 1) * step + extent + more
        for size, step, extent, more in zip(X.shape[2:], steps, extents(node, kernel), added, strict=True)
    ]
    silence, readings = _transposed_pads(node, X.shape[2:], kernel, full)

    def convolve(x: Array, w: Array, pads: Pads) -> Array:
        channels = w.shape[1]
        parts = w.reshape(groups, w.shape[0] // groups, channels, -1)
        total = np.zeros((x.shape[0], groups * channels, *full), dtype=x.dtype)
        flat = x.reshape(x.shape[0], groups, w.shape[0] // groups, -1)
        for number, place in enumerate(window_places(kernel, gaps, x.shape[2:], steps)):
            taps = np.swapaxes(parts[..., number], 1, 2)
            total[place] += portable.matmul(taps, flat).reshape(x.shape[0], groups * channels, *x.shape[2:])
        return pad_or_crop(total, [(-low, -high) for low, high in pads])

    count = W.shape[0] // groups * prod(kernel)

    def convolved(pads: Pads) -> T:
        whole = [(size - 1 - low, size - 1 - high) for size, (low, high) in zip(kernel, pads, strict=True)]
        products = X.dot(W, lambda x, w: convolve(x, w, pads), count)
        Y = _with_bias(_with_transforms(node, products, X, W, whole), B)
        is_special = ~np.isfinite(W.value)
        if is_special.any():  # a convolution of an input with zeros between its elements
            inside = convolve(np.ones(X.shape), is_special.astype(np.float64), pads)
            every = is_special.reshape(groups, W.shape[0] // groups, W.shape[1], -1).sum(axis=(1, 3))
            Y = Y.leave_open(inside < every.reshape(1, -1, *[1] * rank), "products of the padding")
        return Y

    return [leave_to_readings(silence, convolved, readings) if silence else convolved(readings[0])]


# Reductions


def reduced_axes(node: Node, inputs: Sequence[Any], rank: int) -> list[int] | None:
    """Return the axes that a node reduces, sorted and not negative; None if it reduces none."""
    given = node.attributes.get("axes", [])
    if len(inputs) > 1 and inputs[1] is not None:
        given = integers(inputs[1])
    if not given:
        return None if node.attributes.get("noop_with_empty_axes", 0) else list(range(rank))
    return sorted(axis % rank for axis in given)


def _reduce(node: Node, inputs: Sequence[T | Array | None], function: Callable[[T, list[int], bool], T]) -> list[T]:
    X = tensor(inputs[0])
    axes = reduced_axes(node, inputs, len(X.shape))
    if axes is None:  # the steps beside the reduction are those of sums of one element
        if node.op_type in ("ReduceSum", "ReduceMean"):
            return [X]
        return [function(X.moved(lambda x: x[..., np.newaxis]), [len(X.shape)], False)]
    return [function(X, axes, bool(node.attributes.get("keepdims", 1)))]


def _reduction(function: Callable[[Enclosure, list[int], bool], Enclosure]) -> NodeEnclosure:
    return lambda node, inputs: list(_reduce(node, inputs, function))


def _sum(node: Node, inputs: Sequence[T | Array | None]) -> list[T]:
    return _reduce(node, inputs, lambda X, axes, keep: X.add_up(axes, keepdims=keep))


def _mean(node: Node, inputs: Sequence[T | Array | None]) -> list[T]:
    return _reduce(node, inputs, lambda X, axes, keep: mean(X, axes, keepdims=keep))


def _sum_square(node: Node, inputs: Sequence[T | Array | None]) -> list[T]:
    return _reduce(node, inputs, lambda X, axes, keep: sum_of_squares(X, axes, keepdims=keep))


def _sum_of_magnitudes(node: Node, inputs: Sequence[T | Array | None]) -> list[T]:
    return _reduce(node, inputs, lambda X, axes, keep: absolute(X).sum(axes, keepdims=keep))


def mean(X: T, axes: Sequence[int], *, keepdims: bool = True) -> T:
    """Return the means along some axes: the sum divided by the count, or multiplied by its reciprocal."""
    return X.mean(axes, keepdims=keepdims)


def sum_of_squares(X: T, axes: Sequence[int], *, keepdims: bool = True) -> T:
    """Return the sums of the squares along some axes: squares of 0, and exact sums of exact squares, do not round."""

    def product(a: Array, b: Array) -> Array:
        return np.asarray(np.asarray(a * b).sum(axis=tuple(axes), keepdims=keepdims))

    return X.dot(X, product, prod(X.shape[axis] for axis in axes))


def _euclidean_norm(node: Node, inputs: Sequence[T | Array | None]) -> list[T]:
    def norm(X: T, axes: list[int], keepdims: bool) -> T:
        squares = sum_of_squares(X, axes, keepdims=keepdims)
        root = sqrt(squares)
        return admit(
            "ReduceL2",
            written=lambda: root,
            function=lambda: sqrt(squares.as_type(FLOAT)).with_dtype(X.dtype),
            scaled=lambda: X.scaled_norm(root, axes, keepdims=keepdims),
        )

    return _reduce(node, inputs, norm)


def _log_sum_exp(X: Enclosure, axes: list[int], keepdims: bool) -> Enclosure:
    if not all(X.shape[axis] for axis in axes):  # the sum of no elements is 0
        return log(X.sum(axes, keepdims=keepdims))
    largest = X.extreme(axes, largest=True, keepdims=True)
    is_infinite = np.isinf(largest.value)  # then the logarithm of the sum is this infinity, without a difference
    shift = replace(largest, value=np.where(is_infinite, 0.0, largest.value))
    with np.errstate(all="ignore"):
        shifted = log(exp(X - shift).sum(axes, keepdims=True)) + shift
        known = is_infinite & (largest.error == 0) & ~np.isnan(X.value).any(axis=tuple(axes), keepdims=True)
    # the function body of the schema computes exponentials in double without a difference
    is_extreme = (np.abs(largest.value) > DOUBLE_EXPONENTS) & (not is_strict())
    shifted = replace(
        shifted,
        value=np.where(known, largest.value, shifted.value),
        error=np.where(known, 0.0, shifted.error),
        overflows=None,
    )
    shifted = shifted.leave_open(is_extreme & ~known & np.isfinite(shifted.error), "overflow of an exponential")
    return shifted if keepdims else shifted.moved(lambda x: np.squeeze(x, tuple(axes)))


def accumulate(node: Node, axis: int, x: Array, cumulate: Callable[..., Array] = np.cumsum, start: int = 0) -> Array:
    """Return the sums, or products, of all elements up to each element, with `reverse` and `exclusive` of a node."""
    x = np.flip(x, axis) if node.attributes.get("reverse", 0) else x
    total = np.asarray(cumulate(x, axis=axis, dtype=x.dtype))
    if node.attributes.get("exclusive", 0):
        total = np.roll(total, 1, axis=axis)
        total[(slice(None),) * (axis % x.ndim) + (0,)] = start
    return np.flip(total, axis) if node.attributes.get("reverse", 0) else total


def _cumsum(node: Node, inputs: Sequence[T | Array | None]) -> list[T]:
    X = tensor(inputs[0])
    (axis,) = integers(inputs[1])
    if not X.value.size:
        return [X]
    return [X.add_terms(lambda x: accumulate(node, axis, x), X.shape[axis])]


def _range(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Enclose Range of floating-point numbers: start + i delta, or the sum of start and i times delta.

    `stash_type` states for a narrow type that the numbers are computed in float and rounded once.
    """
    start, limit, delta = (tensor(given) for given in inputs)
    is_stashed = type_name(start.dtype) in NARROW and node.attributes.get("stash_type", 1) and node.opset >= 27
    wide = FLOAT if is_stashed else start.dtype
    u = float(format_of(wide).unit_roundoff)
    if not (start.is_exact and limit.is_exact and delta.is_exact):
        raise Unsupported("rounding of an input decides the number of elements of Range")
    if not np.isfinite([start.value.item(), limit.value.item(), delta.value.item()]).all() or not delta.value.item():
        raise Unsupported("Range with an operand that is not finite, or with a delta of 0")
    quotient = (limit.value.item() - start.value.item()) / delta.value.item()
    counts = {max(0, ceil(quotient * (1 + sign * ROUNDINGS["length of Range"] * u))) for sign in (-1, 0, 1)}
    if len(counts) > 1 and quotient != int(quotient):
        raise Unsupported("rounding decides the number of elements of Range")
    i = np.arange(max(0, ceil(quotient)), dtype=np.float64)
    first = start.with_dtype(wide)
    step = delta.with_dtype(wide)

    def sums() -> Enclosure:
        value = first.value + i * step.value
        magnitudes = np.abs(first.value) + i * np.abs(step.value)
        added = first.from_terms(value, magnitudes, np.zeros_like(i), max(1, i.size - 1))
        return replace(added, error=np.where(i == 0, 0.0, added.error))

    places = Enclosure.exact(i, wide)
    result = admit("Range", written=lambda: first + places * step, function=sums)
    return [replace(result, error=np.where(i == 0, 0.0, result.error)).as_type(start.dtype)]


FORMULAS: Mapping[str, NodeFormula] = {
    "MatMul": _matmul,
    "Gemm": _gemm,
    "Conv": _conv,
    "ConvTranspose": _conv_transpose,
    "ReduceSum": _sum,
    "ReduceMean": _mean,
    "ReduceSumSquare": _sum_square,
    "ReduceL1": _sum_of_magnitudes,
    "ReduceL2": _euclidean_norm,
    "CumSum": _cumsum,
}
"""Formulas of every kind of tensor."""

LINEAR_ENCLOSURES: Mapping[str, NodeEnclosure] = {
    **FORMULAS,
    "Einsum": _einsum,
    "ReduceLogSum": _reduction(lambda X, axes, keep: log(X.sum(axes, keepdims=keep))),
    "ReduceLogSumExp": _reduction(_log_sum_exp),
    "Range": _range,
}
