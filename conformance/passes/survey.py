"""What the pass would do at each ArgMax of a model, why it would not, and which hazards apply where it does."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import onnx
from onnx import shape_inference

from conformance.models.functions import endless_calls
from conformance.models.scopes import Scope
from conformance.models.signatures import MAIN_DOMAINS
from conformance.models.types import element
from conformance.passes.eliminate_nop_monotone_argmax import (
    ALONG_AXIS,
    ELEMENTWISE,
    Site,
    eliminate,
    explicit_axis,
    is_only_use,
    is_standard,
)
from conformance.passes.hazards import Hazard, hazards
from conformance.passes.malformed import refuse_malformed

if TYPE_CHECKING:
    from collections.abc import Iterator

ARGMAX = "ArgMax"


@dataclass(frozen=True)
class RiskyRemoval:
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
    removals: tuple[RiskyRemoval, ...]
    stays: str


def survey(model: onnx.ModelProto) -> list[ArgMaxSite]:
    """What the pass does at every ArgMax, in the model's order; the model is left as it is.

    It takes time in proportion to the nodes of the model. What a function computes is not looked at, but for types,
    and there neither where its calls are too many.

    Raises:
        ModelError: what the pass looks at is not as ONNX has it.
    """
    refuse_malformed(model)
    after, removals = eliminate.traced(model, fixed_point=True)
    opset = next((opset.version for opset in model.opset_import if opset.domain in MAIN_DOMAINS), 1)
    types = _types(model)
    risks: dict[str, list[RiskyRemoval]] = defaultdict(list)
    for removal in removals:
        classes = tuple(hazard for hazard in hazards().values() if hazard.befalls(removal.op_type, opset))
        risk = RiskyRemoval(removal.op_type, removal.value, types.get(removal.value, "unknown type"), classes)
        risks[removal.argmax].append(risk)
    return [ArgMaxSite(path, tuple(risks[path]), _reason(scope, node)) for path, scope, node in _argmaxes(after)]


def _argmaxes(model: onnx.ModelProto) -> Iterator[tuple[str, Scope, onnx.NodeProto]]:
    for scope in Scope(model, model.graph).walk():
        for node in scope.graph.node:
            if node.op_type == ARGMAX and is_standard(scope, node):
                yield scope.path_of(node), scope, node


def _reason(scope: Scope, node: onnx.NodeProto) -> str:
    """Why the pass does not fire at an ArgMax."""
    axis, producer = explicit_axis(node), scope.producer(node.input[0]) if node.input else None
    if axis is None:
        return "it has no axis of its own"
    if producer is None:
        return f"nothing in its graph computes {node.input[0] if node.input else 'its input'}"
    name = producer.op_type if producer.domain in MAIN_DOMAINS else f"{producer.domain}.{producer.op_type}"
    if not is_standard(scope, producer):
        return f"{name} before it is not ONNX's own operator"
    if producer.op_type not in ELEMENTWISE | ALONG_AXIS or len(producer.input) != 1:
        return f"{name} before it is none of Log, Exp, Sqrt, Softmax and LogSoftmax"
    if producer.op_type in ALONG_AXIS and (other := explicit_axis(producer)) != axis:
        told = "has no axis of its own" if other is None else f"is along axis {other}"
        return f"{name} before it {told}, ArgMax along axis {axis}"
    site = Site(scope, node, producer)
    if not is_only_use(site):
        return f"{site.between}, the result of {name}, is used elsewhere too"
    return f"{site.before} means another value at ArgMax than at {name}"


def _types(model: onnx.ModelProto) -> dict[str, str]:
    """Element types of the main graph's values by name, as far as shape inference finds them."""
    try:
        model = shape_inference.infer_shapes(_without_endless_calls(model))
    except Exception:  # noqa: BLE001 - a model that it cannot read is surveyed without types
        return {}
    values = (*model.graph.input, *model.graph.value_info, *model.graph.output)
    return {
        value.name: element(value.type.tensor_type.elem_type) for value in values if value.type.HasField("tensor_type")
    }


def _without_endless_calls(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model, or a copy without functions where inference, which follows every call, would not end."""
    if endless_calls(model) is None:
        return model
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    del copy.functions[:]
    return copy
