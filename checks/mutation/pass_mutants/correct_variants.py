"""Correct graph optimizers that differ from the suite's implementation of the pass; they must pass all cases."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import onnx
from onnx import defs

from checks.mutation.pass_mutants.fields import FIELDS
from checks.mutation.pass_mutants.pass_mutant import PassMutant, damage_result, replace_steps
from conformance.corpus.factors.message_fields import iter_messages
from conformance.corpus.passes.eliminate_nop_monotone_argmax import (
    ALONG_AXIS,
    Site,
    eliminate,
    explicit_axis,
    is_monotone,
    is_standard,
)
from conformance.exact.models.comparison import UNORDERED_FIELDS, convert_tensors_to_raw, normal_form, opset_versions
from conformance.exact.models.graphs import MAIN_DOMAINS, Scope, attribute_graphs, count_captures
from conformance.subjects.adapters.optimizers import identity

if TYPE_CHECKING:
    from collections.abc import Iterator


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


def _reversed_lists(model: onnx.ModelProto) -> None:
    """Reverse every repeated field whose order has no meaning, and the opset imports."""
    for message in _all_messages(model):
        fields = [*UNORDERED_FIELDS.get(type(message).__name__, ())]
        if hasattr(message, "opset_import") and len(opset_versions(message.opset_import)) == len(message.opset_import):
            fields.append("opset_import")
        for field in fields:
            entries = list(getattr(message, field, ()))
            if len(entries) > 1:
                copies = [copy.deepcopy(entry) for entry in reversed(entries)]
                message.ClearField(field)
                getattr(message, field).extend(copies)


def _in_normal_form(model: onnx.ModelProto) -> None:
    """Write the model in its normal form, with the domain and the numbers of names that onnx's checker requires."""
    model.CopyFrom(normal_form(model))
    for node in list(_all_messages(model)):
        if isinstance(node, onnx.NodeProto):
            for names, least in zip((node.input, node.output), _least_arity(node), strict=True):
                names.extend([""] * (least - len(names)))
    for holder in (model, *model.functions):
        for entry in holder.opset_import:
            entry.domain = "" if entry.domain in MAIN_DOMAINS else entry.domain


def _all_messages(message: Any) -> Iterator[Any]:
    yield message
    for descriptor, content in message.ListFields():
        if descriptor.message_type is not None:
            for entry in list(content) if hasattr(content, "extend") else [content]:
                yield from _all_messages(entry)


def _without_trailing_names(model: onnx.ModelProto) -> None:
    """Remove the empty names at the end of inputs and outputs, as far as the operator permits."""
    for node in _all_messages(model):
        if isinstance(node, onnx.NodeProto):
            for names, least in zip((node.input, node.output), _least_arity(node), strict=True):
                while len(names) > least and not names[-1]:
                    del names[-1]


def _least_arity(node: onnx.NodeProto) -> tuple[int, int]:
    """Return the minimum numbers of names in a node's inputs and outputs; onnx's checker counts empty names too."""
    if node.domain or not defs.has(node.op_type):
        return 0, 1
    schema = defs.get_schema(node.op_type)
    return schema.min_input, schema.min_output


def _with_trailing_names(model: onnx.ModelProto) -> None:
    """Add an empty name to the outputs of each Dropout, and to the inputs of each Clip of the main graph."""
    for node in model.graph.node:
        names = {"Dropout": node.output, "Clip": node.input}.get(node.op_type, [])
        versions = opset_versions(model.opset_import)
        if not node.domain and 0 < len(names) < 2 and versions.get("ai.onnx", 0) >= 12:
            names.append("")


def _without_defaults(model: onnx.ModelProto) -> None:
    """Remove the attributes of standard operators in the main graph that have their default value."""
    scope, opset = Scope(model, model.graph), opset_versions(model.opset_import).get("ai.onnx", 1)
    for node in model.graph.node:
        if not is_standard(scope, node) or not defs.has(node.op_type):
            continue
        schema = defs.get_schema(node.op_type, max_inclusive_version=opset)
        for held in list(node.attribute):
            default = schema.attributes[held.name].default_value if held.name in schema.attributes else None
            if default is None or held.doc_string or held.ref_attr_name:
                continue
            if default.type == held.type == onnx.AttributeProto.INT and default.i == held.i:
                node.attribute.remove(held)


def _merged_imports(model: onnx.ModelProto) -> None:
    """Keep the highest import of each domain."""
    for holder in (model, *model.functions):
        highest: dict[str, int] = {}
        for entry in holder.opset_import:
            highest[entry.domain] = max(entry.version, highest.get(entry.domain, entry.version))
        del holder.opset_import[:]
        for domain, version in highest.items():
            holder.opset_import.add(domain=domain, version=version)


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
    damage_result("lists_reversed", "reverses lists without an order", _reversed_lists),
    damage_result("trailing_names_dropped", "drops empty names at the end", _without_trailing_names),
    damage_result("trailing_names_added", "adds empty names at the end", _with_trailing_names),
    damage_result("defaults_omitted", "leaves out attributes that have their default value", _without_defaults),
    damage_result("imports_merged", "imports each domain once, with the highest version", _merged_imports),
    damage_result("in_normal_form", "writes the model in its normal form", _in_normal_form),
    damage_result("reordered", "puts the nodes in another topological order", _reordered),
)
"""Correct implementations of the pass."""

CORRECT_OTHER_OPTIMIZERS = (PassMutant("identity", "changes nothing", identity.optimize),)
"""Correct graph optimizers that do not implement the pass."""
