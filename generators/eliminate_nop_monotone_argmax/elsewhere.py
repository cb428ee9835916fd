"""Cases in which a condition of the pass, or a name that it looks up, stands in another graph than the main one."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import helper

from conformance.corpus.factors.message_fields import constant_node, if_node, make_branch, make_function
from conformance.exact.models.model_building import make_value_info
from generators.eliminate_nop_monotone_argmax.pass_scenario import (
    ALONG_AXIS,
    DOES_NOT_APPLY,
    PASS_OPERATORS,
    SHAPE,
    ScenarioGraph,
    applies_to,
    argmax,
    index_info,
    producer,
    scenario,
)
from generators.generated_values import permuted_quarters

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import onnx

    from conformance.corpus.cases.case import Case, Rewrite

FAMILY = "elsewhere"
X = permuted_quarters("elsewhere/X", SHAPE, np.float32) + np.float32(1)
CHAIN_LENGTH = 130
"""Number of operators of a chain that is longer than usual limits of repetitions."""


def cases() -> Iterator[Case]:
    """Yield cases with functions named like operators, equal names and other conditions in branches and functions."""
    yield _lookalikes_in_branches()
    yield _names_of_other_graphs()
    yield _axes_in_branches()
    yield _uses_in_branches()
    yield _long_chain()
    yield _values_beside()


def _index_branch(name: str, nodes: Sequence[onnx.NodeProto], output: str) -> onnx.GraphProto:
    return make_branch(name, nodes, [output], SHAPE[:1], "int64")


def _lookalikes_in_branches() -> Case:
    """Define a case with functions of another domain before ArgMax, and as ArgMax, in the branches of an If."""
    nodes = [constant_node("yes", np.array(True))]
    functions = []
    outputs = []
    body = helper.make_node("ArgMin", ["A"], ["B"], axis=1, keepdims=0)
    functions.append(make_function("ArgMax", [body], attributes=["axis", "keepdims"]))
    for op_type, word in PASS_OPERATORS.items():
        along: dict[str, Any] = {"axis": 1} if op_type in ALONG_AXIS else {}
        neg = helper.make_node("Neg", ["A"], ["B"])
        functions.append(make_function(op_type, [neg], attributes=list(along)))
        before = helper.make_node(op_type, ["X"], ["Y"], domain="acme", **along)
        then = _index_branch("then", [before, argmax(result=f"inner_{word}")], f"inner_{word}")
        last = argmax(result=f"other_{word}")
        last.domain = "acme"
        other = _index_branch("else", [producer(op_type), last], f"other_{word}")
        for condition in ("yes", "no"):
            result = f"index_{word}_{condition}"
            nodes.append(if_node(condition, result, then, other))
            outputs.append(index_info(SHAPE, name=result))
    nodes.insert(1, helper.make_node("Not", ["yes"], ["no"]))
    return _case(
        "lookalikes_in_branches",
        "Functions named like the operators or ArgMax stay in the branches of an If",
        DOES_NOT_APPLY,
        ScenarioGraph(nodes, (X,), outputs=outputs, opsets={"": 13, "acme": 1}, functions=functions),
        ("domain", "subgraph"),
    )


def _names_of_other_graphs() -> Case:
    """Define a case in which outputs, inputs and uses in other graphs have the name of the removed value."""
    then = _index_branch("then", [producer("Exp"), argmax(result="inner")], "inner")
    other = _index_branch("else", [helper.make_node("Neg", ["X"], ["M"]), argmax("M", "Y")], "Y")
    body = helper.make_graph(
        [helper.make_node("Identity", ["go"], ["go_on"]), helper.make_node("Neg", ["Y"], ["Y_next"])],
        "body",
        [make_value_info("i", "int64", ()), make_value_info("go", "bool", ()), make_value_info("Y", "float", SHAPE)],
        [make_value_info("go_on", "bool", ()), make_value_info("Y_next", "float", SHAPE)],
    )
    called = make_function("Turned", [helper.make_node("Neg", ["A"], ["Y"])], outputs=("Y",))
    nodes = [
        constant_node("yes", np.array(True)),
        constant_node("trips", np.array(3)),
        producer("Log", result="E1"),
        argmax("E1", "index"),
        if_node("yes", "of_branch", then, other),
        helper.make_node("Loop", ["trips", "", "X"], ["turned"], body=body),
        helper.make_node("Turned", ["X"], ["Z"], domain="acme"),
    ]
    inner = _index_branch("then", [producer("Sqrt", result="E2"), argmax("E2", "Y")], "Y")
    inner_other = _index_branch("else", [argmax("X", "plain")], "plain")
    nodes.append(if_node("yes", "of_second", inner, inner_other))
    outputs = [index_info(SHAPE, name=name) for name in ("index", "of_branch", "of_second")]
    outputs += [make_value_info(name, "float", SHAPE) for name in ("turned", "Z")]
    return _case(
        "names_of_other_graphs",
        "Log, Exp and Sqrt are removed although values, inputs and outputs of other graphs have the names of results",
        applies_to("E1", "of_branch/then_branch/Y", "of_second/then_branch/E2"),
        ScenarioGraph(nodes, (X,), outputs=outputs, opsets={"": 13, "acme": 1}, functions=[called]),
        ("subgraph", "names"),
    )


def _axes_in_branches() -> Case:
    """Define a case in which the axes of the pair differ in a branch, and are equal in the other branch."""
    square = np.array([[2, 1.5], [4, 1]], dtype=np.float32)
    nodes = [constant_node("yes", np.array(True)), helper.make_node("Not", ["yes"], ["no"])]
    outputs = []
    removed = []
    for op_type, word in ALONG_AXIS.items():
        then = make_branch("then", [producer(op_type, axis=0), argmax(result="inner")], ["inner"], (2,), "int64")
        other = make_branch(
            "else", [producer(op_type, axis=0), argmax(result="other", axis=0)], ["other"], (2,), "int64"
        )
        for condition in ("yes", "no"):
            result = f"index_{word}_{condition}"
            nodes.append(if_node(condition, result, then, other))
            outputs.append(make_value_info(result, "int64", (2,)))
            removed.append(f"{result}/else_branch/Y")
    return _case(
        "axes_in_branches",
        "Softmax and LogSoftmax stay in a branch in which their axis is not that of ArgMax",
        applies_to(*removed),
        ScenarioGraph(nodes, (square,), outputs=outputs),
        ("axis", "subgraph"),
    )


def _uses_in_branches() -> Case:
    """Define a case in which the result has another use inside a branch: a consumer, a capture, or the output."""
    yes = constant_node("yes", np.array(True))
    nodes = [yes]
    outputs = []
    for name, used in (
        ("consumer", [helper.make_node("Neg", ["Y"], ["used"])]),
        (
            "captured",
            [
                if_node(
                    "yes",
                    "used",
                    make_branch("inner_then", [helper.make_node("Neg", ["Y"], ["a"])], ["a"], SHAPE, "float"),
                    make_branch("inner_else", [helper.make_node("Abs", ["X"], ["b"])], ["b"], SHAPE, "float"),
                )
            ],
        ),
        ("output", []),
    ):
        branches = {}
        for word, op_type in (("then", "Exp"), ("else", "Sqrt")):
            body = [producer(op_type), argmax(result="inner"), *used]
            shapes = {"inner": ("int64", SHAPE[:1]), "used" if used else "Y": ("float", SHAPE)}
            infos = [make_value_info(value, *given) for value, given in shapes.items()]
            branches[f"{word}_branch"] = helper.make_graph(body, word, [], infos)
        nodes.append(helper.make_node("If", ["yes"], [f"index_{name}", f"value_{name}"], **branches))
        outputs += [index_info(SHAPE, name=f"index_{name}"), make_value_info(f"value_{name}", "float", SHAPE)]
    return _case(
        "uses_in_branches",
        "Exp and Sqrt stay in branches in which a node, an inner branch or the output of the branch uses the result",
        DOES_NOT_APPLY,
        ScenarioGraph(nodes, (X,), outputs=outputs),
        ("other_use", "capture", "subgraph"),
    )


def _long_chain() -> Case:
    """Define a case with a chain of `CHAIN_LENGTH` operators, of which each pair returns its operand."""
    values = ["X", *(f"Y{number}" for number in range(1, CHAIN_LENGTH + 1))]
    nodes = [
        producer(("Exp", "Log")[number % 2], source, result) for number, (source, result) in enumerate(pairwise(values))
    ]
    return _case(
        f"chain_of_{CHAIN_LENGTH}",
        f"A chain of {CHAIN_LENGTH} operators is removed one by one, to a fixed point",
        applies_to(values[-1], then=values[-2:0:-1]),
        ScenarioGraph([*nodes, argmax(values[-1])], (X,)),
        ("fixed_point", "exp", "log"),
    )


def _values_beside() -> Case:
    """Define a case with Constants beside the pair, whose values a reader may cut or round."""
    constants: dict[str, tuple[dict[str, Any], str, Sequence[int]]] = {
        "large": ({"value_int": 2**53 + 1}, "int64", ()),
        "larges": ({"value_ints": [2**62 + 1, -(2**63), 2**63 - 1]}, "int64", (3,)),
        "fine": ({"value_float": float(np.float32(1 + 2.0**-23))}, "float", ()),
        "fines": ({"value_floats": [1e-45, -0.0, float(np.float32(3e38))]}, "float", (3,)),
        "one": ({"value_ints": [7]}, "int64", (1,)),
    }
    nodes = [helper.make_node("Constant", [], [name], **given) for name, (given, _, _) in constants.items()]
    limited = [
        helper.make_node("Clip", ["X", "", "most"], ["limited"]),
        helper.make_node("Clip", ["X", "most", ""], ["raised"]),
    ]
    return _case(
        "values_beside",
        "Constants with large integers, fine numbers and one element, and omitted operands, keep their values",
        applies_to("Y"),
        ScenarioGraph(
            [*nodes, constant_node("most", np.array(1.5, dtype=np.float32)), *limited, producer("Exp"), argmax()],
            (X,),
            outputs=[
                index_info(SHAPE),
                *(make_value_info(name, type, shape) for name, (_, type, shape) in constants.items()),
                *(make_value_info(name, "float", SHAPE) for name in ("limited", "raised")),
            ],
        ),
        ("preservation", "exp"),
    )


def _case(name: str, title: str, rewrite: Rewrite, graph: ScenarioGraph, clauses: Sequence[str]) -> Case:
    return scenario(FAMILY, name, title, clauses, rewrite, graph)
