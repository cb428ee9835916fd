"""Cases with model-local functions: the pair in function bodies, calls in subgraphs, and axes set by calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import AttributeProto, helper, numpy_helper

from conformance.corpus.cases.case import PassEffect, Rewrite
from conformance.corpus.factors.message_fields import constant_node, if_node, make_branch, make_function
from conformance.exact.models.model_building import make_value_info
from generators.eliminate_nop_monotone_argmax.containers import ContainedNodes, container_inputs, nest_in_containers
from generators.eliminate_nop_monotone_argmax.pass_scenario import (
    APPLIES,
    DOES_NOT_APPLY,
    PASS_OPERATORS,
    SHAPE,
    ScenarioGraph,
    applies_to,
    argmax,
    index_info,
    pair,
    producer,
    scenario,
)
from generators.generated_values import permuted_quarters

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from conformance.corpus.cases.case import Case
    from conformance.exact.models.arrays import Array

FAMILY = "functions"
IN_BODY = Rewrite(PassEffect.OPTIONAL)
"""Effect of the pass in function bodies: it is optional."""

ACME = helper.make_opsetid("acme", 1)


def cases() -> Iterator[Case]:
    """Yield the cases: the pair in function bodies, a call between operator and ArgMax, and similar functions."""
    yield from _function_body_cases()
    yield from _axes_of_calls()
    yield from _divided_by_calls()
    yield from _similar_functions()
    yield from _sparse_constants()


def _call(op_type: str, source: str, result: str, **attributes: Any) -> onnx.NodeProto:
    return helper.make_node(op_type, [source], [result], domain="acme", **attributes)


def _function_with_calls(name: str, nodes: Sequence[onnx.NodeProto], **rest: Any) -> onnx.FunctionProto:
    """Return a function whose body calls other functions of the same domain."""
    body = make_function(name, nodes, **rest)
    body.opset_import.append(ACME)
    return body


def _function_body_cases() -> Iterator[Case]:
    every = [
        make_function(f"Largest{op_type}", [producer(op_type, "A", "Y"), argmax("Y", "B")])
        for op_type in PASS_OPERATORS
    ]
    yield _case(
        "each_in_a_body",
        "Each of the five before an ArgMax in the body of a function may be removed",
        IN_BODY,
        [_call(f"Largest{op_type}", "X", f"index_{op_type}") for op_type in PASS_OPERATORS],
        every,
        [index_info(SHAPE, name=f"index_{op_type}") for op_type in PASS_OPERATORS],
    )
    largest = make_function("Largest", [producer("Exp", "A", "Y"), argmax("Y", "B")])
    yield _case(
        "body_in_a_body",
        "Exp before ArgMax in the body of a function that another function calls may be removed",
        IN_BODY,
        [_call("Outer", "X", "index")],
        [largest, _function_with_calls("Outer", [_call("Largest", "A", "B")])],
    )
    yield _case(
        "body_gives_out_result",
        "Softmax before ArgMax in the body of a function stays if its result is an output of the function too",
        DOES_NOT_APPLY,
        [helper.make_node("Both", ["X"], ["index", "Z"], domain="acme")],
        [make_function("Both", [producer("Softmax", "A", "S"), argmax("S", "B")], outputs=["B", "S"])],
        [index_info(SHAPE), make_value_info("Z", "float", SHAPE)],
    )
    yes = constant_node("yes", np.array(True))
    then = make_branch("then", [producer("Log", "A", "Y"), argmax("Y", "inner")], ["inner"], SHAPE[:1], "int64")
    otherwise = make_branch("else", [argmax("A", "plain")], ["plain"], SHAPE[:1], "int64")
    yield _case(
        "branch_in_a_body",
        "Log before ArgMax in a branch of an If in the body of a function may be removed",
        IN_BODY,
        [_call("Chosen", "X", "index")],
        [make_function("Chosen", [yes, if_node("yes", "B", then, otherwise)])],
    )
    within = nest_in_containers(ContainedNodes([_call("Largest", "X", "inner")], "inner", SHAPE[:1]), ["If", "Loop"])
    yield _case(
        "called_in_a_loop",
        "Exp is removed from the main graph, and a function called in a Loop in an If stays",
        APPLIES,
        [*container_inputs(), *pair(), *within.nodes],
        [largest],
        [index_info(SHAPE), make_value_info(within.output, "int64", within.shape)],
    )


def _axes_of_calls() -> Iterator[Case]:
    """Yield cases in which the axis is an attribute of the function, so that calls can use different axes."""
    body = make_function("Along", [producer("Softmax", "A", "Y", 7), argmax("Y", "B", 7)], attributes=["along"])
    for node in body.node:
        axis = next(attribute for attribute in node.attribute if attribute.name == "axis")
        axis.CopyFrom(AttributeProto(name="axis", type=AttributeProto.INT, ref_attr_name="along"))
    yield _case(
        "axis_of_each_call",
        "Softmax before ArgMax in a function body may be removed if each call sets the axis of both",
        IN_BODY,
        [_call("Along", "X", "index1", along=1), _call("Along", "X", "index2", along=0)],
        [body],
        [index_info(SHAPE, name="index1"), index_info(SHAPE, 0, name="index2")],
    )
    one = make_function("Along", [producer("Softmax", "A", "Y", 0), argmax("Y", "B")], attributes=["along"])
    one.node[1].attribute[0].CopyFrom(AttributeProto(name="axis", type=AttributeProto.INT, ref_attr_name="along"))
    yield _case(
        "axis_of_argmax_alone",
        "Softmax along axis 0 before ArgMax along an axis that the call sets gives the same result after the pass",
        IN_BODY,
        [_call("Along", "X", "index", along=1)],
        [one],
        X=np.array([[1, 3, 2], [4, 9, 1]], dtype=np.float32),
    )


def _divided_by_calls() -> Iterator[Case]:
    """Yield cases with the operator and ArgMax on different sides of a function call."""
    yield _case(
        "argmax_in_a_body",
        "Exp stays before the call of a function whose body is ArgMax",
        DOES_NOT_APPLY,
        [producer("Exp"), _call("Largest", "Y", "index")],
        [make_function("Largest", [argmax("A", "B")])],
    )
    rises = _function_with_calls("Rise", [_call("Exponential", "A", "B")])
    yield _case(
        "operator_two_bodies_in",
        "A function that calls another function, whose body is Exp, stays before ArgMax",
        DOES_NOT_APPLY,
        [_call("Rise", "X", "Y"), argmax()],
        [make_function("Exponential", [helper.make_node("Exp", ["A"], ["B"])]), rises],
    )
    yield _case(
        "result_into_two_calls",
        "Softmax stays if two calls of a function also use its result",
        DOES_NOT_APPLY,
        [*pair("Softmax"), _call("Same", "Y", "Z1"), _call("Same", "Y", "Z2")],
        [make_function("Same", [helper.make_node("Identity", ["A"], ["B"])])],
        [index_info(SHAPE), *(make_value_info(name, "float", SHAPE) for name in ("Z1", "Z2"))],
    )


def _similar_functions() -> Iterator[Case]:
    """Yield cases with functions that differ only in name or overload, and with operator names in two domains."""
    neg, same = (helper.make_node(op_type, ["A"], ["B"]) for op_type in ("Neg", "Identity"))
    yield _case(
        "equal_bodies",
        "Two functions with equal bodies stay separate, and Exp between their calls is removed",
        APPLIES,
        [_call("First", "X", "X0"), producer("Exp", "X0", "Y"), argmax(), _call("Second", "X", "Z")],
        [make_function("First", [neg]), make_function("Second", [neg])],
        [index_info(SHAPE), make_value_info("Z", "float", SHAPE)],
    )
    yield _case(
        "overloads_of_exp",
        "Two overloads of a function named Exp stay before ArgMax, and the operator Exp between them is removed",
        applies_to("Y2"),
        [
            _call("Exp", "X", "Y1", overload="down"),
            producer("Exp", "X", "Y2"),
            _call("Exp", "X", "Y3", overload="same"),
            *(argmax(f"Y{number}", f"index{number}") for number in (1, 2, 3)),
        ],
        [make_function("Exp", [neg], overload="down"), make_function("Exp", [same], overload="same")],
        [index_info(SHAPE, name=f"index{number}") for number in (1, 2, 3)],
        ir_version=10,
    )
    every = [(op_type, f"Y{number}") for number, op_type in enumerate(PASS_OPERATORS)]
    yield _case(
        "all_names_of_both_domains",
        "Functions named like the five operators stay, and the operators of the same names are removed",
        applies_to(*(value for _, value in every)),
        [
            *(producer(op_type, "X", value) for op_type, value in every),
            *(_call(op_type, "X", f"{value}_f", axis=1) for op_type, value in every),
            *(argmax(value, f"{value}_index") for _, value in every),
            *(argmax(f"{value}_f", f"{value}_f_index") for _, value in every),
        ],
        [make_function(op_type, [neg], attributes=["axis"]) for op_type in PASS_OPERATORS],
        [index_info(SHAPE, name=f"{value}{end}") for end in ("_index", "_f_index") for _, value in every],
    )


def _sparse_constants() -> Iterator[Case]:
    """Yield cases with one or several sparse constants in the body of a function."""
    for name, count, text in (("sparse_constant", 1, "a sparse constant"), ("sparse_constants", 3, "sparse constants")):
        names = [f"S{number}" for number in range(count)]
        constants = [
            helper.make_node("Constant", [], [each], sparse_value=_sparse_tensor(number))
            for number, each in enumerate(names)
        ]
        yield _case(
            name,
            f"Exp is removed after the call of a function that adds {text} to its operand",
            APPLIES,
            [_call("Raised", "X", "X0"), producer("Exp", "X0", "Y"), argmax()],
            [make_function("Raised", [*constants, helper.make_node("Sum", ["A", *names], ["B"])])],
        )


def _sparse_tensor(place: int) -> onnx.SparseTensorProto:
    """Return a tensor of the shape of X with 4 at one place and 0 elsewhere."""
    return helper.make_sparse_tensor(
        numpy_helper.from_array(np.array([4], dtype=np.float32), "values"),
        numpy_helper.from_array(np.array([place], dtype=np.int64), "places"),
        SHAPE,
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
        (permuted_quarters(f"functions/{name}", SHAPE, np.float32) if X is None else X,),
        outputs=outputs,
        functions=functions,
        opsets={"": 13, "acme": 1},
        **rest,
    )
    return scenario(FAMILY, name, title, ("domain", "argmax.index"), rewrite, graph)
