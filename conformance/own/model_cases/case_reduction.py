"""Smaller sizes for parts of models with large tensors.

All sizes of a part are replaced by a function of the size, so equal sizes stay equal. A small size stays. A larger size
becomes the smallest number that has the same remainder modulo a base and is larger than the sizes before it, so
kernels still have a remainder of their blocks. A product or a sum of other sizes of the part stays a product or a sum
of them: 768 channels stay 12 heads of 64, and a Split stays a Split.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from math import prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from conformance.exact.models.graphs import copy_of
from conformance.own.model_cases.typed_values import TypedValue, infer

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping

    import onnx

    from conformance.own.model_cases.parts import Part


class Step(NamedTuple):
    """A way to reduce sizes.

    Attributes:
        base: a power of two; a size below twice the base stays.
        largest_factor: the largest factor between two sizes that is kept.
        keeps_products: whether a product or a sum of sizes that all stay is kept, too. It may be a coincidence.
        only_largest: whether all sizes but the largest stay, such as those that a kernel and pads determine.
    """

    base: int
    largest_factor: int
    keeps_products: bool = True
    only_largest: bool = False


STEPS = (
    Step(16, 8),
    Step(8, 8),
    Step(8, 4),
    Step(8, 4, keeps_products=False),
    Step(4, 4),
    Step(4, 4, keeps_products=False),
    Step(2, 4),
    Step(2, 4, keeps_products=False),
)
"""The reductions that are tried in turn; the first that is small enough counts."""

LAST_STEPS = (Step(16, 8, only_largest=True), Step(4, 4, only_largest=True))
"""The reductions that are tried after all others."""

EXACT_OPERATORS = frozenset(("Attention", "LinearAttention", "RotaryEmbedding"))
"""Operators whose sizes are products of attributes and other sizes, which shape inference does not check."""

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
"""The number of gates of a recurrent operator, which is a factor of sizes that shape inference does not check."""

MIN_SUMMAND = 8
"""A sum with a summand up to this number is taken for a coincidence."""

SIZE_ATTRIBUTES = frozenset(
    ("group", "hidden_size", "output_shape", "split", "shape", "size", "starts", "ends", "num_groups")
)
"""Integer attributes that can be sizes."""


def reduced_sizes(sizes: Iterable[int], step: Step, fixed: Container[int] = ()) -> dict[int, int]:
    """Return the new size for each size.

    Args:
        sizes: the sizes of a part.
        step: the way to reduce them.
        fixed: sizes that stay, such as those of a kernel.
    """
    found: dict[int, int] = {}
    largest = 0
    for size in sorted({*sizes}):
        if size < 2 * step.base or size in fixed:
            found[size] = size
        else:
            composed = min((each for each in _composed(size, found, step) if each > largest), default=None)
            found[size] = composed or next(
                number for number in count(max(largest + 1, step.base)) if number % step.base == size % step.base
            )
        largest = max(largest, found[size])
    return found


def _composed(size: int, found: Mapping[int, int], step: Step) -> Iterator[int]:
    """Yield the products of two or three new sizes, and the sums of two, that a size can become."""
    usable = {old: new for old, new in found.items() if old > 1}
    for first in usable:
        if size % first:
            continue
        factor = size // first
        products = [(first, second, factor // second) for second in usable if factor % second == 0]
        for each in ((first, factor), *products):
            inner = [usable.get(part, part) for part in each]
            is_known = all(part in usable or part == 1 or part <= step.largest_factor for part in each)
            if is_known and (step.keeps_products or inner != [*each]):
                yield prod(inner)
    for first, new in usable.items():
        second = size - first
        is_changed = (new, found.get(second)) != (first, second)
        if first > MIN_SUMMAND and second in usable and second >= first and (step.keeps_products or is_changed):
            yield new + usable[second]


def sizes_of(part: Part) -> set[int]:
    """Return the sizes in a part: those of all values, and numbers that determine shapes."""
    shapes = [*(value.shape for value in part.operands.values()), *part.shapes.values()]
    found = {size for shape in shapes for size in shape if size}
    largest = max(found, default=0)
    for name in part.kept:
        array = part.operands[name].array
        if array is not None and array.dtype.kind in "iu":
            found |= {int(each) for each in array.ravel() if 0 < each <= largest}
    for node in part.nodes:
        for attribute in node.attribute:
            if attribute.name in SIZE_ATTRIBUTES:
                found |= {each for each in (attribute.i, *attribute.ints) if 0 < each <= largest}
    return found


def reduced_part(part: Part, step: Step) -> Part | None:
    """Return a part with smaller sizes; None if the nodes do not accept them."""
    if not step.keeps_products and any(node.op_type in EXACT_OPERATORS for node in part.nodes):
        return None
    attributes = (each for node in part.nodes for each in node.attribute)
    kernels = {size for each in attributes if each.name == "kernel_shape" for size in each.ints}
    every = sizes_of(part)
    sizes = reduced_sizes(every, step, every - {max(every)} if step.only_largest and every else kernels)
    operands = {name: _reduced(value, sizes, is_kept=name in part.kept) for name, value in part.operands.items()}
    nodes = tuple(_with_sizes(node, sizes) for node in part.nodes)
    names = [name for node in nodes for name in node.output]
    results = infer(part.model, nodes, operands)
    shapes = {name: result.shape for name, result in zip(names, results, strict=True) if name and result is not None}
    if not part.shapes.keys() <= shapes.keys():
        return None
    shapes = {name: shape for name, shape in shapes.items() if name in part.shapes}
    if any(len(shape) != len(part.shapes[name]) for name, shape in shapes.items()):
        return None
    if any(0 in shape and 0 not in part.shapes[name] for name, shape in shapes.items()):
        return None
    if not all(_fits_gates(node, operands) for node in nodes if node.op_type in GATES):
        return None
    return replace(part, nodes=nodes, operands=operands, shapes=shapes)


def _fits_gates(node: onnx.NodeProto, operands: Mapping[str, TypedValue]) -> bool:
    """Return whether the sizes of a recurrent node fit its number of gates and its hidden size."""
    gates = GATES[node.op_type]
    X, W, R, *others = (operands[name].shape if name in operands else None for name in node.input)
    hidden = next((each.i for each in node.attribute if each.name == "hidden_size"), 0)
    bias = others[0] if others else None
    return (
        X is not None
        and W is not None
        and R is not None
        and W[1:] == (gates * hidden, X[-1])
        and R[1:] == (gates * hidden, hidden)
        and (bias is None or bias[1:] == (2 * gates * hidden,))
    )


def _reduced(value: TypedValue, sizes: Mapping[int, int], *, is_kept: bool) -> TypedValue:
    """Return a value with smaller sizes and the first of its elements; those that determine shapes become smaller."""
    shape = tuple(sizes.get(size, size) for size in value.shape)
    array = value.array
    if array is None:
        return replace(value, shape=shape)
    array = np.asarray(array[tuple(slice(0, size) for size in shape)])
    if is_kept and array.dtype.kind in "iu":
        array = np.array([sizes.get(int(each), int(each)) for each in array.ravel()], array.dtype).reshape(shape)
    return replace(value, shape=shape, array=array)


def _with_sizes(node: onnx.NodeProto, sizes: Mapping[int, int]) -> onnx.NodeProto:
    copy = copy_of(node)
    for attribute in copy.attribute:
        if attribute.name in SIZE_ATTRIBUTES and attribute.HasField("i"):
            attribute.i = sizes.get(attribute.i, attribute.i)
        if attribute.name in SIZE_ATTRIBUTES and attribute.ints:
            attribute.ints[:] = [sizes.get(each, each) for each in attribute.ints]
    return copy
