"""Nodes that have other nodes inside: control flow with its subgraphs, and calls of model-local functions.

Such a node has a case of its own: its subgraphs, and the functions that it calls, are parts of the model of the case.
The values that its subgraphs capture are operands like others.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx

from conformance.exact.declarations.hard_values import MODES, elements
from conformance.exact.models.arrays import is_floating
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

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from conformance.exact.models.arrays import Array
    from conformance.exact.models.graphs import FunctionName

FIRST_SCAN_WITHOUT_BATCH = 9
"""The version of Scan from which its operands have no axis for a batch."""

DRAWN_MODES = tuple(map(MODES.index, ("halves", "near 1", "integers")))
"""The modes of the draws of `drawn_numbers`."""

MAX_DRAWN_STEPS = 1000
"""Maximum number of steps of a Loop that runs on drawn numbers: a condition may never end it."""

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
    """Remove the name and the texts for people from a subgraph, and the sizes: another case has other ones."""
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


def has_few_steps(model: onnx.ModelProto, node: onnx.NodeProto, known: Mapping[str, Any]) -> bool:
    """Return whether a node ends on any numbers: it has no Loop inside, and few steps if it is a Loop.

    Args:
        model: a model with the functions that the node calls.
        node: the node.
        known: the values of its operands by name.
    """
    inner = chain(*map(iter_nodes, subgraphs_of(node)), *map(iter_nodes, called_functions(model, [node])))
    if any(is_operator(each, "Loop") for each in inner):
        return False
    trips = known.get(next(iter(node.input), ""))
    return not is_operator(node, "Loop") or (isinstance(trips, np.ndarray) and bool(np.all(trips <= MAX_DRAWN_STEPS)))


def drawn_numbers(arrays: Mapping[str, Array], number: int) -> dict[str, Array]:
    """Return ordinary numbers for floating-point operands: a condition within a Loop can depend on them.

    Args:
        arrays: the operands by name; only their types and shapes count.
        number: the number of the draw.
    """
    mode = DRAWN_MODES[number % len(DRAWN_MODES)]
    return {
        name: elements(f"X{place}/draw/{number}", array.dtype, array.shape, "number", mode, ())
        for place, (name, array) in enumerate(arrays.items())
        if is_floating(array.dtype)
    }


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
