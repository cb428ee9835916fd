"""Rewrites that are right though they are not the suite's own: none of them may be accused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.deviations.rewrites.fault import FaultyRewrite, afterwards, altered
from conformance.models.connections import captures
from conformance.models.graphs import held_graphs
from conformance.models.scopes import Scope
from conformance.models.signatures import MAIN_DOMAINS
from conformance.models.storage import store_raw
from conformance.optimizers import identity
from conformance.passes.eliminate_nop_monotone_argmax import (
    ALONG_AXIS,
    Site,
    eliminate,
    explicit_axis,
    is_monotone,
    is_standard,
)
from conformance.passes.fields import FIELDS, placed

if TYPE_CHECKING:
    import onnx


def _modulo_rank(site: Site) -> bool:
    """Axes that name the same dimension count as equal, where the rank is declared."""
    own, reduced = explicit_axis(site.producer), explicit_axis(site.argmax)
    graph = site.scope.graph
    types = {value.name: value.type.tensor_type for value in (*graph.input, *graph.value_info)}
    declared = types.get(site.before)
    if is_monotone(site) or own is None or reduced is None or declared is None or not declared.HasField("shape"):
        return is_monotone(site)
    rank = len(declared.shape.dim)
    versions = {entry.domain or "ai.onnx": entry.version for entry in site.scope.model.opset_import}
    if versions.get("ai.onnx", 13) < 13:
        return False
    return site.producer.op_type in ALONG_AXIS and own % rank == reduced % rank


def _not_coerced(site: Site) -> bool:
    """Below opset 13 Softmax and LogSoftmax stay where they normalize more than ArgMax's axis."""
    graph = site.scope.graph
    versions = {entry.domain or "ai.onnx": entry.version for entry in site.scope.model.opset_import}
    types = {value.name: value.type.tensor_type for value in (*graph.input, *graph.value_info)}
    declared, axis = types.get(site.before), explicit_axis(site.producer)
    if site.producer.op_type not in ALONG_AXIS or versions.get("ai.onnx", 13) >= 13 or declared is None:
        return is_monotone(site)
    return is_monotone(site) and axis in {-1, len(declared.shape.dim) - 1}


def _whatever_functions(_: Scope, node: onnx.NodeProto) -> bool:
    """Whether a node is of ONNX's own domain: which of operator and function goes first is the runtime's to say."""
    return node.domain in MAIN_DOMAINS


def _empty_domain_only(scope: Scope, node: onnx.NodeProto) -> bool:
    """Whether a node leaves its domain empty: onnx's checker refuses nodes that write ai.onnx out."""
    return not node.domain and is_standard(scope, node)


def _renamed(model: onnx.ModelProto) -> None:
    """Give inner values of the main graph other names, where nothing speaks of them but nodes."""
    graph, scope = model.graph, Scope(model, model.graph)
    spoken = {value.name for value in (*graph.output, *graph.value_info)}
    spoken |= {note.tensor_name for note in graph.quantization_annotation}
    for name in [name for node in graph.node if not node.name for name in node.output if name]:
        if name in spoken or captures(graph)[name] or scope.training_uses(name) or _holds_graphs(scope, name):
            continue
        for node in graph.node:
            node.input[:] = [f"{name}_renamed" if one == name else one for one in node.input]
            node.output[:] = [f"{name}_renamed" if one == name else one for one in node.output]


def _holds_graphs(scope: Scope, name: str) -> bool:
    producer = scope.producer(name)
    return producer is not None and any(True for _ in held_graphs(producer))


def _reordered(model: onnx.ModelProto) -> None:
    """Put the nodes of the main graph in another order that is topological: each time the last that can come."""
    left, order = list(model.graph.node), []
    while left:
        made = {name for node in left for name in node.output if name}
        able = [node for node in left if not _needs(node, made)]
        if not able:
            return
        order.append(able[-1])
        left = [node for node in left if node is not able[-1]]
    copies = [type(node).FromString(node.SerializeToString()) for node in order]
    del model.graph.node[:]
    model.graph.node.extend(copies)


def _unowed(model: onnx.ModelProto) -> None:
    """Clear the fields of which the table says that nothing is owed."""
    unowed = {(field.message, field.name) for field in FIELDS if not field.checks}
    for _, message in list(placed(model)):
        for descriptor in message.DESCRIPTOR.fields:
            if (type(message).__name__, descriptor.name) in unowed:
                message.ClearField(descriptor.name)


def _sorted_attributes(model: onnx.ModelProto) -> None:
    """Put the attributes of all nodes of graphs in the order of their names."""
    for scope in Scope(model, model.graph).walk():
        for node in scope.graph.node:
            node.attribute.sort(key=lambda attribute: attribute.name)


def _needs(node: onnx.NodeProto, made: set[str]) -> bool:
    inner = [name for _, graph in held_graphs(node) for one in graph.node for name in one.input]
    inner += [value.name for _, graph in held_graphs(node) for value in graph.output]
    deeper = any(_needs(one, made) for _, graph in held_graphs(node) for one in graph.node)
    return deeper or not made.isdisjoint([*node.input, *inner])


ADMISSIBLE = (
    FaultyRewrite("reference-pass", "the suite's own implementation", eliminate),
    altered("axes_modulo_rank", "compares axes as dimensions, where the rank is known", is_monotone=_modulo_rank),
    altered("not_coerced", "stays below opset 13 where more than one axis is normalized", is_monotone=_not_coerced),
    altered("whatever_functions", "does not see a function in an operator's place", is_standard=_whatever_functions),
    altered("empty_domain_only", "takes ai.onnx for a domain of others", is_standard=_empty_domain_only),
    afterwards("renamed", "renames inner values", _renamed),
    afterwards("stored_raw", "stores the numbers of every tensor as raw bytes", store_raw),
    afterwards("unowed_cleared", "clears the fields that say nothing", _unowed),
    afterwards("attributes_sorted", "puts attributes in the order of their names", _sorted_attributes),
    afterwards("reordered", "puts the nodes in another topological order", _reordered),
)
"""Implementations that claim the pass, and are right."""

WITHOUT_CLAIM = (FaultyRewrite("identity", "changes nothing", identity.optimize),)
"""Graph optimizers that do not claim it, and are right."""
