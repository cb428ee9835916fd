"""What can be said of a case by looking at it: its attributes, types, shapes, data, and how its model is built."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import chain
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx

from conformance.models.arrays import type_name
from conformance.models.constants import initializers_of
from conformance.models.feeds import fed_names
from conformance.models.graphs import graphs_of
from conformance.models.signatures import MAIN_DOMAINS
from conformance.reference.operators.training import TRAINING_OPTIMIZERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from conformance.corpus.loading import CaseInMemory
    from conformance.models.arrays import Array

LARGE, SMALL = 1e6, 1e-6
"""Magnitudes from which on data is said to be large, and up to which it is said to be small."""


@dataclass(frozen=True)
class Properties:
    """What can be said of a case.

    Attributes:
        words: what it does, as of several: "set alpha", "have double tensors". What tells most comes first.
        numbers: by what they are of, all that the case has: every T of its data sets.
    """

    words: tuple[str, ...]
    numbers: Mapping[str, tuple[float, ...]]


def properties(case: CaseInMemory, tags: Iterable[str] = ()) -> Properties:
    """What can be said of a case.

    Args:
        tags: those of its case.json.
    """
    numbers: dict[str, list[float]] = defaultdict(list)
    words = dict.fromkeys(chain(_of_nodes(case, numbers), _of_model(case, numbers)))
    tagged = (f"are tagged {tag}" for tag in tags)
    return Properties((*words, *tagged), {name: tuple(filter(isfinite, values)) for name, values in numbers.items()})


def _of_nodes(case: CaseInMemory, numbers: dict[str, list[float]]) -> Iterator[str]:
    constants = initializers_of(case.model.graph)
    fed = fed_names(case.model.graph)
    runs = [{**constants, **dict(zip(fed, data_set.inputs, strict=False))} for data_set in case.held]
    produced = {name for node in case.model.graph.node for name in node.output}
    for node in case.model.graph.node:
        yield from _of_attributes(node, numbers)
        yield from _of_place(node, set(constants) - set(fed), produced)
        for values in runs:
            yield from _of_operands(node, [values.get(name) for name in node.input], numbers)


def _of_attributes(node: onnx.NodeProto, numbers: dict[str, list[float]]) -> Iterator[str]:
    given = {attribute.name: onnx.helper.get_attribute_value(attribute) for attribute in node.attribute}
    optimizer = TRAINING_OPTIMIZERS.get(node.op_type)
    for name, value in given.items():
        yield f"set {name}"
        if isinstance(value, bytes):
            yield f"have {name} {value.decode(errors='replace')}"
    defaults: Mapping[str, Any] = optimizer.defaults if optimizer else {}
    for name, value in {**{name: float(np.float32(value)) for name, value in defaults.items()}, **given}.items():
        if name not in given:
            yield f"leave {name} to its default"
        if isinstance(value, int | float):
            numbers[name].append(value)
    if optimizer is None:
        yield f"have {node.op_type}"
        if "axis" not in given:
            yield f"leave the axis of {node.op_type} to its default"
        elif given["axis"] < 0:
            yield f"have a negative axis of {node.op_type}"


def _of_place(node: onnx.NodeProto, constants: set[str], produced: set[str]) -> Iterator[str]:
    groups = _operands(node)
    for name, group in zip(node.input, groups, strict=False):
        if name in constants:
            yield f"have {group} as an initializer"
        elif name in produced and node.op_type in TRAINING_OPTIMIZERS:
            yield f"compute {group} in the graph"
    if len(set(node.input)) < len(node.input):
        yield "take one value for several inputs"
    if not all(node.output):
        yield "leave outputs of a node without names"


def _operands(node: onnx.NodeProto) -> list[str]:
    """What each of a node's inputs is called on the operator's page."""
    optimizer = TRAINING_OPTIMIZERS.get(node.op_type)
    if optimizer is None:
        return [f"the input of {node.op_type}"] * len(node.input)
    count = max((len(node.input) - 2) // len(optimizer.operands), 1)
    return ["R", "T", *(name for name in optimizer.operands for _ in range(count))]


def _of_operands(
    node: onnx.NodeProto, operands: Sequence[Array | None], numbers: dict[str, list[float]]
) -> Iterator[str]:
    known = [(name, array) for name, array in zip(_operands(node), operands, strict=False) if array is not None]
    tensors = [(name, array) for name, array in known if name not in {"R", "T"}]
    for name, array in known:
        if name in {"R", "T"} and array.size == 1:
            numbers[name].append(array.reshape(-1)[0].item())
        yield f"have {name} of type {type_name(array.dtype)}"
    if node.op_type in TRAINING_OPTIMIZERS:
        count = max((len(node.input) - 2) // len(TRAINING_OPTIMIZERS[node.op_type].operands), 1)
        numbers["tensors of a node"].append(count)
        types = {type_name(array.dtype) for _, array in tensors}
        yield from (f"have {type} tensors" for type in sorted(types))
        if len(types) == 1 and any(name == "R" and type_name(array.dtype) not in types for name, array in known):
            yield "have an R of another type than the tensors"
    for name, array in tensors:
        yield from _of_shape(array, numbers)
        yield from (f"have {what} in {name}" for what in _in_data(array))


def _of_shape(array: Array, numbers: dict[str, list[float]]) -> Iterator[str]:
    numbers["elements of a tensor"].append(array.size)
    numbers["dimensions of a tensor"].append(array.ndim)
    yield f"have a tensor of shape {list(array.shape)}"
    if not array.size:
        yield "have an empty tensor"
    if not array.ndim:
        yield "have a 0-d tensor"
    if 1 in array.shape:
        yield "have a dimension of size 1"


def _in_data(array: Array) -> Iterator[str]:
    if not array.size:
        return
    values = array.astype(np.float64) if array.dtype.kind in "fV" else array
    if values.dtype.kind == "f":
        magnitude = np.abs(values)
        finite = magnitude[np.isfinite(magnitude)]
        yield from (
            what
            for what, found in (
                ("a NaN", np.isnan(values).any()),
                ("an infinity", np.isinf(values).any()),
                ("a negative zero", ((values == 0) & np.signbit(values)).any()),
                ("a subnormal", _has_subnormal(array)),
                ("a large number", (finite >= LARGE).any()),
                ("a small number", ((finite > 0) & (finite <= SMALL)).any()),
            )
            if found
        )
    if (values == 0).any():
        yield "only zeros" if (values == 0).all() else "a zero"
    if (values < 0).any():
        yield "a negative number"
    if (values > 0).any():
        yield "a positive number"


def _has_subnormal(array: Array) -> bool:
    if array.dtype.kind != "f":
        return False
    return bool(((array != 0) & (np.abs(array) < np.finfo(array.dtype).tiny)).any())


def _of_model(case: CaseInMemory, numbers: dict[str, list[float]]) -> Iterator[str]:
    model = case.model
    numbers["runs of a prepared model"].append(len(case.held))
    numbers["nodes of the graph"].append(len(model.graph.node))
    numbers["IR version"].append(model.ir_version)
    numbers["opset"].extend(one.version for one in model.opset_import if one.domain in MAIN_DOMAINS)
    if model.functions:
        yield "have a function"
    if any(node.op_type in TRAINING_OPTIMIZERS for graph in graphs_of(model)[1:] for node in graph.node):
        yield "have training information"
    declared = chain(model.graph.input, model.graph.output)
    dimensions = [dimension for value in declared for dimension in value.type.tensor_type.shape.dim]
    if any(not dimension.HasField("dim_value") for dimension in dimensions):
        yield "have a dimension whose size the model does not say"
    shapes = {tuple(array.shape for array in data_set.inputs) for data_set in case.held}
    if len(shapes) > 1:
        yield "have data sets of several shapes"
    if len({tuple(array.tobytes() for array in data_set.inputs) for data_set in case.held}) > 1:
        yield "run a prepared model on other data"
