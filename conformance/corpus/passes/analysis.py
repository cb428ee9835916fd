"""Analysis of a model for the verb `hazards`: the operators that the pass removes, and their hazards.

`analyse_argmaxes` first checks that the parts that the pass reads are well-formed.
"""

from __future__ import annotations

from collections import ChainMap, defaultdict
from typing import TYPE_CHECKING

import msgspec
import onnx
from onnx import AttributeProto, TensorProto

from conformance.base.errors import ModelError
from conformance.corpus.passes.eliminate_nop_monotone_argmax import (
    ALONG_AXIS,
    ELEMENTWISE,
    Site,
    eliminate,
    explicit_axis,
    is_only_use,
    is_standard,
)
from conformance.corpus.passes.hazards import hazards
from conformance.exact.models.arrays import element_type_text
from conformance.exact.models.graphs import MAIN_DOMAINS, Scope, call_expansion_problem, infer_shapes, recursion_problem

if TYPE_CHECKING:
    from collections.abc import Iterator


OPERATORS_WITH_AXIS = ALONG_AXIS | {"ArgMax"}


def refuse_malformed(model: onnx.ModelProto) -> None:
    """Check the parts of a model that the analysis reads: types, and ArgMax nodes with the operators before them.

    Raises:
        ModelError: an ArgMax has no output, an `axis` is not an integer, an element type is unknown, or functions call
            each other recursively.
    """
    if (fault := recursion_problem(model)) is not None:
        raise ModelError("recursive-functions", problem=fault)
    for scope in Scope(model, model.graph).walk():
        for fault in _malformed_parts(scope):
            raise ModelError("malformed", problem=fault)


def _malformed_parts(scope: Scope) -> Iterator[str]:
    graph = scope.graph
    for value in (*graph.input, *graph.value_info, *graph.output):
        type = value.type.tensor_type.elem_type
        if type not in TensorProto.DataType.values():
            known = f"which onnx {onnx.__version__} does not know"
            yield f"The value {scope.path}{value.name} is of the element type {type}, {known}."
    for node in graph.node:
        if node.op_type not in OPERATORS_WITH_AXIS or not is_standard(scope, node):
            continue
        if node.op_type == "ArgMax" and not any(node.output):
            yield f"The ArgMax of {scope.path}{''.join(node.input[:1]) or 'nothing'} has no output."
        for attribute in node.attribute:
            if attribute.name == "axis" and not attribute.ref_attr_name and attribute.type != AttributeProto.INT:
                yield f"The {node.op_type} that computes {scope.path_of(node)} has an axis that is not an integer."


def _check_axes(scope: Scope, outer: ChainMap[str, int]) -> None:
    """Check that each explicit axis of an ArgMax, and of the operators before it, is an axis of the node's input.

    Args:
        scope: a graph with inferred types.
        outer: the number of dimensions of the values of the enclosing graphs, by name; unknown ones are omitted.

    Raises:
        ModelError: an axis is beyond the number of dimensions.
    """
    graph = scope.graph
    own = {
        **{
            value.name: len(value.type.tensor_type.shape.dim)
            for value in (*graph.value_info, *graph.output, *graph.input)
            if value.type.tensor_type.HasField("shape")
        },
        **{tensor.name: len(tensor.dims) for tensor in graph.initializer},
    }
    ranks = ChainMap(own, *outer.maps)
    for node in graph.node:
        axis = explicit_axis(node) if node.op_type in OPERATORS_WITH_AXIS and is_standard(scope, node) else None
        rank = ranks.get(node.input[0]) if node.input else None
        if axis is not None and rank is not None and not -max(rank, 1) <= axis < max(rank, 1):
            raise ModelError("axis-beyond-rank", op_type=node.op_type, path=scope.path_of(node), axis=axis, rank=rank)
    for inner in scope.children():
        _check_axes(inner, ranks)


ARGMAX = "ArgMax"


class RiskyRemoval(msgspec.Struct, frozen=True):
    """An operator that the pass removes before an ArgMax.

    Attributes:
        op_type: type of the operator.
        value: name of the operator's output.
        type: element type of the output, or "unknown type".
        hazards: ids of the classes of inputs on which the answer may change.
    """

    op_type: str
    value: str
    type: str
    hazards: tuple[str, ...]


class ArgMaxSite(msgspec.Struct, frozen=True, rename={"path": "output", "removals": "removed"}):
    """An ArgMax of a model.

    Attributes:
        path: path of the ArgMax's output.
        removals: operators that the pass removes before the ArgMax in runs to a fixed point, the nearest first.
        reason_for_stop: why the pass removes no further operator, as a clause about the ArgMax such as "it has no axis
            of its own".
    """

    path: str
    removals: tuple[RiskyRemoval, ...]
    reason_for_stop: str


def analyse_argmaxes(model: onnx.ModelProto) -> list[ArgMaxSite]:
    """Return what the pass does at every ArgMax, in the model's order; the model stays unchanged.

    The time is proportional to the number of nodes. Bodies of functions are used only to infer types, and only if
    following all calls does not take too long.

    Raises:
        ModelError: a part that the analysis reads is malformed, or an axis is beyond the rank.
    """
    refuse_malformed(model)
    inferred = _with_inferred_types(model)
    _check_axes(Scope(inferred, inferred.graph), ChainMap())
    after, removals = eliminate.traced(model, fixed_point=True)
    opset = next((opset.version for opset in model.opset_import if opset.domain in MAIN_DOMAINS), 1)
    types = _element_types(inferred.graph)
    risks: dict[str, list[RiskyRemoval]] = defaultdict(list)
    for removal in removals:
        classes = tuple(id for id, hazard in hazards().items() if hazard.affects(removal.op_type, opset))
        risk = RiskyRemoval(removal.op_type, removal.value, types.get(removal.value, "unknown type"), classes)
        risks[removal.argmax].append(risk)
    return [
        ArgMaxSite(path, tuple(risks[path]), _reason_for_stop(scope, node))
        for path, scope, node in _iter_argmaxes(after)
    ]


def _iter_argmaxes(model: onnx.ModelProto) -> Iterator[tuple[str, Scope, onnx.NodeProto]]:
    for scope in Scope(model, model.graph).walk():
        for node in scope.graph.node:
            if node.op_type == ARGMAX and is_standard(scope, node):
                yield scope.path_of(node), scope, node


def _reason_for_stop(scope: Scope, node: onnx.NodeProto) -> str:
    """Return why the pass does not apply before the ArgMax `node`, as a clause such as "it has no axis of its own"."""
    axis = explicit_axis(node)
    producer = scope.producer(node.input[0]) if node.input else None
    if axis is None:
        return "it has no axis of its own"
    if producer is None:
        return f"nothing in its graph computes {node.input[0] if node.input else 'its input'}"
    name = producer.op_type if producer.domain in MAIN_DOMAINS else f"{producer.domain}.{producer.op_type}"
    if not is_standard(scope, producer):
        return f"{name} before it is not ONNX's own operator"
    if producer.op_type not in ELEMENTWISE | ALONG_AXIS or len(producer.input) != 1:
        return f"{name} before it is not a Log, Exp, Sqrt, Softmax or LogSoftmax with one input"
    if producer.op_type in ALONG_AXIS and (other := explicit_axis(producer)) != axis:
        problem = "has no axis of its own" if other is None else f"is along axis {other}"
        return f"{name} before it {problem}, ArgMax along axis {axis}"
    site = Site(scope, node, producer)
    if not is_only_use(site):
        return f"{site.between}, the result of {name}, is used elsewhere too"
    return f"{site.before} names different values at {name} and at ArgMax"


def _with_inferred_types(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return the model with the types that shape inference finds; none if shape inference fails."""
    try:
        return infer_shapes(_without_endless_calls(model))
    except Exception:  # noqa: BLE001 - the analysis needs no types
        return onnx.ModelProto()


def _element_types(graph: onnx.GraphProto) -> dict[str, str]:
    """Return the element types of a graph's values by name; values with an unknown type are omitted."""
    return {
        value.name: element_type_text(value.type.tensor_type.elem_type)
        for value in (*graph.input, *graph.value_info, *graph.output)
        if value.type.HasField("tensor_type")
    }


def _without_endless_calls(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return the model; if following all function calls takes too long, return a copy without functions."""
    if call_expansion_problem(model) is None:
        return model
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    del copy.functions[:]
    return copy
