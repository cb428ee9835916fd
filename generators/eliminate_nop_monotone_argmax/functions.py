"""Functions of the model's own around the pair: bodies in bodies, calls in graphs of nodes, axes that calls give."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import AttributeProto, helper

from conformance.corpus.case import Firing, Rewrite
from conformance.dimensions.blocks import branch, constant, function, if_node
from conformance.generation.models import declared_as
from conformance.generation.values import ranked
from generators.eliminate_nop_monotone_argmax.containers import Contained, contained, driven
from generators.eliminate_nop_monotone_argmax.scenario import (
    FIRES,
    FIVE,
    SHAPE,
    STAYS,
    ScenarioGraph,
    argmax,
    fires,
    index_of,
    pair,
    producer,
    scenario,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import onnx

    from conformance.corpus.case import Case
    from conformance.models.arrays import Array

FAMILY = "functions"
IN_BODY = Rewrite(Firing.MAY)
"""Nothing is promised of what stands in the bodies of functions."""

ACME = helper.make_opsetid("acme", 1)


def cases() -> Iterator[Case]:
    """The pair in bodies, parted by calls, and beside functions that are like each other."""
    yield from _in_bodies()
    yield from _axes_of_calls()
    yield from _parted()
    yield from _alike()


def _call(op_type: str, source: str, result: str, **attributes: Any) -> onnx.NodeProto:
    return helper.make_node(op_type, [source], [result], domain="acme", **attributes)


def _calling(name: str, nodes: Sequence[onnx.NodeProto], **rest: Any) -> onnx.FunctionProto:
    """A function whose body calls others."""
    body = function(name, nodes, **rest)
    body.opset_import.append(ACME)
    return body


def _in_bodies() -> Iterator[Case]:
    every = [function(f"Largest{op_type}", [producer(op_type, "A", "Y"), argmax("Y", "B")]) for op_type in FIVE]
    yield _case(
        "each_in_a_body",
        "Each of the five before an ArgMax in the body of a function may go",
        IN_BODY,
        [_call(f"Largest{op_type}", "X", f"index_{op_type}") for op_type in FIVE],
        every,
        [index_of(SHAPE, name=f"index_{op_type}") for op_type in FIVE],
    )
    largest = function("Largest", [producer("Exp", "A", "Y"), argmax("Y", "B")])
    yield _case(
        "body_in_a_body",
        "Exp before ArgMax in the body of a function that another function calls may go",
        IN_BODY,
        [_call("Outer", "X", "index")],
        [largest, _calling("Outer", [_call("Largest", "A", "B")])],
    )
    yes = constant("yes", np.array(True))
    then = branch("then", [producer("Log", "A", "Y"), argmax("Y", "inner")], ["inner"], SHAPE[:1], "int64")
    otherwise = branch("else", [argmax("A", "plain")], ["plain"], SHAPE[:1], "int64")
    yield _case(
        "branch_in_a_body",
        "Log before ArgMax in a branch of an If in the body of a function may go",
        IN_BODY,
        [_call("Chosen", "X", "index")],
        [function("Chosen", [yes, if_node("yes", "B", then, otherwise)])],
    )
    within = contained(Contained([_call("Largest", "X", "inner")], "inner", SHAPE[:1]), ["If", "Loop"])
    yield _case(
        "called_in_a_loop",
        "Exp goes from the main graph, and a function called in a Loop in an If stays",
        FIRES,
        [*driven(), *pair(), *within.nodes],
        [largest],
        [index_of(SHAPE), declared_as(within.output, "int64", within.shape)],
    )


def _axes_of_calls() -> Iterator[Case]:
    """A body has no axis of its own: two calls give it two."""
    body = function("Along", [producer("Softmax", "A", "Y", 7), argmax("Y", "B", 7)], attributes=["along"])
    for node in body.node:
        axis = next(attribute for attribute in node.attribute if attribute.name == "axis")
        axis.CopyFrom(AttributeProto(name="axis", type=AttributeProto.INT, ref_attr_name="along"))
    yield _case(
        "axis_of_each_call",
        "Softmax before ArgMax in a body along an axis that each call gives may go",
        IN_BODY,
        [_call("Along", "X", "index1", along=1), _call("Along", "X", "index2", along=0)],
        [body],
        [index_of(SHAPE, name="index1"), index_of(SHAPE, 0, name="index2")],
    )
    one = function("Along", [producer("Softmax", "A", "Y", 0), argmax("Y", "B")], attributes=["along"])
    one.node[1].attribute[0].CopyFrom(AttributeProto(name="axis", type=AttributeProto.INT, ref_attr_name="along"))
    yield _case(
        "axis_of_argmax_alone",
        "Softmax along axis 0 before an ArgMax in a body, along an axis that the call gives, computes what it did",
        IN_BODY,
        [_call("Along", "X", "index", along=1)],
        [one],
        X=np.array([[1, 3, 2], [4, 9, 1]], dtype=np.float32),
    )


def _parted() -> Iterator[Case]:
    """The operator on one side of a call, ArgMax on the other."""
    yield _case(
        "argmax_in_a_body",
        "Exp stays before the call of a function that is ArgMax by its body",
        STAYS,
        [producer("Exp"), _call("Largest", "Y", "index")],
        [function("Largest", [argmax("A", "B")])],
    )
    rises = _calling("Rise", [_call("Exponential", "A", "B")])
    yield _case(
        "operator_two_bodies_in",
        "A function that calls another one, which is Exp by its body, stays before ArgMax",
        STAYS,
        [_call("Rise", "X", "Y"), argmax()],
        [function("Exponential", [helper.make_node("Exp", ["A"], ["B"])]), rises],
    )
    yield _case(
        "result_into_two_calls",
        "Softmax stays where two calls of one function take its result besides ArgMax",
        STAYS,
        [*pair("Softmax"), _call("Same", "Y", "Z1"), _call("Same", "Y", "Z2")],
        [function("Same", [helper.make_node("Identity", ["A"], ["B"])])],
        [index_of(SHAPE), *(declared_as(name, "float", SHAPE) for name in ("Z1", "Z2"))],
    )


def _alike() -> Iterator[Case]:
    """Functions that are equal but for a name or an overload, and names of the five in both domains at once."""
    neg, same = (helper.make_node(op_type, ["A"], ["B"]) for op_type in ("Neg", "Identity"))
    yield _case(
        "equal_bodies",
        "Two functions with equal bodies stay two, and Exp between their calls goes",
        FIRES,
        [_call("First", "X", "X0"), producer("Exp", "X0", "Y"), argmax(), _call("Second", "X", "Z")],
        [function("First", [neg]), function("Second", [neg])],
        [index_of(SHAPE), declared_as("Z", "float", SHAPE)],
    )
    yield _case(
        "overloads_of_exp",
        "Two overloads of a function named Exp stay before ArgMax, and ONNX's own Exp between them goes",
        fires("Y2"),
        [
            _call("Exp", "X", "Y1", overload="down"),
            producer("Exp", "X", "Y2"),
            _call("Exp", "X", "Y3", overload="same"),
            *(argmax(f"Y{number}", f"index{number}") for number in (1, 2, 3)),
        ],
        [function("Exp", [neg], overload="down"), function("Exp", [same], overload="same")],
        [index_of(SHAPE, name=f"index{number}") for number in (1, 2, 3)],
        ir_version=10,
    )
    every = [(op_type, f"Y{number}") for number, op_type in enumerate(FIVE)]
    yield _case(
        "all_names_of_both_domains",
        "Functions named like the five, axes and all, stay each beside the operator of its name, which goes",
        fires(*(value for _, value in every)),
        [
            *(producer(op_type, "X", value) for op_type, value in every),
            *(_call(op_type, "X", f"{value}_f", axis=1) for op_type, value in every),
            *(argmax(value, f"{value}_index") for _, value in every),
            *(argmax(f"{value}_f", f"{value}_f_index") for _, value in every),
        ],
        [function(op_type, [neg], attributes=["axis"]) for op_type in FIVE],
        [index_of(SHAPE, name=f"{value}{end}") for end in ("_index", "_f_index") for _, value in every],
    )


def _case(
    name: str,
    title: str,
    rewrite: Rewrite,
    nodes: Sequence[onnx.NodeProto],
    functions: Sequence[onnx.FunctionProto],
    outputs: Sequence[onnx.ValueInfoProto] = (),
    X: Array | None = None,
    **rest: Any,
) -> Case:
    graph = ScenarioGraph(
        nodes,
        (ranked(f"functions/{name}", SHAPE, np.float32) if X is None else X,),
        outputs=outputs,
        functions=functions,
        opsets={"": 13, "acme": 1},
        **rest,
    )
    return scenario(FAMILY, name, title, ("domain", "argmax.index"), rewrite, graph)
