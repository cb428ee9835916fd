"""Nodes that have other nodes inside: control flow with its subgraphs, and calls of model-local functions.

Such a node has a case of its own: its subgraphs, and the functions that it calls, are parts of the model of the case.
The values that its subgraphs capture are operands like others.
"""

from __future__ import annotations

from collections import ChainMap
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx

from conformance.exact.models.graphs import (
    called_name,
    copy_of,
    function_name,
    is_operator,
    iter_nodes,
    names_taken_by,
    subgraphs_of,
)
from conformance.exact.models.renaming import Renamer
from conformance.exact.reference.nodes import attribute_values
from conformance.own.graphs.inlining import inline_functions
from conformance.own.model_cases.typed_values import FIRST_SCAN_WITHOUT_BATCH, TypedSequence

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from conformance.exact.models.arrays import Array
    from conformance.exact.models.graphs import FunctionName
    from conformance.own.model_cases.typed_values import Typed

SEQUENCE_LENGTHS = (0, 1, 3)
"""The lengths of the sequences of a SequenceMap in cases."""

TRIP_COUNTS = (0, 1, 3)
"""The numbers of steps of a Loop in cases."""


def called_functions(model: onnx.ModelProto, nodes: Iterable[onnx.NodeProto]) -> list[onnx.FunctionProto]:
    """Return the functions of a model that nodes call, also within subgraphs and other functions, in its order."""
    functions = {function_name(each): each for each in model.functions}
    found: set[FunctionName] = set()
    pending = list(nodes)
    while pending and functions:
        node = pending.pop()
        pending += [inner for graph in subgraphs_of(node) for inner in graph.node]
        name = called_name(node)
        if name in functions and name not in found:
            found.add(name)
            pending += functions[name].node
    return [each for name, each in functions.items() if name in found]


def has_nodes_inside(model: onnx.ModelProto, node: onnx.NodeProto) -> bool:
    """Return whether a node has subgraphs, or calls a function of a model."""
    return bool(subgraphs_of(node)) or called_name(node) in map(function_name, model.functions)


def inner_nodes(model: onnx.ModelProto, nodes: Iterable[onnx.NodeProto]) -> Iterator[onnx.NodeProto]:
    """Yield the nodes inside of nodes, at every depth; they take the values of the outer nodes by the same names.

    A node of a Scan takes the name of a whole operand, of which it gets one slice at a time.

    Args:
        model: a model with the functions that the nodes call.
        nodes: the nodes; those without nodes inside are yielded themselves.
    """
    for node in nodes:
        if called_name(node) in map(function_name, model.functions):
            call = onnx.ModelProto(opset_import=model.opset_import, functions=model.functions)
            call.graph.node.append(node)
            body = inline_functions(call)
            yield from inner_nodes(onnx.ModelProto(), body.graph.node)
        elif graphs := subgraphs_of(node):
            for graph in graphs:
                copy = copy_of(graph)
                given = node.input[2:] if is_operator(node, "Loop") else node.input
                own = copy.input[2:] if is_operator(node, "Loop") else copy.input
                names = {value.name: name for value, name in zip(own, given, strict=False)}
                del copy.input[:]
                Renamer(str).rename_graph(copy, names, str)
                yield from inner_nodes(model, copy.node)
        else:
            yield node


def clean_subgraphs(node: onnx.NodeProto, names: Mapping[str, str]) -> None:
    """Give the values in the subgraphs of a node canonical names, in place; texts for people and sizes are removed.

    Args:
        node: the node.
        names: the new names of values outside of the subgraphs.
    """
    count = 0

    def define(_: str) -> str:
        nonlocal count
        count += 1
        return f"i{count}"

    for graph in subgraphs_of(node):
        Renamer(define).rename_graph(graph, names, define)
        graph.name = "body"
        _clean_graph(graph)
        for inner in iter_nodes(graph):
            _clean_node(inner)
            for nested in subgraphs_of(inner):
                _clean_graph(nested)


def _clean_node(node: onnx.NodeProto) -> None:
    """Remove the name and the texts for people from a node."""
    for field in ("name", "doc_string", "metadata_props"):
        node.ClearField(field)


def _clean_graph(graph: onnx.GraphProto) -> None:
    """Remove the texts for people from a subgraph, and the sizes from its declarations: another case has other ones."""
    for field in ("doc_string", "metadata_props", "value_info"):
        graph.ClearField(field)
    graph.name = "body"
    for value in (*graph.input, *graph.output):
        value.ClearField("doc_string")
        for size in value.type.tensor_type.shape.dim:
            size.Clear()


def clean_functions(functions: Iterable[onnx.FunctionProto]) -> list[onnx.FunctionProto]:
    """Return functions without texts for people, and without declarations of their values."""
    cleaned = [copy_of(each) for each in functions]
    for function in cleaned:
        for field in ("doc_string", "metadata_props", "value_info"):
            function.ClearField(field)
        for node in iter_nodes(function):
            _clean_node(node)
    return cleaned


def control_variants(nodes: Sequence[onnx.NodeProto], opset: int, fed: Mapping[str, Array]) -> list[dict[str, Array]]:
    """Return other elements of the operands that decide which subgraph runs, and how often.

    Args:
        nodes: the nodes of a case.
        opset: the version of the main domain.
        fed: the elements of the inputs of the case by name.
    """
    found: list[dict[str, Array]] = []
    for node in nodes:
        if is_operator(node, "If") and node.input[0] in fed:
            found += [{node.input[0]: np.full_like(fed[node.input[0]], taken)} for taken in (True, False)]
        elif is_operator(node, "Loop"):
            trips, condition = (*node.input[:2], "", "")[:2]
            if trips in fed:
                found += [{trips: np.full_like(fed[trips], count)} for count in TRIP_COUNTS]
            if condition in fed:
                found += [{condition: np.full_like(fed[condition], goes_on)} for goes_on in (True, False)]
        elif is_operator(node, "Scan") and opset >= FIRST_SCAN_WITHOUT_BATCH:
            found += _scan_lengths(node, fed)
    return found


def ordinary_controls(nodes: Sequence[onnx.NodeProto]) -> dict[str, Any]:
    """Return the ordinary elements of the operands that decide how often a subgraph runs, by name."""
    loops = [[*node.input[:2], ""] for node in nodes if is_operator(node, "Loop")]
    return {
        name: value for trips, condition, *_ in loops for name, value in ((trips, TRIP_COUNTS[-1]), (condition, True))
    }


def _scan_lengths(node: onnx.NodeProto, fed: Mapping[str, Array]) -> list[dict[str, Array]]:
    """Return the operands of a Scan with one step, and with twice as many steps; none if one is a constant."""
    attributes: dict[str, Any] = attribute_values(node.attribute)
    count = attributes.get("num_scan_inputs", 0)
    names = node.input[len(node.input) - count :]
    axes = attributes.get("scan_input_axes", [0] * count)
    if any(name not in fed for name in names):
        return []
    arrays = [(name, fed[name], axis) for name, axis in zip(names, axes, strict=False)]
    one = {name: array.take([0], axis) for name, array, axis in arrays}
    twice = {name: np.concatenate([array, np.flip(array, axis)], axis) for name, array, axis in arrays}
    return [one, twice]


def sequence_variants(nodes: Iterable[onnx.NodeProto], values: Mapping[str, Typed]) -> Iterator[Mapping[str, Typed]]:
    """Yield the values of a model with sequences of other lengths before and after a SequenceMap.

    Args:
        nodes: the nodes of a case.
        values: the values of the model by name.
    """
    names = {name for node in nodes if is_operator(node, "SequenceMap") for name in (*node.input, *node.output)}
    known = {name: values[name] for name in names if name in values}
    sequences = {name: each for name, each in known.items() if isinstance(each, TypedSequence)}
    for length in SEQUENCE_LENGTHS if sequences else ():
        if all(len(each.items) != length for each in sequences.values()):
            yield ChainMap({name: each.of_length(length) for name, each in sequences.items()}, dict(values))


def calls_in(model: onnx.ModelProto, prepared: onnx.ModelProto) -> Iterator[onnx.NodeProto]:
    """Yield the calls of functions in the graphs of a model that are inlined in another form of the model."""
    kept = {function_name(each) for each in prepared.functions}
    inlined = {function_name(each) for each in model.functions} - kept
    for node in iter_nodes(model.graph) if inlined else ():
        if called_name(node) in inlined:
            yield node


def values_of_node(node: onnx.NodeProto) -> list[str]:
    """Return the names of the values that a node takes, captures and returns."""
    return [*names_taken_by(node), *filter(None, node.output)]
