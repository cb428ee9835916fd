"""Sizes of the open dimensions of a model's inputs, chosen so that no tensor of the model is empty.

Size 2 is enough for most models, but a network for images may reduce an image of 2x2 to nothing. Candidates are
therefore tried in a fixed order: size 2, then common sizes of images and sequences, then ever larger sizes. The first
candidate is chosen for which onnx's shape inference finds neither a contradiction nor an empty tensor.

Dimensions of one name have one size. A name such as `past + 1` or `past + length` is a sum.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

import onnx
from onnx import helper

from conformance.exact.models.graphs import constant_names, infer_shapes, is_operator
from conformance.exact.models.input_files import DeclaredInput, required_inputs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

DEFAULT_SIZE = 2
"""Size of an open dimension if a model accepts it."""

IMAGES = ((32, 32), (64, 64), (48, 192), (224, 224), (320, 320), (640, 640))
"""Heights and widths of images that are tried."""

SEQUENCES = (16, 64, 128, 512, 2048)
"""Lengths of sequences that are tried."""

GROWING = tuple(2**power for power in range(2, 11))
"""Sizes of all open dimensions that are tried last."""

MAX_INPUT_ELEMENTS = 2**24
"""Maximum number of elements of an input with chosen sizes."""

_WITH_WEIGHTS = ("Conv", "ConvInteger")
_WINDOWS = (*_WITH_WEIGHTS, "MaxPool", "AveragePool", "LpPool")
"""Operators whose output is empty if their window is larger than their input."""

MAX_KEPT_ELEMENTS = 1024
"""Number of elements of a constant up to which shape inference may need its values."""

_SUM = re.compile(r"\s*\+\s*")

Shapes = dict[str, tuple[int, ...]]
"""Shapes of inputs by name."""


def choose_sizes(model: onnx.ModelProto, given: Mapping[str, tuple[int, ...]]) -> Shapes:
    """Return shapes of the inputs that have open dimensions.

    Args:
        model: the model.
        given: the shapes of inputs, and the sizes of named dimensions, by name. They stay as they are.
    """
    values = [
        value
        for value in required_inputs(model.graph)
        if value.name not in given and None in (DeclaredInput.of(value).shape or ())
    ]
    open_dimensions = [
        size
        for value in values
        for size, known in zip(value.type.tensor_type.shape.dim, DeclaredInput.of(value).shape or (), strict=True)
        if known is None and size.dim_param not in given
    ]
    candidates = list(_candidates(values, given)) if open_dimensions else [_shapes(values, given, _default_size)]
    if len(candidates) == 1:
        return candidates[0]
    skeleton = _without_large_constants(model)
    fallback: Shapes | None = None
    for candidate in candidates:
        fault = _fault(skeleton, {**given, **candidate})
        if fault is None:
            return candidate
        fallback = candidate if fallback is None and fault == _CONTRADICTION else fallback
    return candidates[0] if fallback is None else fallback


def _default_size(value: onnx.ValueInfoProto, axis: int) -> int:  # noqa: ARG001 - the signature of all choices
    return DEFAULT_SIZE


def _candidates(values: Sequence[onnx.ValueInfoProto], given: Mapping[str, tuple[int, ...]]) -> Iterator[Shapes]:
    """Yield the candidates in the order in which they are tried."""
    choices: list[Callable[[onnx.ValueInfoProto, int], int]] = [_default_size]
    for batch in (DEFAULT_SIZE, 1):
        choices += [_image_sizes(batch, *sizes) for sizes in IMAGES]
        choices += [_sequence_sizes(batch, length) for length in SEQUENCES]
    choices += [_equal_sizes(size) for size in GROWING]
    found: list[Shapes] = []
    for choose in choices:
        candidate = _shapes(values, given, choose)
        is_small = all(math.prod(shape) <= MAX_INPUT_ELEMENTS for shape in candidate.values())
        if candidate not in found and (is_small or not found):
            found.append(candidate)
    yield from found


def _image_sizes(batch: int, height: int, width: int) -> Callable[[onnx.ValueInfoProto, int], int]:
    """Return the choice of a height and a width for tensors of rank 4."""

    def choose(value: onnx.ValueInfoProto, axis: int) -> int:
        rank = len(value.type.tensor_type.shape.dim)
        if axis == 0:
            return batch
        return DEFAULT_SIZE if rank != 4 else {1: 3, 2: height, 3: width}[axis]

    return choose


def _sequence_sizes(batch: int, length: int) -> Callable[[onnx.ValueInfoProto, int], int]:
    def choose(value: onnx.ValueInfoProto, axis: int) -> int:
        rank = len(value.type.tensor_type.shape.dim)
        return batch if axis == 0 and rank > 1 else length

    return choose


def _equal_sizes(size: int) -> Callable[[onnx.ValueInfoProto, int], int]:
    def choose(value: onnx.ValueInfoProto, axis: int) -> int:
        return DEFAULT_SIZE if axis == 0 and len(value.type.tensor_type.shape.dim) > 1 else size

    return choose


def _shapes(
    values: Sequence[onnx.ValueInfoProto],
    given: Mapping[str, tuple[int, ...]],
    choose: Callable[[onnx.ValueInfoProto, int], int],
) -> Shapes:
    """Return a shape of each input; the first dimension of a name decides for all dimensions of this name."""
    named = {name: shape[0] for name, shape in given.items() if len(shape) == 1}
    places = [
        (value, axis, size.dim_param)
        for value in values
        for axis, size in enumerate(value.type.tensor_type.shape.dim)
        if DeclaredInput.of(value).shape[axis] is None  # type: ignore[index] # the shape is known
    ]
    for value, axis, name in places:
        if name and not _terms(name):
            named.setdefault(name, choose(value, axis))
    sizes = {(value.name, axis): _size_of(name, named) or choose(value, axis) for value, axis, name in places}
    return {
        value.name: tuple(
            sizes[value.name, axis] if size is None else size
            for axis, size in enumerate(DeclaredInput.of(value).shape or ())
        )
        for value in values
    }


def _terms(name: str) -> list[str]:
    """Return the terms of the name of a dimension that is a sum; an empty list for another name."""
    parts = _SUM.split(name.strip())
    return parts if len(parts) > 1 and all(part.isidentifier() or part.isdecimal() for part in parts) else []


def _size_of(name: str, named: Mapping[str, int]) -> int | None:
    """Return the size of a named dimension; None if it is not known."""
    if name in named:
        return named[name]
    terms = [int(part[:9]) if part.isdecimal() else named.get(part) for part in _terms(name)]
    return sum(filter(None, terms)) if terms and None not in terms else None


_CONTRADICTION = "contradiction"
_EMPTY = "empty"


def _fault(skeleton: onnx.ModelProto, shapes: Mapping[str, tuple[int, ...]]) -> str | None:
    """Return what onnx's shape inference finds for some shapes of the inputs; None if it finds no fault."""
    model = onnx.ModelProto()
    model.CopyFrom(skeleton)
    for value in model.graph.input:
        if value.name in shapes:
            _set_shape(value, shapes[value.name])
    for value in model.graph.output:
        value.type.tensor_type.ClearField("shape")
    try:
        inferred = infer_shapes(model, strict_mode=True, data_prop=True)
    except Exception:  # noqa: BLE001 - onnx raises several types
        try:
            inferred = infer_shapes(model, data_prop=True)
        except Exception:  # noqa: BLE001
            return _CONTRADICTION
        return _EMPTY if _has_empty_tensor(inferred) else _CONTRADICTION
    return _EMPTY if _has_empty_tensor(inferred) else None


def _has_empty_tensor(model: onnx.ModelProto) -> bool:
    """Return whether a node makes an empty tensor; a part of a shape, which may be empty, does not count."""
    values = (*model.graph.input, *model.graph.value_info, *model.graph.output)
    shapes = {value.name: DeclaredInput.of(value).shape for value in values}
    shapes |= {tensor.name: tuple(tensor.dims) for tensor in model.graph.initializer}
    return any(
        any(size == 0 for name in node.output for size in shapes.get(name) or ())
        for node in model.graph.node
        if not is_operator(node, "Constant", "Slice", "Shape")
    ) or any(_exceeds_input(node, shapes) for node in model.graph.node)


def _exceeds_input(node: onnx.NodeProto, shapes: Mapping[str, Sequence[int | None] | None]) -> bool:
    """Return whether the window of a convolution or pooling is larger than its padded input.

    The shape inference of onnx rounds the negative size of the output to 1.
    """
    if not is_operator(node, *_WINDOWS):
        return False
    sizes = (shapes.get(node.input[0]) or ())[2:]
    attributes = {each.name: list(each.ints) for each in node.attribute if each.ints}
    rounds_up = any(each.name == "ceil_mode" and each.i for each in node.attribute)
    automatic = next((each.s for each in node.attribute if each.name == "auto_pad"), b"NOTSET")
    weights = shapes.get(node.input[1]) if node.op_type in _WITH_WEIGHTS and len(node.input) > 1 else None
    window = attributes.get("kernel_shape") or (weights or ())[2:]
    rank = len(sizes)
    dilations = attributes.get("dilations") or [1] * rank
    pads = attributes.get("pads") or [0] * (2 * rank)
    if (
        len(window) != rank
        or len(dilations) != rank
        or len(pads) != 2 * rank
        or automatic.startswith(b"SAME")
        or rounds_up
    ):
        return False
    return any(
        size is not None
        and width is not None
        and (width - 1) * dilations[axis] + 1 > size + pads[axis] + pads[rank + axis]
        for axis, (size, width) in enumerate(zip(sizes, window, strict=True))
    )


def _set_shape(value: onnx.ValueInfoProto, shape: Sequence[int]) -> None:
    kind = value.type.tensor_type.elem_type
    value.CopyFrom(helper.make_tensor_value_info(value.name, kind, shape))


def _without_large_constants(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return a model whose large initializers are inputs, and without types of values."""
    skeleton = onnx.ModelProto(ir_version=model.ir_version, opset_import=model.opset_import, functions=model.functions)
    graph = skeleton.graph
    graph.name = "skeleton"
    graph.node.extend(model.graph.node)
    graph.output.extend(model.graph.output)
    constants = constant_names(model.graph)
    graph.input.extend(value for value in model.graph.input if value.name not in constants)
    graph.sparse_initializer.extend(model.graph.sparse_initializer)
    for tensor in model.graph.initializer:
        is_kept = math.prod(tensor.dims) <= MAX_KEPT_ELEMENTS and tensor.data_location != onnx.TensorProto.EXTERNAL
        if is_kept:
            graph.initializer.append(tensor)
        else:
            graph.input.append(helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims))
    return skeleton
