"""Enclosing scopes of the tested nodes: `SCOPES` has a builder for each scope.

The nodes can be in the main graph, a branch of If, the body of Loop or Scan, or a model-local function. Some builders
also move the operand sources and the result consumers into the scope; others leave them in the main graph.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import onnx
from onnx import helper

from conformance.corpus.factors.connections import (
    CONDITION_INPUT,
    Fragment,
    GraphPart,
    constant_node,
    if_node,
    join_parts,
    zeros_part,
)
from conformance.exact.models.graphs import copy_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from conformance.exact.models.arrays import Array


CUSTOM_DOMAIN = "acme"
"""Operator domain for model-local functions. No runtime has operators in this domain."""

FUNCTION_OPSET = 13
"""Opset of the main domain in a function whose tested nodes need none."""

ITERATIONS = 2
"""Number of loop iterations. The second iteration reveals data that the first one corrupted."""


@dataclass(frozen=True)
class ScopeContent:
    """The tested nodes with the nodes that compute their operands and use their results.

    Attributes:
        before: nodes and constants that compute the operands.
        fragment: the tested nodes.
        after: nodes that use the results.
    """

    before: GraphPart
    fragment: Fragment
    after: GraphPart

    @property
    def whole(self) -> GraphPart:
        """All nodes (before, tested, after) as one part of a graph."""
        return join_parts((self.before, GraphPart(self.fragment.nodes), self.after))

    def replaced_by(
        self,
        *nodes: onnx.NodeProto,
        initializers: Sequence[onnx.TensorProto] = (),
        given: Mapping[str, Array] | None = None,
        functions: Sequence[onnx.FunctionProto] = (),
    ) -> GraphPart:
        """Return the whole with other nodes in place of the tested nodes.

        Args:
            nodes: the other nodes.
            initializers: dense initializers that they use.
            given: outputs of the graph besides those of `after`, as in `GraphPart`.
            functions: the functions that the nodes call.
        """
        other = GraphPart(nodes, initializers, functions=functions)
        return join_parts((self.before, other, self.after, GraphPart(given=given or {})))


def _if_else(content: ScopeContent) -> GraphPart:
    """Return a part with the tested nodes in the else_branch of an If, whose condition a Not node computes."""
    fragment = content.fragment
    return content.replaced_by(
        helper.make_node("Not", [CONDITION_INPUT], ["no"]),
        _two_branches("no", fragment.results, zeros_part(fragment.results), fragment.inside()),
    )


def _two_branches(condition: str, results: Mapping[str, Array], then: GraphPart, other: GraphPart) -> onnx.NodeProto:
    """Return an If node."""
    branches = {"then_branch": then.graph("then"), "else_branch": other.graph("else")}
    return helper.make_node("If", [condition], list(results), **branches)


def _suffixed(arrays: Mapping[str, Array], suffix: str) -> dict[str, Array]:
    """Return arrays by other names."""
    return {f"{name}_{suffix}": array for name, array in arrays.items()}


def _if(part: GraphPart) -> GraphPart:
    """Return an If node with the nodes of `part` in the branch that is taken."""
    given = _suffixed(part.given, "if")
    return GraphPart([if_node(list(given), part.graph("then"), part.given)], given=given)


def _loop_stacking(part: GraphPart) -> GraphPart:
    """Return a Loop node that runs the nodes of `part` in each iteration and stacks the results of the iterations."""
    given = {f"{name}_loop": np.stack([array] * ITERATIONS) for name, array in part.given.items()}
    node = helper.make_node("Loop", ["trips", CONDITION_INPUT], list(given), body=_loop_body(part, {}))
    return GraphPart([node], [_trip_count()], given=given)


def _loop(content: ScopeContent, doubled: Sequence[str] = ()) -> GraphPart:
    """Return a part with the tested nodes in a Loop; results are operands of the next iteration (loop-carried).

    Args:
        content: the tested nodes and the nodes around them.
        doubled: names of operands that each iteration doubles for the next one.
    """
    fragment = content.fragment
    given = {**fragment.results, **{f"{name}_doubled": fragment.operands[name] for name in doubled}}
    carried = {fragment.carried[name]: array for name, array in fragment.results.items()}
    carried |= {name: fragment.operands[name] for name in doubled}
    names = {name: f"{name}_carried" for name in carried}
    doubling = [helper.make_node("Add", [names[name]] * 2, [f"{name}_doubled_inside"]) for name in doubled]
    inside = replace(fragment.inside(names), given=_suffixed(given, "inside"))
    inner = replace(inside, nodes=[*inside.nodes, *doubling])
    body = _loop_body(inner, {names[name]: array for name, array in carried.items()})
    node = helper.make_node("Loop", ["trips", "", *carried], list(given), body=body)
    return content.replaced_by(node, initializers=[_trip_count()])


def _loop_body(part: GraphPart, inputs: Mapping[str, Array]) -> onnx.GraphProto:
    """Return the body of a Loop that goes on, with further inputs after the iteration number and the condition."""
    goes_on = helper.make_node("Identity", ["goes_on"], ["again"])
    body = replace(part, nodes=[goes_on, *part.nodes], given={"again": np.array(True), **part.given})
    first = {"iteration": np.array(0, dtype=np.int64), "goes_on": np.array(True)}
    return body.graph("body", {**first, **inputs})


def _trip_count() -> onnx.TensorProto:
    return helper.make_tensor("trips", onnx.TensorProto.INT64, (), [ITERATIONS])


def _loop_invariant(content: ScopeContent) -> GraphPart:
    """Return a part with the tested nodes in a Loop that captures all operands and returns the last results.

    Every iteration has the same operands, so a runtime may run the nodes once. It must not change the operands.
    """
    fragment = content.fragment
    zeros = zeros_part(_suffixed(fragment.results, "start"))
    body = _loop_body(fragment.inside(), _suffixed(fragment.results, "earlier"))
    node = helper.make_node("Loop", ["trips", "", *zeros.given], list(fragment.results), body=body)
    return content.replaced_by(*zeros.nodes, node, initializers=[_trip_count()])


def _if_both(content: ScopeContent) -> GraphPart:
    """Return a part with two Ifs that have the tested nodes in both branches, with other attributes in one of them.

    The first If takes the first branch, and the second If takes the other one. Nodes of two branches can have one name.
    """
    fragment = content.fragment
    again = _suffixed(fragment.results, "again")
    then, other = (replace(fragment, nodes=nodes).inside() for nodes in (fragment.nodes, fragment.again))
    return content.replaced_by(
        helper.make_node("Not", [CONDITION_INPUT], ["no"]),
        _two_branches(CONDITION_INPUT, fragment.results, then, other),
        _two_branches("no", again, then, other),
        given=again,
    )


def _scan(content: ScopeContent) -> GraphPart:
    """Return a part with the tested nodes in a Scan over the rows of all tensors; scalars are captured."""
    fragment = content.fragment
    rows = {name: array[0] for name, array in fragment.operands.items() if array.ndim}
    names = {name: f"{name}_row" for name in rows}
    inside = fragment.inside(names)
    part = replace(inside, given={name: array[0] for name, array in inside.given.items()})
    body = part.graph("body", {names[name]: row for name, row in rows.items()})
    node = helper.make_node("Scan", list(rows), list(fragment.results), body=body, num_scan_inputs=len(rows))
    return content.replaced_by(node)


def _function(content: ScopeContent) -> GraphPart:
    """Return a part with the tested nodes in a function.

    Every second attribute is a default of the function; the call has the others.
    """
    attributes = _all_attributes(content.fragment.nodes)
    given = attributes[::2]
    defaults = attributes[1::2]
    step = _step_function(content.fragment, given, defaults)
    return content.replaced_by(_call("Step", content.fragment, given), functions=(step,))


def _function_twice(content: ScopeContent) -> GraphPart:
    """Return a part that calls a function of the tested nodes twice, with the same operands and other attributes."""
    fragment = content.fragment
    calls = [_call("Step", fragment, _all_attributes(nodes)) for nodes in (fragment.nodes, fragment.again)]
    again = _suffixed(fragment.results, "again")
    calls[1].output[:] = list(again)
    return content.replaced_by(*calls, given=again, functions=(_step_function(fragment),))


def _function_in_function(content: ScopeContent) -> GraphPart:
    """Return a part with the tested nodes in a function that another function calls with its own attributes."""
    fragment = content.fragment
    attributes = _all_attributes(content.fragment.nodes)
    inner = _call("Step", fragment, map(_attribute_reference, attributes))
    outer = _make_function("Outer", fragment, [inner], attributes, {CUSTOM_DOMAIN: 1})
    return content.replaced_by(_call("Outer", fragment, attributes), functions=(_step_function(fragment), outer))


def _if_in_function(content: ScopeContent) -> GraphPart:
    """Return a part with the tested nodes in a branch of an If in a function, with references to attributes."""
    fragment = content.fragment
    yes = constant_node(CONDITION_INPUT, np.array(True))
    step = _step_function(fragment)
    branch = replace(fragment, nodes=tuple(step.node))
    around = if_node(list(fragment.results), branch.inside().graph("then"), fragment.results)
    del step.node[:]
    step.node.extend([yes, around])
    if "" not in fragment.opsets:
        step.opset_import.add(domain="", version=FUNCTION_OPSET)
    call = _call("Step", fragment, _all_attributes(fragment.nodes))
    return content.replaced_by(call, functions=(step,))


def _all_attributes(nodes: Iterable[onnx.NodeProto]) -> list[onnx.AttributeProto]:
    """Return all attributes of nodes. Attributes of the same name must have the same value."""
    return list({attribute.name: attribute for node in nodes for attribute in node.attribute}.values())


def _step_function(
    fragment: Fragment, given: Iterable[onnx.AttributeProto] | None = None, defaults: Iterable[onnx.AttributeProto] = ()
) -> onnx.FunctionProto:
    """Return a function of the tested nodes in which every attribute refers to an attribute of the call.

    Args:
        fragment: the tested nodes.
        given: the attributes that calls have; all of them by default.
        defaults: the attributes with a default value in the function.
    """
    nodes, given = [], _all_attributes(fragment.nodes) if given is None else given
    for node in fragment.nodes:
        copy = copy_of(node)
        del copy.attribute[:]
        copy.attribute.extend(map(_attribute_reference, node.attribute))
        nodes.append(copy)
    return _make_function("Step", fragment, nodes, given, fragment.opsets, defaults)


def _make_function(
    name: str,
    fragment: Fragment,
    nodes: Iterable[onnx.NodeProto],
    given: Iterable[onnx.AttributeProto],
    opsets: Mapping[str, int],
    defaults: Iterable[onnx.AttributeProto] = (),
) -> onnx.FunctionProto:
    return helper.make_function(
        CUSTOM_DOMAIN,
        name,
        list(fragment.operands),
        list(fragment.results),
        list(nodes),
        [helper.make_opsetid(*opset) for opset in opsets.items()],
        [attribute.name for attribute in given],
        list(defaults),
    )


def _attribute_reference(attribute: onnx.AttributeProto) -> onnx.AttributeProto:
    return onnx.AttributeProto(name=attribute.name, type=attribute.type, ref_attr_name=attribute.name)


def _call(name: str, fragment: Fragment, attributes: Iterable[onnx.AttributeProto]) -> onnx.NodeProto:
    node = helper.make_node(name, list(fragment.operands), list(fragment.results), domain=CUSTOM_DOMAIN)
    node.attribute.extend(attributes)
    return node


SCOPES: Mapping[str, Callable[[ScopeContent], GraphPart]] = {
    "main": lambda content: content.whole,
    "if_then": lambda content: _if(content.whole),
    "if_else": _if_else,
    "loop": _loop,
    "scan": _scan,
    "if_in_loop": lambda content: _loop_stacking(_if(content.whole)),
    "function": _function,
    "function_twice": _function_twice,
    "function_in_function": _function_in_function,
    "loop_invariant": _loop_invariant,
    "if_both": _if_both,
}
"""Builders of enclosing scopes by level."""

SEARCH_SCOPES: Mapping[str, Callable[[ScopeContent], GraphPart]] = {
    "loop_doubling_r": partial(_loop, doubled=("R",)),
    "loop_doubling_t": partial(_loop, doubled=("T",)),
    "if_in_function": _if_in_function,
}
"""Builders of enclosing scopes that only random examples of training optimizers have."""
