"""Cases about operator domains: the pass keeps an operator of another domain that is named like one of the five."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import helper

from conformance.corpus.cases.case import PassEffect, Rewrite
from conformance.corpus.factors.message_fields import constant_node, make_function
from generators.eliminate_nop_monotone_argmax.pass_scenario import (
    ALONG_AXIS,
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

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import onnx

    from conformance.corpus.cases.case import Case


FAMILY = "domains"
IMPORTS = {"": 13, "acme": 1}
NEG = helper.make_node("Neg", ["A"], ["B"])
_ARGMIN = helper.make_node("ArgMin", ["A"], ["B"], axis=1, keepdims=0)


def cases() -> Iterator[Case]:
    """Yield cases with functions that have the name of one of the five operators, and with other functions."""
    for op_type, word in PASS_OPERATORS.items():
        yield _lookalike(op_type, word)
        yield _next_to_operator(op_type, word)
        yield _before_a_lookalike(op_type, word)
    yield _only_lookalikes()
    yield from _arities()
    yield from _inside_functions()
    yield from _unrelated()


def _call(op_type: str, sources: Sequence[str], results: Sequence[str], axis: int | None = None) -> onnx.NodeProto:
    along: dict[str, Any] = {} if axis is None else {"axis": axis}
    return helper.make_node(op_type, sources, results, domain="acme", **along)


def _lookalike(op_type: str, word: str) -> Case:
    """Define a case with a decreasing function that has the operator's name. Removing it would change the index."""
    along = op_type in ALONG_AXIS
    body = make_function(op_type, [NEG], attributes=["axis"] if along else [])
    nodes = [_call(op_type, ["X"], ["Y"], 1 if along else None), argmax()]
    return _case(
        f"function_{word}", f"A function named {op_type} before ArgMax stays", DOES_NOT_APPLY, nodes, [body], word
    )


def _next_to_operator(op_type: str, word: str) -> Case:
    along = op_type in ALONG_AXIS
    body = make_function(op_type, [NEG], attributes=["axis"] if along else [])
    nodes = [
        _call(op_type, ["X"], ["Y1"], 1 if along else None),
        producer(op_type, "X", "Y"),
        argmax("Y1", "index1"),
        argmax(),
    ]
    title = f"{op_type} is removed, and a function named {op_type} in the same graph stays"
    outputs = [index_info(SHAPE, name="index1"), index_info(SHAPE)]
    return _case(f"{word}_beside_function", title, APPLIES, nodes, [body], word, outputs)


def _before_a_lookalike(op_type: str, word: str) -> Case:
    body = make_function("ArgMax", [_ARGMIN], attributes=["axis"])
    nodes = [producer(op_type), _call("ArgMax", ["Y"], ["index"], 1)]
    return _case(
        f"{word}_before_function_argmax",
        f"{op_type} before a function named ArgMax stays",
        DOES_NOT_APPLY,
        nodes,
        [body],
        word,
    )


def _only_lookalikes() -> Case:
    """Define a case in which both nodes of each pair are functions of one domain."""
    functions = [make_function("ArgMax", [_ARGMIN], attributes=["axis"])]
    nodes = []
    for op_type, word in PASS_OPERATORS.items():
        along = op_type in ALONG_AXIS
        functions.append(make_function(op_type, [NEG], attributes=["axis"] if along else []))
        nodes += [
            _call(op_type, ["X"], [f"Y_{word}"], 1 if along else None),
            _call("ArgMax", [f"Y_{word}"], [f"index_{word}"], 1),
        ]
    outputs = [index_info(SHAPE, name=f"index_{word}") for word in PASS_OPERATORS.values()]
    title = "Functions named like the operators stay before functions named ArgMax of the same domain"
    return _case("function_before_function_argmax", title, DOES_NOT_APPLY, nodes, functions, outputs=outputs)


def _arities() -> Iterator[Case]:
    """Yield cases with functions named Exp that have different numbers of inputs and outputs."""
    answer = np.array([[3, 1, 2], [1, 2, 3]], dtype=np.float32)
    rows: Mapping[str, tuple[str, Sequence[onnx.NodeProto], Sequence[str], Sequence[str]]] = {
        "no_input": ("without an input", [constant_node("B", answer)], [], ["B"]),
        "two_inputs": ("with two inputs", [helper.make_node("Sub", ["A", "A2"], ["B"])], ["A", "A2"], ["B"]),
        "two_outputs": (
            "with two outputs",
            [NEG, helper.make_node("Identity", ["A"], ["B2"])],
            ["A"],
            ["B", "B2"],
        ),
    }
    for name, (text, body, inputs, outputs) in rows.items():
        sources = ["X", "X0"][: len(inputs)]
        results = ["Y", "Y2"][: len(outputs)]
        nodes = [helper.make_node("Neg", ["X"], ["X0"]), _call("Exp", sources, results), argmax()]
        functions = [make_function("Exp", body, inputs, outputs)]
        yield _case(
            f"function_exp_{name}", f"A function named Exp {text} before ArgMax stays", DOES_NOT_APPLY, nodes, functions
        )


def _inside_functions() -> Iterator[Case]:
    """Yield cases with operators inside functions. The effect in function bodies is optional."""
    inside = make_function("Largest", [producer("Exp", "A", "E"), argmax("E", "B")])
    yield _case(
        "inside_a_function",
        "Exp before ArgMax within the body of a function may be removed",
        Rewrite(PassEffect.OPTIONAL),
        [_call("Largest", ["X"], ["index"])],
        [inside],
    )
    rises = make_function("Rise", [helper.make_node("Exp", ["A"], ["B"])])
    yield _case(
        "function_of_exp",
        "A function with another name whose body is Exp stays before ArgMax",
        DOES_NOT_APPLY,
        [_call("Rise", ["X"], ["Y"]), argmax()],
        [rises],
    )
    yield _case(
        "function_before_exp",
        "Exp between a function and ArgMax is removed",
        APPLIES,
        [_call("Rise", ["X"], ["X0"]), producer("Exp", "X0", "Y"), argmax()],
        [rises],
    )
    used = make_function("Same", [helper.make_node("Identity", ["A"], ["B"])])
    yield _case(
        "result_goes_into_function",
        "Exp stays if a function also uses its result",
        DOES_NOT_APPLY,
        [*pair(), _call("Same", ["Y"], ["Z"]), argmax("Z", "index2", axis=0)],
        [used],
        outputs=[index_info(SHAPE), index_info(SHAPE, 0, name="index2")],
    )


def _unrelated() -> Iterator[Case]:
    negated = make_function("Negated", [NEG])
    yield _case(
        "elsewhere",
        "Exp is removed from a graph that calls a function elsewhere",
        APPLIES,
        [*pair(), _call("Negated", ["X"], ["Z"]), argmax("Z", "index2")],
        [negated],
        outputs=[index_info(SHAPE), index_info(SHAPE, name="index2")],
    )
    yield _case(
        "two_functions_of_one_name",
        "Functions named Exp in two domains stay before ArgMax",
        DOES_NOT_APPLY,
        [
            _call("Exp", ["X"], ["Y1"]),
            helper.make_node("Exp", ["X"], ["Y2"], domain="acme.other"),
            argmax("Y1", "index1"),
            argmax("Y2", "index2"),
        ],
        [
            make_function("Exp", [NEG]),
            make_function("Exp", [helper.make_node("Abs", ["A"], ["B"])], domain="acme.other"),
        ],
        outputs=[index_info(SHAPE, name="index1"), index_info(SHAPE, name="index2")],
        opsets={**IMPORTS, "acme.other": 1},
    )
    yield _similar_domains()
    yield _case(
        "row_with_function",
        "Only Log is removed from a function named Exp and Log before ArgMax",
        applies_to("Y"),
        [_call("Exp", ["X"], ["Y1"]), producer("Log", "Y1", "Y"), argmax()],
        [make_function("Exp", [helper.make_node("Abs", ["A"], ["B"])])],
    )


def _similar_domains() -> Case:
    """Define a case with functions of domains whose names are nearly those of the main domain."""
    domains = ("ai.onnx.acme", "ai.onnx.mlx", "AI.ONNX", "ai.onn", "acme.ai.onnx")
    functions = []
    nodes = []
    for number, domain in enumerate(domains):
        functions.append(make_function("Exp", [NEG], domain=domain))
        functions.append(make_function("ArgMax", [_ARGMIN], attributes=["axis"], domain=domain))
        nodes += [
            helper.make_node("Exp", ["X"], [f"Y{number}"], domain=domain),
            argmax(f"Y{number}", f"index{number}"),
            producer("Exp", "X", f"Z{number}"),
            helper.make_node("ArgMax", [f"Z{number}"], [f"least{number}"], domain=domain, axis=1),
        ]
    return _case(
        "functions_of_similar_domains",
        "Functions named Exp before ArgMax, and Exp before functions named ArgMax, stay in domains with similar names",
        DOES_NOT_APPLY,
        nodes,
        functions,
        outputs=[index_info(SHAPE, name=f"{name}{n}") for n in range(len(domains)) for name in ("index", "least")],
        opsets={"": 13, **dict.fromkeys(domains, 1)},
    )


def _case(
    name: str,
    title: str,
    rewrite: Rewrite,
    nodes: Sequence[onnx.NodeProto],
    functions: Sequence[onnx.FunctionProto],
    word: str = "exp",
    outputs: Sequence[onnx.ValueInfoProto] = (),
    opsets: Mapping[str, int] = IMPORTS,
) -> Case:
    graph = ScenarioGraph(nodes, outputs=outputs, functions=functions, opsets=opsets)
    return scenario(FAMILY, name, title, ("domain", "argmax.index", word), rewrite, graph)
