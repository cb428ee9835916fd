"""Faults about the model's own functions: their bodies, their axes, those that are alike."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import onnx
from onnx import AttributeProto

from conformance.deviations.rewrites.fault import FaultyRewrite, afterwards, altered
from conformance.models.functions import called_name, name_of_function
from conformance.models.graphs import all_nodes
from conformance.passes.eliminate_nop_monotone_argmax import (
    ALONG_AXIS,
    ELEMENTWISE,
    eliminate,
    is_monotone,
    is_standard,
)
from conformance.verdicts import Level

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.models.scopes import Scope
    from conformance.passes.eliminate_nop_monotone_argmax import Site


def in_bodies(model: onnx.ModelProto, fixed_point: bool, is_monotone: Callable[[Site], bool]) -> onnx.ModelProto:
    """The pass, and in the bodies of functions one that fires otherwise."""
    after = eliminate(model, fixed_point)
    within = replace(eliminate, is_monotone=is_monotone)
    for function in after.functions:
        outputs = [onnx.ValueInfoProto(name=name) for name in function.output]
        graph = onnx.GraphProto(node=function.node, output=outputs)
        body = within(onnx.ModelProto(graph=graph, opset_import=function.opset_import), fixed_point)
        del function.node[:]
        function.node.extend(body.graph.node)
    return after


def _references_are_zero(site: Site) -> bool:
    """Reads an axis that a call gives as 0."""
    axes = [
        next((int(held.i) for held in node.attribute if held.name == "axis" and held.type == AttributeProto.INT), None)
        for node in (site.producer, site.argmax)
    ]
    return site.producer.op_type in ELEMENTWISE or (site.producer.op_type in ALONG_AXIS and axes[0] == axes[1])


def _axes_of_calls_as_zero(model: onnx.ModelProto, fixed_point: bool = False) -> onnx.ModelProto:
    return in_bodies(model, fixed_point, _references_are_zero)


def _with_functions(model: onnx.ModelProto, fixed_point: bool = False) -> onnx.ModelProto:
    """The pass, and the same on the bodies of functions."""
    return in_bodies(model, fixed_point, is_monotone)


def _by_its_body(scope: Scope, name: str) -> onnx.NodeProto | None:
    """The producer of a value; a call of a function of one node counts as that node."""
    node = scope.producer(name)
    for function in scope.model.functions if node is not None and node.domain else ():
        if node is not None and called_name(node) == name_of_function(function) and len(function.node) == 1:
            inner = function.node[0]
            if inner.op_type in ELEMENTWISE:
                node.op_type, node.domain = inner.op_type, inner.domain
    return node


def _merged(alike: Callable[[onnx.FunctionProto], object]) -> Callable[[onnx.ModelProto], None]:
    """Leaves one of the functions that are alike, and has all calls go there."""

    def spoil(model: onnx.ModelProto) -> None:
        kept: dict[object, onnx.FunctionProto] = {}
        for function in list(model.functions):
            first = kept.setdefault(alike(function), function)
            if first is function:
                continue
            for node in all_nodes(model):
                if called_name(node) == name_of_function(function):
                    node.op_type, node.overload = first.name, first.overload
            model.functions.remove(function)

    return spoil


def _overloads_forgotten(model: onnx.ModelProto) -> None:
    """Leaves the first of several overloads, and calls it by its name alone."""
    _merged(lambda function: (function.domain, function.name))(model)


def _unused(model: onnx.ModelProto) -> None:
    """Drops functions that the main graph's own nodes do not call."""
    called = set(map(called_name, model.graph.node))
    for function in [function for function in model.functions if name_of_function(function) not in called]:
        model.functions.remove(function)


def _of_main_calls(scope: Scope, node: onnx.NodeProto) -> bool:
    return is_standard(scope, node) and not any(entry.domain == "acme" for entry in scope.model.opset_import)


def _body_text(function: onnx.FunctionProto) -> object:
    return tuple(node.SerializeToString(deterministic=True) for node in function.node)


FUNCTIONS = (
    FaultyRewrite("function_bodies", "fires in the bodies of functions", _with_functions, Level.SHOULD),
    FaultyRewrite("axes_of_calls", "takes an axis that the call of a function gives for 0", _axes_of_calls_as_zero),
    altered("looks_into_functions", "removes a call of a function that is Exp by its body", producer=_by_its_body),
    afterwards("merges_functions", "leaves one of several functions with equal bodies", _merged(_body_text)),
    afterwards("merges_overloads", "leaves one of several overloads of a function", _overloads_forgotten),
    afterwards("drops_inner_functions", "drops functions that only functions or inner graphs call", _unused),
    altered("no_functions_beside", "stays where the model has a domain of its own", is_standard=_of_main_calls),
)
