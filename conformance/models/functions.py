"""How the functions of a model call each other: whether one calls itself, and how large their calls make a model.

What is computed call by call takes as long as the model is large with every call replaced by its function's body, and
that can double with each function.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from conformance.models.graphs import graphs_of, nodes_of
from conformance.models.signatures import MAIN_DOMAINS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import onnx

FunctionName: TypeAlias = tuple[str, str, str]
"""Domain, name and, since IR version 10, overload: by these a node calls a function."""

MOST_NODES = 200_000
"""A model with more nodes after its calls were replaced is not computed with call by call."""

MOST_LEVELS = 100
"""Nor one in which calls are deeper within calls."""


class _Extent(NamedTuple):
    """How many nodes a call comes to, and how many levels of calls."""

    nodes: int
    levels: int


def name_of_function(function: onnx.FunctionProto) -> FunctionName:
    """What a function is called by."""
    return _domain(function.domain), function.name, getattr(function, "overload", "")


def called_name(node: onnx.NodeProto) -> FunctionName:
    """The function that a node calls, if the model has it."""
    return _domain(node.domain), node.op_type, getattr(node, "overload", "")


def recursion(model: onnx.ModelProto) -> str | None:
    """What is wrong with functions that call themselves, directly or not, in a sentence; None where none does."""
    calls = _calls(model)
    recursive = sorted(calls.keys() - _extents(calls).keys())
    if not recursive:
        return None
    domain, name, _ = recursive[0]
    return f"The function {domain or 'ai.onnx'}.{name} leads to a function that calls itself, which ONNX forbids."


def endless_calls(model: onnx.ModelProto) -> str | None:
    """Why the calls of a model's functions cannot be followed one by one, in a sentence; None where they can."""
    if not model.functions:
        return None
    if (fault := recursion(model)) is not None:
        return fault
    extents = _extents(_calls(model))
    nodes, levels = _extent(sum((_called(nodes_of(graph)) for graph in graphs_of(model)), Counter()), extents)
    if nodes > MOST_NODES or levels > MOST_LEVELS:
        return (
            f"The model's calls of functions come to more than {MOST_NODES:,} nodes, or are more than {MOST_LEVELS}"
            " levels deep, which is not computed with."
        )
    return None


def _calls(model: onnx.ModelProto) -> dict[FunctionName, Counter[FunctionName]]:
    return {name_of_function(function): _called(nodes_of(function)) for function in model.functions}


def _extents(calls: Mapping[FunctionName, Counter[FunctionName]]) -> dict[FunctionName, _Extent]:
    """What a call of each function comes to, but for those that do not end; callees come before their callers."""
    left = {name: len(called.keys() & calls.keys()) for name, called in calls.items()}
    callers: dict[FunctionName, list[FunctionName]] = {name: [] for name in calls}
    for name, called in calls.items():
        for callee in called.keys() & calls.keys():
            callers[callee].append(name)
    ready = [name for name, count in left.items() if not count]
    extents: dict[FunctionName, _Extent] = {}
    while ready:
        name = ready.pop()
        extents[name] = _extent(calls[name], extents)
        for caller in callers[name]:
            left[caller] -= 1
            if not left[caller]:
                ready.append(caller)
    return extents


def _extent(called: Counter[FunctionName], extents: Mapping[FunctionName, _Extent]) -> _Extent:
    """What nodes come to together, given what the functions among them do."""
    of_functions = [(extents[name], count) for name, count in called.items() if name in extents]
    nodes = called.total() + sum(extent.nodes * count for extent, count in of_functions)
    return _Extent(nodes, max((extent.levels + 1 for extent, _ in of_functions), default=0))


def _called(nodes: Iterable[onnx.NodeProto]) -> Counter[FunctionName]:
    """How often each operator or function is called by nodes, those in graphs inside of them included."""
    return Counter(map(called_name, nodes))


def _domain(domain: str) -> str:
    return "" if domain in MAIN_DOMAINS else domain
