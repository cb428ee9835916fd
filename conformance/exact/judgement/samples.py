"""Samples of large tensors: the elements, or the rows, of a node's tensors that are judged.

An elementwise operator is judged on single elements. Another operator is judged on slices along axes whose indices do
not influence each other: the rows of a Softmax, the rows and columns of a matrix product, the channels of a Conv. The
node is evaluated on the slices of its operands, and compared with the slices of its outputs.

A sample is pseudo-random with a fixed seed. It includes extremes, ties, NaN, infinities and subnormals.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.base.verdicts import Unsupported
from conformance.exact.models.arrays import dtype_of, type_name
from conformance.exact.models.graphs import MAIN_DOMAINS, copy_of, softmax_default_axis
from conformance.exact.reference.formulas.elementwise import ELEMENTWISE_ENCLOSURES
from conformance.exact.reference.formulas.linear import reduced_axes
from conformance.exact.reference.numbers.enclosure import Enclosure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import onnx

    from conformance.exact.models.arrays import Array
    from conformance.exact.reference.node_enclosures import NodeScope
    from conformance.exact.reference.nodes import Node
    from conformance.exact.reference.numbers.enclosure import Tensor

SAMPLED_ABOVE = 2**21
"""Number of elements of an operand or an output above which an audit judges a sample."""

SAMPLE_SIZE = 2**18
"""Number of pseudo-random elements among which ties are found."""

SAMPLE_SHARE = 8
"""A sample of elements has one pseudo-random element for so many elements of the limit above which it is taken."""

SPECIAL_SHARE = 64
"""A sample of elements has at most one special element of a kind for so many elements of the limit."""

CLIPS_SAMPLED_ABOVE = 2**24
"""Number of elements of an output of Clip above which an audit judges a sample: its bounds are numbers of double."""

MAX_SPECIAL_SLICES = 4
"""Maximum number of elements of one kind of special values whose slices are added to a sample of slices."""


@dataclass(frozen=True)
class IndependentAxis:
    """An axis whose indices do not influence each other.

    Attributes:
        inputs: the axis of each operand that has it, by the position of the operand.
        outputs: the axis of each output, by the position of the output.
        attribute: the attribute that has the number of indices, such as `group`; empty if none has.
        inner: by position of an operand, the number of its indices for one index of the axis, if it is not 1.
    """

    inputs: Mapping[int, int]
    outputs: Mapping[int, int]
    attribute: str = ""
    inner: Mapping[int, int] = field(default_factory=dict)


@dataclass
class Sample:
    """The part of a node that is judged.

    Attributes:
        node: the node, with attributes for the sampled operands.
        operands: the operands by name.
        outputs: the outputs by name.
        elements: the positions of the sampled elements in the flat output; None for a sample of slices.
        indices: the sampled indices by the position of the output and the axis.
    """

    node: onnx.NodeProto
    operands: dict[str, Tensor]
    outputs: dict[str, Array]
    elements: Array | None = None
    indices: dict[tuple[int, int], Array] = field(default_factory=dict)

    def locate(self, number: int, place: int, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the index, in the whole output, of an element of a sampled output.

        Args:
            number: the position of the output.
            place: the position of the element in the flat sampled output.
            shape: the shape of the whole output.
        """
        if not shape:
            return ()
        if self.elements is not None:
            return tuple(int(part) for part in np.unravel_index(int(self.elements[place]), shape))
        sampled = tuple(len(self.indices.get((number, axis), range(size))) for axis, size in enumerate(shape))
        parts = np.unravel_index(place, sampled)
        return tuple(
            int(self.indices[number, axis][part]) if (number, axis) in self.indices else int(part)
            for axis, part in enumerate(parts)
        )


@dataclass(frozen=True)
class DeferredTensor:
    """A large result of constants, such as dequantized weights, that is computed only where a sample takes it.

    Attributes:
        node: the node that makes the tensor.
        operands: its operands by position.
        compute: returns the tensor from the operands, or from slices of them.
        dtype: the type of the tensor.
        shape: its shape.
    """

    node: Node
    operands: Sequence[Tensor]
    compute: Callable[[Sequence[Tensor]], Tensor]
    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    def taken(self, chosen: Array, place: int) -> DeferredTensor | None:
        """Return the tensor at some indices of an axis; None if they need the whole tensor."""
        axes = independent_axes(self.node, self.operands, [values_of(self)])
        axis = next((each for each in axes if each.outputs[0] == place and not each.attribute), None)
        if axis is None:
            return None
        operands = [
            _take(each, chosen, axis.inputs[number], axis.inner.get(number, 1)) if number in axis.inputs else each
            for number, each in enumerate(self.operands)
        ]
        shape = (*self.shape[:place], len(chosen), *self.shape[place + 1 :])
        return replace(self, operands=operands, shape=shape)

    def computed(self) -> Tensor:
        """Return the tensor."""
        return self.compute(self.operands)


def deferred_tensor(
    node: Node, operands: Sequence[Tensor], compute: Callable[[Sequence[Tensor]], Tensor], limit: int
) -> DeferredTensor | None:
    """Return the result of a node that converts a large constant; None for another node.

    Args:
        node: the node.
        operands: its operands, which are known.
        compute: returns the result from the operands, or from slices of them.
        limit: the number of elements of an operand above which a sample is taken.
    """
    first = operands[0] if operands else None
    if not isinstance(first, np.ndarray) or first.size <= limit or node.domain not in MAIN_DOMAINS:
        return None
    if any(isinstance(each, Enclosure | DeferredTensor) for each in operands):
        return None
    if node.op_type == "Cast":
        dtype = dtype_of(node.attributes["to"])
    elif node.op_type == "DequantizeLinear":
        given = node.attributes.get("output_dtype", 0)
        scale = operands[1]
        assert scale is not None
        dtype = dtype_of(given) if given else scale.dtype
    else:
        return None
    return DeferredTensor(node, operands, compute, dtype, first.shape)


def computed(tensor: Any) -> Any:
    """Return a tensor that is deferred as its enclosure, and another value as it is."""
    return tensor.computed() if isinstance(tensor, DeferredTensor) else tensor


def take_sample(
    proto: onnx.NodeProto, scope: NodeScope, known: Mapping[str, Tensor], outputs: Mapping[str, Array], limit: int
) -> Sample | None:
    """Return a sample of a node with large tensors; None if all elements are judged.

    Args:
        proto: the node.
        scope: the scope of the node.
        known: its operands by name.
        outputs: its outputs by name; all of them must be known.
        limit: the number of elements of an operand or an output above which a sample is taken.
    """
    if proto.domain not in MAIN_DOMAINS or any(name not in outputs for name in proto.output if name):
        return None
    sizes = [math.prod(np.shape(values_of(tensor))) for tensor in (*known.values(), *outputs.values())]
    if max(sizes, default=0) <= limit:
        return None
    node = scope.node(proto)
    elements = _sample_elements(node, known, outputs, limit)
    if elements is not None:
        sampled = {name: _at(tensor, elements) for name, tensor in known.items()}
        return Sample(proto, sampled, {n: np.asarray(a.reshape(-1)[elements]) for n, a in outputs.items()}, elements)
    try:
        return _sample_slices(proto, node, known, outputs, limit)
    except (Unsupported, ValueError, IndexError, TypeError, AttributeError):
        return None  # the evaluation of the whole node reports what is wrong


def values_of(tensor: Tensor | DeferredTensor) -> Array:
    """Return the values of a tensor, or the middles of its enclosure; those of a deferred tensor are not computed."""
    if isinstance(tensor, DeferredTensor):
        return np.broadcast_to(np.zeros((), tensor.dtype), tensor.shape)
    return tensor.value if isinstance(tensor, Enclosure) else np.asarray(tensor)


def _sample_elements(node: Node, known: Mapping[str, Tensor], outputs: Mapping[str, Array], limit: int) -> Array | None:
    """Return the flat positions of the sampled elements of an elementwise operator with operands of one shape."""
    if len(outputs) != 1:
        return None
    (output,) = outputs.values()
    is_clip = node.op_type == "Clip" and output.size > CLIPS_SAMPLED_ABOVE
    if not is_clip and node.op_type not in ELEMENTWISE_ENCLOSURES:
        return None
    shapes = {np.shape(tensor) if isinstance(tensor, np.ndarray) else None for tensor in known.values()}
    if shapes - {output.shape, (), (1,)}:
        return None
    places = [np.random.default_rng(0).integers(0, output.size, max(1, limit // SAMPLE_SHARE))]
    for array in (*known.values(), output):
        if isinstance(array, np.ndarray) and array.shape == output.shape:
            places += special_places(array, max(1, limit // SPECIAL_SHARE))
    return _distinct(places, output.size)


def _distinct(places: Iterable[Array], count: int) -> Array:
    """Return the distinct positions below a number, in order, without sorting them."""
    is_chosen = np.zeros(count, dtype=bool)
    for each in places:
        is_chosen[each] = True
    return np.flatnonzero(is_chosen)


def _at(tensor: Tensor, places: Array) -> Tensor:
    if isinstance(tensor, np.ndarray) and tensor.size > 1:
        return np.asarray(tensor.reshape(-1)[places])
    return tensor


def special_places(array: Array, count: int) -> Iterator[Array]:
    """Yield flat positions of the extremes, of ties, and of NaN, infinities and subnormals.

    Elements that are equal to an extreme are ties; so are equal elements of a pseudo-random sample.

    Args:
        array: the tensor.
        count: the maximum number of positions of each kind.
    """
    if not array.size or type_name(array.dtype) not in _NUMBERS:
        return
    flat: Any = array.reshape(-1)
    found: list[list[Array]] = [[] for _ in range(4)]
    extremes: list[tuple[float, int]] = []
    for start in range(0, flat.size, _BLOCK):  # so that a large tensor is not copied as a whole
        block = flat[start : start + _BLOCK]
        block = block.astype(np.float32) if block.dtype.kind == "V" else block
        if block.dtype.kind != "f":
            extremes += [(float(block[place]), start + int(place)) for place in _ends(block)]
            continue
        is_finite = np.isfinite(block)
        extremes += [
            (float(block[place]), start + int(place))
            for place in _ends(np.where(is_finite, block, block.dtype.type(0)))
            if is_finite[place]
        ]
        subnormal = (block != 0) & (np.abs(block) < np.finfo(block.dtype).smallest_normal)
        for kind, is_special in enumerate((np.isnan(block), block == np.inf, block == -np.inf, subnormal)):
            found[kind].append(np.flatnonzero(is_special)[:count] + start)
    places = [min(extremes, key=lambda pair: (sign * pair[0], pair[1]))[1] for sign in (-1, 1) if extremes]
    for place in dict.fromkeys(places):
        yield np.array([place])
        yield _equal_places(flat, flat[place], count)
    yield from (np.concatenate(places)[:count] for places in found if places)
    if flat.size > SAMPLE_SIZE:
        drawn = _distinct([np.random.default_rng(1).integers(0, flat.size, SAMPLE_SIZE)], flat.size)
    else:
        drawn = np.arange(flat.size)
    order = np.argsort(flat[drawn], kind="stable")
    ordered = flat[drawn][order]
    equal = np.flatnonzero(ordered[1:] == ordered[:-1])[: max(1, count // 2)]
    yield np.concatenate([drawn[order][equal], drawn[order][equal + 1]])


_BLOCK = 2**22

_NUMBERS = {"float", "double", "float16", "bfloat16"} | {f"{u}int{n}" for u in ("", "u") for n in (8, 16, 32, 64)}


def _equal_places(flat: Array, element: Any, count: int) -> Array:
    """Return the first positions of an element."""
    found: list[Array] = []
    for start in range(0, flat.size, _BLOCK):
        found.append(np.flatnonzero(flat[start : start + _BLOCK] == element)[:count] + start)
        if sum(places.size for places in found) >= count:
            break
    return np.concatenate(found)[:count]


def _ends(block: Array) -> tuple[Any, Any]:
    return np.argmax(block), np.argmin(block)


def _sample_slices(
    proto: onnx.NodeProto, node: Node, known: Mapping[str, Tensor], outputs: Mapping[str, Array], limit: int
) -> Sample | None:
    """Return a sample of slices along one axis, or along several; None if the operator has no independent axis."""
    operands: list[Tensor] = [known[name] if name else None for name in node.inputs]
    results = [outputs[name] if name else None for name in node.outputs]
    axes = list(independent_axes(node, operands, results))
    changed = copy_of(proto)
    sample = Sample(changed, dict(known), dict(outputs))
    while True:
        tensors: list[tuple[int, str, int, Tensor]] = [
            (values_of(tensor).size, kind, number, tensor)
            for kind, group in (("inputs", operands), ("outputs", results))
            for number, tensor in enumerate(group)
            if tensor is not None
        ]
        large = [
            entry for entry in tensors if entry[0] > limit and any(entry[2] in getattr(axis, entry[1]) for axis in axes)
        ]
        if not large:
            break
        size, kind, largest, _ = max(large, key=lambda entry: entry[0])
        useful = [axis for axis in axes if largest in getattr(axis, kind)]
        axis = max(useful, key=lambda each: _count(each, operands, results))
        axes.remove(axis)
        count = _count(axis, operands, results)
        chosen = _choose_indices(axis, count, max(1, count * limit // (2 * size)), operands, results)
        for number, place in axis.inputs.items():
            operands[number] = _take(operands[number], chosen, place, axis.inner.get(number, 1))
        for number, place in axis.outputs.items():
            whole = results[number]
            if whole is not None:
                results[number] = np.take(whole, chosen, place)
                sample.indices[number, place] = chosen
        if axis.attribute:
            for attribute in changed.attribute:
                if attribute.name == axis.attribute:
                    attribute.i = len(chosen)
    if not sample.indices:
        return None
    sample.operands.update((name, operands[number]) for number, name in enumerate(node.inputs) if name)
    sample.outputs.update(
        (name, result) for name, result in zip(node.outputs, results, strict=True) if name and result is not None
    )
    return sample


def _count(axis: IndependentAxis, operands: Sequence[Tensor], results: Sequence[Array | None]) -> int:
    """Return the number of indices of an axis.

    Raises:
        ValueError: an operand and an output differ in it, so that the output has a wrong shape.
    """
    sizes = {
        values_of(operands[number]).shape[place] // axis.inner.get(number, 1) for number, place in axis.inputs.items()
    }
    sizes |= {result.shape[place] for number, place in axis.outputs.items() if (result := results[number]) is not None}
    (size,) = sizes
    return int(size)


def _choose_indices(
    axis: IndependentAxis, count: int, wanted: int, operands: Sequence[Tensor], results: Sequence[Array | None]
) -> Array:
    """Return the sampled indices of an axis, in order: pseudo-random ones, and those of special values."""
    found = [np.random.default_rng(0).permutation(count)[:wanted]]
    for group, places in ((operands, axis.inputs), (results, axis.outputs)):
        for number, place in places.items():
            array = group[number]
            if isinstance(array, np.ndarray):
                inner = axis.inner.get(number, 1) if group is operands else 1
                found += [
                    np.unravel_index(special, array.shape)[place] // inner
                    for special in special_places(array, MAX_SPECIAL_SLICES)
                    if special.size
                ]
    return _distinct(found, count)


def _take(tensor: Any, chosen: Array, axis: int, inner: int) -> Any:
    if inner != 1:
        chosen = (chosen[:, None] * inner + np.arange(inner)).reshape(-1)
    if isinstance(tensor, DeferredTensor):
        tensor = tensor.taken(chosen, axis) or tensor.computed()
        if isinstance(tensor, DeferredTensor):
            return tensor
    if isinstance(tensor, Enclosure):
        return tensor.moved(lambda part: np.take(part, chosen, axis))
    return None if tensor is None else np.take(tensor, chosen, axis)


# The independent axes of each operator


def independent_axes(
    node: Node, operands: Sequence[Tensor], results: Sequence[Array | None]
) -> Iterator[IndependentAxis]:
    """Yield the axes of a node along which it can be judged in part.

    Args:
        node: the node.
        operands: its operands.
        results: its outputs.
    """
    find = _AXES.get(node.op_type)
    if find is not None and (len(results) == 1 or node.op_type in ("TopK", "LayerNormalization")):
        shapes = [None if tensor is None else values_of(tensor).shape for tensor in operands]
        yield from find(_Shapes(node, operands, shapes, [None if each is None else each.shape for each in results]))


@dataclass(frozen=True)
class _Shapes:
    """A node with the shapes of its operands and outputs; None for one that is left out."""

    node: Node
    operands: Sequence[Tensor]
    inputs: Sequence[Any]
    outputs: Sequence[Any]


def _aligned_axes(shapes: Sequence[Any], rank: int, axis: int, size: int) -> dict[int, int]:
    """Return the axis of each operand that broadcasting aligns with an axis; an operand of size 1 there has none."""
    places = {number: axis - rank + len(shape) for number, shape in enumerate(shapes) if shape is not None}
    return {number: place for number, place in places.items() if place >= 0 and shapes[number][place] == size != 1}


def _elementwise(given: _Shapes) -> Iterator[IndependentAxis]:
    """Yield all axes; an operand that is broadcast along an axis stays whole."""
    rank = len(given.outputs[0])
    if "axis" in given.node.attributes and given.node.op_type in ("Add", "Sub", "Mul", "Div"):
        return  # broadcasting below opset 7
    for axis, size in enumerate(given.outputs[0]):
        yield IndependentAxis(_aligned_axes(given.inputs, rank, axis, size), {0: axis})


def _along(is_independent: Callable[[Node, int], Sequence[int]]) -> Any:
    """Return the axes of an operator whose first operand and whose outputs have one shape, or 1 along other axes."""

    def find(given: _Shapes) -> Iterator[IndependentAxis]:
        first = given.inputs[0]
        has_parameters = given.node.op_type in ("LayerNormalization", "RMSNormalization")
        for axis in is_independent(given.node, len(first)):
            inputs = {0: axis}
            if has_parameters:  # the parameters are broadcast to the first operand
                inputs |= _aligned_axes(given.inputs, len(first), axis, first[axis])
            yield IndependentAxis(inputs, {n: axis for n, shape in enumerate(given.outputs) if shape is not None})

    return find


def _softmax_axes(node: Node, rank: int) -> list[int]:
    axis = node.attributes.get("axis", softmax_default_axis(node.opset)) % rank
    return [each for each in range(rank) if each < axis or (node.opset >= 13 and each > axis)]


def _other_axes(node: Node, rank: int) -> list[int]:
    axis = node.attributes.get("axis", -1) % rank
    return [each for each in range(rank) if each != axis]


def _leading_axes(node: Node, rank: int) -> range:
    return range(node.attributes.get("axis", -1) % rank)


def _reduction(given: _Shapes) -> Iterator[IndependentAxis]:
    rank = len(given.inputs[0])
    if given.node.op_type in ("ArgMax", "ArgMin"):
        reduced: list[int] | None = [given.node.attributes.get("axis", 0) % rank]
    else:
        reduced = reduced_axes(given.node, given.operands, rank)
    kept = [axis for axis in range(rank) if axis not in (reduced or [])]
    has_all = bool(given.node.attributes.get("keepdims", 1))
    for number, axis in enumerate(kept):
        yield IndependentAxis({0: axis}, {0: axis if has_all else number})


def _matmul(given: _Shapes) -> Iterator[IndependentAxis]:
    A = given.inputs[0]
    B = given.inputs[1]
    rank = len(given.outputs[0])
    if len(A) < 2 or len(B) < 2:
        return
    yield IndependentAxis({0: len(A) - 2}, {0: rank - 2})
    yield IndependentAxis({1: len(B) - 1}, {0: rank - 1})
    for axis in range(rank - 2):
        yield IndependentAxis(_aligned_axes((A, B), rank, axis, given.outputs[0][axis]), {0: axis})


def _gemm(given: _Shapes) -> Iterator[IndependentAxis]:
    for axis, flag in ((0, "transA"), (1, "transB")):
        own = axis ^ bool(given.node.attributes.get(flag, 0))
        third = _aligned_axes([None, None, *given.inputs[2:3]], 2, axis, given.outputs[0][axis])
        yield IndependentAxis({axis: own, **third}, {0: axis})


def _conv(given: _Shapes) -> Iterator[IndependentAxis]:
    X = given.inputs[0]
    W = given.inputs[1]
    bias = {2: 0} if len(given.inputs) > 2 and given.inputs[2] is not None else {}
    groups = given.node.attributes.get("group", 1)
    yield IndependentAxis({0: 0}, {0: 0})
    if groups == 1:
        yield IndependentAxis({1: 0 if given.node.op_type == "Conv" else 1, **bias}, {0: 1})
    elif W[0] == groups and (given.node.op_type == "Conv" or W[1] == 1):  # one output channel for each group
        yield IndependentAxis({0: 1, 1: 0, **bias}, {0: 1}, "group", {0: X[1] // groups})


def _dequantization(given: _Shapes) -> Iterator[IndependentAxis]:
    """Yield the axes of DequantizeLinear, except for the axis of blocks."""
    X = given.inputs[0]
    scale = given.inputs[1]
    own = given.node.attributes.get("axis", 1) % max(len(X), 1)
    parameters = [number for number in range(1, len(given.inputs)) if given.inputs[number] is not None]
    for axis in range(len(X)):
        if len(scale) == len(X) > 1:
            if axis != own:
                yield IndependentAxis({0: axis, **dict.fromkeys(parameters, axis)}, {0: axis})
        elif math.prod(scale) != 1 and axis == own:
            yield IndependentAxis({0: axis, **dict.fromkeys(parameters, 0)}, {0: axis})
        else:
            yield IndependentAxis({0: axis}, {0: axis})


def _pooling_axes(node: Node, _: int) -> Sequence[int]:
    """Return the batch and the channel; none for a MaxPool with indices, which count the elements of all slices."""
    return () if len(node.outputs) > 1 and node.outputs[1] else (0, 1)


def _per_channel(given: _Shapes) -> Iterator[IndependentAxis]:
    """Yield the axes of normalizations with parameters for each channel."""
    yield IndependentAxis({0: 0}, {0: 0})
    yield IndependentAxis({0: 1, **dict.fromkeys(range(1, len(given.inputs)), 0)}, {0: 1})
    if given.node.op_type == "BatchNormalization":
        for axis in range(2, len(given.inputs[0])):
            yield IndependentAxis({0: axis}, {0: axis})


_AXES: Mapping[str, Any] = {
    **dict.fromkeys(ELEMENTWISE_ENCLOSURES, _elementwise),
    **dict.fromkeys(("Softmax", "LogSoftmax"), _along(_softmax_axes)),
    **dict.fromkeys(("LayerNormalization", "RMSNormalization"), _along(_leading_axes)),
    **dict.fromkeys(("TopK", "LpNormalization"), _along(_other_axes)),
    **dict.fromkeys(
        ("ReduceSum", "ReduceMean", "ReduceSumSquare", "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp"),
        _reduction,
    ),
    **dict.fromkeys(("ReduceMax", "ReduceMin", "ArgMax", "ArgMin"), _reduction),
    **dict.fromkeys(("MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool"), _along(_pooling_axes)),
    "DequantizeLinear": _dequantization,
    "Cast": _elementwise,
    "GroupNormalization": _along(lambda *_: (0,)),
    "MatMul": _matmul,
    "Gemm": _gemm,
    **dict.fromkeys(("Conv", "ConvTranspose"), _conv),
    **dict.fromkeys(("BatchNormalization", "InstanceNormalization"), _per_channel),
}
"""For each operator, the function that yields its independent axes from the shapes of its operands and outputs."""
