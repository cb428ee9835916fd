"""Correct graph optimizers that differ from the suite's implementation of the pass; they must pass all cases."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.adapters.optimizers import identity
from conformance.models.comparison import convert_tensors_to_raw
from conformance.models.graphs import Scope, attribute_graphs, count_captures
from conformance.models.types import MAIN_DOMAINS
from conformance.passes.eliminate_nop_monotone_argmax import (
    ALONG_AXIS,
    Site,
    eliminate,
    explicit_axis,
    is_monotone,
    is_standard,
)
from conformance.passes.fields import FIELDS, iter_messages
from mutation.pass_mutants.pass_mutant import PassMutant, damage_result, replace_steps

if TYPE_CHECKING:
    import onnx


def _modulo_rank(site: Site) -> bool:
    """Return whether the operator is monotone; axes are compared modulo the rank if the rank is declared."""
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
    """Return whether the operator may be removed; before opset 13, Softmax and LogSoftmax must use the last axis.

    Before opset 13 they normalize over all axes from `axis` on, which only for the last axis is a single axis.
    """
    graph = site.scope.graph
    versions = {entry.domain or "ai.onnx": entry.version for entry in site.scope.model.opset_import}
    types = {value.name: value.type.tensor_type for value in (*graph.input, *graph.value_info)}
    declared, axis = types.get(site.before), explicit_axis(site.producer)
    if site.producer.op_type not in ALONG_AXIS or versions.get("ai.onnx", 13) >= 13 or declared is None:
        return is_monotone(site)
    return is_monotone(site) and axis in {-1, len(declared.shape.dim) - 1}


def _whatever_functions(_: Scope, node: onnx.NodeProto) -> bool:
    """Return whether a node is in ONNX's own domain, even if the model defines a function with its op_type.

    This is permitted, because a runtime may prefer the operator to the function.
    """
    return node.domain in MAIN_DOMAINS


def _empty_domain_only(scope: Scope, node: onnx.NodeProto) -> bool:
    """Return whether a node is a standard operator whose domain is empty and not `ai.onnx`.

    This is permitted, because onnx's checker rejects nodes with the domain `ai.onnx`.
    """
    return not node.domain and is_standard(scope, node)


def _renamed(model: onnx.ModelProto) -> None:
    """Rename the intermediate values of the main graph to which only nodes of this graph refer."""
    graph, scope = model.graph, Scope(model, model.graph)
    spoken = {value.name for value in (*graph.output, *graph.value_info)}
    spoken |= {note.tensor_name for note in graph.quantization_annotation}
    for name in [name for node in graph.node if not node.name for name in node.output if name]:
        if (
            name in spoken
            or count_captures(graph)[name]
            or scope.training_use_count(name)
            or _holds_graphs(scope, name)
        ):
            continue
        for node in graph.node:
            node.input[:] = [f"{name}_renamed" if one == name else one for one in node.input]
            node.output[:] = [f"{name}_renamed" if one == name else one for one in node.output]


def _holds_graphs(scope: Scope, name: str) -> bool:
    producer = scope.producer(name)
    return producer is not None and any(True for _ in attribute_graphs(producer))


def _reordered(model: onnx.ModelProto) -> None:
    """Put the nodes of the main graph in another topological order."""
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
    """Clear the protobuf fields that a graph optimizer may change according to the specification."""
    unowed = {(field.message, field.name) for field in FIELDS if not field.checks}
    for _, message in list(iter_messages(model)):
        for descriptor in message.DESCRIPTOR.fields:
            if (type(message).__name__, descriptor.name) in unowed:
                message.ClearField(descriptor.name)


def _sorted_attributes(model: onnx.ModelProto) -> None:
    """Sort the attributes of all nodes by name."""
    for scope in Scope(model, model.graph).walk():
        for node in scope.graph.node:
            node.attribute.sort(key=lambda attribute: attribute.name)


def _needs(node: onnx.NodeProto, made: set[str]) -> bool:
    inner = [name for _, graph in attribute_graphs(node) for one in graph.node for name in one.input]
    inner += [value.name for _, graph in attribute_graphs(node) for value in graph.output]
    deeper = any(_needs(one, made) for _, graph in attribute_graphs(node) for one in graph.node)
    return deeper or not made.isdisjoint([*node.input, *inner])


CORRECT_PASSES = (
    PassMutant("reference-pass", "the suite's own implementation", eliminate),
    replace_steps("axes_modulo_rank", "compares axes as dimensions, where the rank is known", is_monotone=_modulo_rank),
    replace_steps(
        "not_coerced", "does not apply below opset 13 where more than one axis is normalized", is_monotone=_not_coerced
    ),
    replace_steps(
        "whatever_functions", "does not see a function in an operator's place", is_standard=_whatever_functions
    ),
    replace_steps("empty_domain_only", "takes ai.onnx for a domain of others", is_standard=_empty_domain_only),
    damage_result("renamed", "renames inner values", _renamed),
    damage_result("stored_raw", "stores the numbers of every tensor as raw bytes", convert_tensors_to_raw),
    damage_result("unowed_cleared", "clears the fields that say nothing", _unowed),
    damage_result("attributes_sorted", "puts attributes in the order of their names", _sorted_attributes),
    damage_result("reordered", "puts the nodes in another topological order", _reordered),
)
"""Correct implementations of the pass."""

CORRECT_OTHER_OPTIMIZERS = (PassMutant("identity", "changes nothing", identity.optimize),)
"""Correct graph optimizers that do not implement the pass."""
