"""Where nodes stand: a table of builders, each of which puts a fragment, and often what is around it, into a graph.

Within a graph in a node, and within a function, operands come from around it or from beside the nodes; results leave it
or are used beside them. Each place has one of the two, so that both occur.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import onnx
from onnx import helper

from conformance.dimensions.fragments import Fragment, Part, joined
from conformance.dimensions.uses import CONDITION, zeros

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from conformance.models.arrays import Array

OWN = "acme"
"""A domain that no runtime has operators of."""

ITERATIONS = 2
"""How often a loop runs: what the first iteration spoils, the second shows."""


@dataclass(frozen=True)
class Site:
    """A fragment and what is around it.

    Attributes:
        before: what gives the operands.
        after: what uses the results.
    """

    before: Part
    fragment: Fragment
    after: Part

    @property
    def whole(self) -> Part:
        """All of it, to be put into a graph."""
        return joined((self.before, Part(self.fragment.nodes), self.after))

    def around(self, *parts: Part) -> Part:
        """Parts that stand for the fragment, between what is around it."""
        return joined((self.before, *parts, self.after))


@dataclass(frozen=True)
class Placed:
    """What stands in the main graph, and the functions that it calls."""

    main: Part
    functions: tuple[onnx.FunctionProto, ...] = ()


def _main(site: Site) -> Placed:
    return Placed(site.whole)


def _if_then(site: Site) -> Placed:
    return Placed(_if(site.whole))


def _if_else(site: Site) -> Placed:
    """The branch that is taken where the condition, a node's result, does not hold."""
    fragment = site.fragment
    inner = {f"{name}_inside": array for name, array in fragment.results.items()}
    nodes = [
        helper.make_node("Not", [CONDITION], ["no"]),
        helper.make_node(
            "If",
            ["no"],
            list(fragment.results),
            then_branch=zeros(fragment.results).graph("then"),
            else_branch=Part(fragment.inside({}), given=inner).graph("else"),
        ),
    ]
    return Placed(site.around(Part(nodes)))


def _if_in_loop(site: Site) -> Placed:
    return Placed(_repeated(_if(site.whole)))


def _if(part: Part) -> Part:
    """An If of which a part is the branch that is taken."""
    given = {f"{name}_if": array for name, array in part.given.items()}
    node = helper.make_node(
        "If", [CONDITION], list(given), then_branch=part.graph("then"), else_branch=zeros(part.given).graph("else")
    )
    return Part([node], given=given)


def _repeated(part: Part) -> Part:
    """A Loop that gives what a part gives in each iteration, stacked."""
    body = Part(
        [helper.make_node("Identity", ["goes_on"], ["again"]), *part.nodes],
        part.initializers,
        part.sparse,
        {"again": np.array(True), **part.given},
    )
    given = {f"{name}_loop": np.stack([array] * ITERATIONS) for name, array in part.given.items()}
    node = helper.make_node("Loop", ["trips", CONDITION], list(given), body=body.graph("body", _counting()))
    return Part([node], [_trips()], given=given)


def _loop(site: Site) -> Placed:
    """A Loop in which results take the place of operands, from iteration to iteration."""
    fragment = site.fragment
    carried = {fragment.carried[name]: array for name, array in fragment.results.items()}
    names = {name: f"{name}_carried" for name in carried}
    body = Part(
        [helper.make_node("Identity", ["goes_on"], ["again"]), *fragment.inside(names)],
        given={"again": np.array(True), **{f"{name}_inside": array for name, array in fragment.results.items()}},
    )
    inputs = {**_counting(), **{names[name]: array for name, array in carried.items()}}
    node = helper.make_node("Loop", ["trips", "", *carried], list(fragment.results), body=body.graph("body", inputs))
    return Placed(site.around(Part([node], [_trips()])))


def _counting() -> dict[str, Array]:
    """The first inputs of a loop's body."""
    return {"iteration": np.array(0, dtype=np.int64), "goes_on": np.array(True)}


def _trips() -> onnx.TensorProto:
    return helper.make_tensor("trips", onnx.TensorProto.INT64, (), [ITERATIONS])


def _scan(site: Site) -> Placed:
    """A Scan over the rows of all tensors; scalars are captured."""
    fragment = site.fragment
    rows = {name: array[0] for name, array in fragment.operands.items() if array.ndim}
    names = {name: f"{name}_row" for name in rows}
    given = {f"{name}_inside": array[0] for name, array in fragment.results.items()}
    body = Part(fragment.inside(names), given=given).graph("body", {names[name]: row for name, row in rows.items()})
    node = helper.make_node("Scan", list(rows), list(fragment.results), body=body, num_scan_inputs=len(rows))
    return Placed(site.around(Part([node])))


def _function(site: Site) -> Placed:
    """A call that gives every other attribute; the function has the rest as defaults."""
    attributes = _attributes(site.fragment.nodes)
    given, defaults = attributes[::2], attributes[1::2]
    call = _call("Step", site.fragment, given)
    return Placed(site.around(Part([call])), (_step(site.fragment, given, defaults),))


def _function_twice(site: Site) -> Placed:
    """Two calls for the same operands, the second with other attributes."""
    fragment = site.fragment
    calls = [_call("Step", fragment, _attributes(nodes)) for nodes in (fragment.nodes, fragment.again)]
    again = {f"{name}_again": array for name, array in fragment.results.items()}
    calls[1].output[:] = list(again)
    main = joined((site.around(Part(calls)), Part(given=again)))
    return Placed(main, (_step(fragment, _attributes(fragment.nodes)),))


def _function_in_function(site: Site) -> Placed:
    """A function that hands its attributes on to another."""
    fragment, attributes = site.fragment, _attributes(site.fragment.nodes)
    inner = _call("Step", fragment, map(_reference, attributes))
    outer = _defined("Outer", fragment, [inner], attributes, {OWN: 1})
    return Placed(site.around(Part([_call("Outer", fragment, attributes)])), (_step(fragment, attributes), outer))


def _attributes(nodes: Iterable[onnx.NodeProto]) -> list[onnx.AttributeProto]:
    """All attributes of nodes; those of one name are the same."""
    return list({attribute.name: attribute for node in nodes for attribute in node.attribute}.values())


def _step(
    fragment: Fragment, given: Iterable[onnx.AttributeProto], defaults: Iterable[onnx.AttributeProto] = ()
) -> onnx.FunctionProto:
    """A function of the fragment's nodes, each attribute of which refers to one of the call."""
    nodes = []
    for node in fragment.nodes:
        copy = onnx.NodeProto()
        copy.CopyFrom(node)
        del copy.attribute[:]
        copy.attribute.extend(map(_reference, node.attribute))
        nodes.append(copy)
    return _defined("Step", fragment, nodes, given, fragment.opsets, defaults)


def _defined(
    name: str,
    fragment: Fragment,
    nodes: Iterable[onnx.NodeProto],
    given: Iterable[onnx.AttributeProto],
    opsets: Mapping[str, int],
    defaults: Iterable[onnx.AttributeProto] = (),
) -> onnx.FunctionProto:
    return helper.make_function(
        OWN,
        name,
        list(fragment.operands),
        list(fragment.results),
        list(nodes),
        [helper.make_opsetid(*opset) for opset in opsets.items()],
        [attribute.name for attribute in given],
        list(defaults),
    )


def _reference(attribute: onnx.AttributeProto) -> onnx.AttributeProto:
    return onnx.AttributeProto(name=attribute.name, type=attribute.type, ref_attr_name=attribute.name)


def _call(name: str, fragment: Fragment, attributes: Iterable[onnx.AttributeProto]) -> onnx.NodeProto:
    node = helper.make_node(name, list(fragment.operands), list(fragment.results), domain=OWN)
    node.attribute.extend(attributes)
    return node


PLACES: Mapping[str, Callable[[Site], Placed]] = {
    "main": _main,
    "if_then": _if_then,
    "if_else": _if_else,
    "loop": _loop,
    "scan": _scan,
    "if_in_loop": _if_in_loop,
    "function": _function,
    "function_twice": _function_twice,
    "function_in_function": _function_in_function,
}
"""By word."""
