"""What the pass would do at each ArgMax of a model, why it would not, and which hazards apply where it does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import onnx
from onnx import TensorProto, shape_inference

from conformance.models.scopes import Scope
from conformance.models.signatures import MAIN_DOMAINS
from conformance.passes.eliminate_nop_monotone_argmax import (
    ALONG_AXIS,
    ELEMENTWISE,
    Site,
    eliminate,
    explicit_axis,
    is_in_sight,
    is_only_use,
    is_standard,
)
from conformance.passes.hazards import Hazard, hazards

if TYPE_CHECKING:
    from collections.abc import Iterator

ARGMAX = "ArgMax"


@dataclass(frozen=True)
class Removal:
    """An operator that the pass takes away.

    Attributes:
        op_type: which one.
        value: the value that goes with it.
        type: that value's element type, or "unknown type".
        hazards: the classes of inputs on which the answer may change.
    """

    op_type: str
    value: str
    type: str
    hazards: tuple[Hazard, ...]


@dataclass(frozen=True)
class ArgMaxSite:
    """An ArgMax of a model.

    Attributes:
        path: its output, after the path to its graph.
        removals: the operators that a fixed point takes away before it, the nearest first.
        stays: why no more than these go, a sentence without its subject.
    """

    path: str
    removals: tuple[Removal, ...]
    stays: str


def survey(model: onnx.ModelProto) -> list[ArgMaxSite]:
    """What the pass does at every ArgMax, in the model's order; the model is left as it is."""
    found: dict[str, list[Removal]] = {path: [] for path, _, _ in _argmaxes(model)}
    reasons: dict[str, str] = {}
    opset = next((opset.version for opset in model.opset_import if opset.domain in MAIN_DOMAINS), 1)
    types = _types(model)
    while True:
        changed = False
        for path, scope, node in _argmaxes(model):
            producer = scope.producer(node.input[0]) if node.input else None
            reasons[path] = _reason(scope, node, producer)
            if not reasons[path] and producer is not None:
                value = producer.output[0]
                classes = tuple(one for one in hazards().values() if one.befalls(producer.op_type, opset))
                found[path].append(Removal(producer.op_type, value, types.get(value, "unknown type"), classes))
                changed = True
        if not changed:
            return [ArgMaxSite(path, tuple(removals), reasons[path]) for path, removals in found.items()]
        model = eliminate(model)


def _argmaxes(model: onnx.ModelProto) -> Iterator[tuple[str, Scope, onnx.NodeProto]]:
    for scope in Scope(model, model.graph).walk():
        for node in scope.graph.node:
            if node.op_type == ARGMAX and is_standard(model, node):
                yield f"{scope.path}{node.output[0]}", scope, node


def _reason(scope: Scope, node: onnx.NodeProto, producer: onnx.NodeProto | None) -> str:
    """Why the pass does not fire at an ArgMax; empty where it does."""
    axis = explicit_axis(node)
    if axis is None:
        return "it has no axis of its own"
    if producer is None:
        return f"nothing in its graph computes {node.input[0] if node.input else 'its input'}"
    name = producer.op_type if producer.domain in MAIN_DOMAINS else f"{producer.domain}.{producer.op_type}"
    if not is_standard(scope.model, producer):
        return f"{name} before it is not ONNX's own operator"
    if producer.op_type not in ELEMENTWISE | ALONG_AXIS or len(producer.input) != 1:
        return f"{name} before it is none of Log, Exp, Sqrt, Softmax and LogSoftmax"
    if producer.op_type in ALONG_AXIS and (other := explicit_axis(producer)) != axis:
        told = "has no axis of its own" if other is None else f"is along axis {other}"
        return f"{name} before it {told}, ArgMax along axis {axis}"
    site = Site(scope, node, producer)
    if not is_only_use(site):
        return f"{site.between}, the result of {name}, is used elsewhere too"
    return "" if is_in_sight(site) else f"{site.before} means another value at ArgMax than at {name}"


def _types(model: onnx.ModelProto) -> dict[str, str]:
    """Element types of the main graph's values by name, as far as shape inference finds them."""
    try:
        model = shape_inference.infer_shapes(model)
    except Exception:  # noqa: BLE001 - a model that it cannot read is surveyed without types
        return {}
    values = (*model.graph.input, *model.graph.value_info, *model.graph.output)
    return {
        value.name: TensorProto.DataType.Name(value.type.tensor_type.elem_type).lower()
        for value in values
        if value.type.HasField("tensor_type")
    }
