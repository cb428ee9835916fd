"""An operator is its domain and its name: what bears one of the names in another domain stays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import helper

from conformance.corpus.case import Firing, Rewrite
from conformance.dimensions.blocks import constant, function
from generators.eliminate_nop_monotone_argmax.scenario import (
    ALONG_AXIS,
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
    from collections.abc import Iterator, Mapping, Sequence

    import onnx

    from conformance.corpus.case import Case

FAMILY = "domains"
IMPORTS = {"": 13, "acme": 1}
NEG = helper.make_node("Neg", ["A"], ["B"])


def cases() -> Iterator[Case]:
    """Names in a domain of one's own, and what stands around them."""
    for op_type, word in FIVE.items():
        yield _lookalike(op_type, word)
        yield _beside_the_real_one(op_type, word)
        yield _before_a_lookalike(op_type, word)
    yield from _arities()
    yield from _inside_functions()
    yield from _unrelated()


def _call(op_type: str, sources: Sequence[str], results: Sequence[str], axis: int | None = None) -> onnx.NodeProto:
    along: dict[str, Any] = {} if axis is None else {"axis": axis}
    return helper.make_node(op_type, sources, results, domain="acme", **along)


def _lookalike(op_type: str, word: str) -> Case:
    """A function that falls where the operator rises: taking it away turns the answer around."""
    along = op_type in ALONG_AXIS
    body = function(op_type, [NEG], attributes=["axis"] if along else [])
    nodes = [_call(op_type, ["X"], ["Y"], 1 if along else None), argmax()]
    return _case(f"function_{word}", f"A function named {op_type} before ArgMax stays", STAYS, nodes, [body], word)


def _beside_the_real_one(op_type: str, word: str) -> Case:
    along = op_type in ALONG_AXIS
    body = function(op_type, [NEG], attributes=["axis"] if along else [])
    nodes = [
        _call(op_type, ["X"], ["Y1"], 1 if along else None),
        producer(op_type, "X", "Y"),
        argmax("Y1", "index1"),
        argmax(),
    ]
    title = f"{op_type} is taken away, and a function named {op_type} beside it stays"
    outputs = [index_of(SHAPE, name="index1"), index_of(SHAPE)]
    return _case(f"{word}_beside_function", title, FIRES, nodes, [body], word, outputs)


def _before_a_lookalike(op_type: str, word: str) -> Case:
    body = function("ArgMax", [helper.make_node("ArgMin", ["A"], ["B"], axis=1, keepdims=0)], attributes=["axis"])
    nodes = [producer(op_type), _call("ArgMax", ["Y"], ["index"], 1)]
    return _case(
        f"{word}_before_function_argmax", f"{op_type} before a function named ArgMax stays", STAYS, nodes, [body], word
    )


def _arities() -> Iterator[Case]:
    """Functions by the name of Exp with other counts of inputs and outputs than Exp has."""
    answer = np.array([[3, 1, 2], [1, 2, 3]], dtype=np.float32)
    rows: Mapping[str, tuple[str, Sequence[onnx.NodeProto], Sequence[str], Sequence[str]]] = {
        "no_input": ("without an input", [constant("B", answer)], [], ["B"]),
        "two_inputs": ("of two inputs", [helper.make_node("Sub", ["A", "A2"], ["B"])], ["A", "A2"], ["B"]),
        "two_outputs": (
            "with two outputs",
            [NEG, helper.make_node("Identity", ["A"], ["B2"])],
            ["A"],
            ["B", "B2"],
        ),
    }
    for name, (text, body, inputs, outputs) in rows.items():
        sources, results = ["X", "X0"][: len(inputs)], ["Y", "Y2"][: len(outputs)]
        nodes = [helper.make_node("Neg", ["X"], ["X0"]), _call("Exp", sources, results), argmax()]
        functions = [function("Exp", body, inputs, outputs)]
        yield _case(f"function_exp_{name}", f"A function named Exp {text} before ArgMax stays", STAYS, nodes, functions)


def _inside_functions() -> Iterator[Case]:
    """What happens within a function's body is not promised."""
    inside = function("Largest", [producer("Exp", "A", "E"), argmax("E", "B")])
    yield _case(
        "inside_a_function",
        "Exp before ArgMax within the body of a function may be taken away",
        Rewrite(Firing.MAY),
        [_call("Largest", ["X"], ["index"])],
        [inside],
    )
    rises = function("Rise", [helper.make_node("Exp", ["A"], ["B"])])
    yield _case(
        "function_of_exp",
        "A function that is Exp by its body and not by its name stays before ArgMax",
        STAYS,
        [_call("Rise", ["X"], ["Y"]), argmax()],
        [rises],
    )
    yield _case(
        "function_before_exp",
        "Exp between a function and ArgMax is taken away",
        FIRES,
        [_call("Rise", ["X"], ["X0"]), producer("Exp", "X0", "Y"), argmax()],
        [rises],
    )
    used = function("Same", [helper.make_node("Identity", ["A"], ["B"])])
    yield _case(
        "result_goes_into_function",
        "Exp whose result a function takes besides ArgMax stays",
        STAYS,
        [*pair(), _call("Same", ["Y"], ["Z"]), argmax("Z", "index2", axis=0)],
        [used],
        outputs=[index_of(SHAPE), index_of(SHAPE, 0, name="index2")],
    )


def _unrelated() -> Iterator[Case]:
    negated = function("Negated", [NEG])
    yield _case(
        "elsewhere",
        "Exp is taken away from a graph that has a function elsewhere",
        FIRES,
        [*pair(), _call("Negated", ["X"], ["Z"]), argmax("Z", "index2")],
        [negated],
        outputs=[index_of(SHAPE), index_of(SHAPE, name="index2")],
    )
    yield _case(
        "two_functions_of_one_name",
        "Functions named Exp in two domains stay before an ArgMax each",
        STAYS,
        [
            _call("Exp", ["X"], ["Y1"]),
            helper.make_node("Exp", ["X"], ["Y2"], domain="acme.other"),
            argmax("Y1", "index1"),
            argmax("Y2", "index2"),
        ],
        [function("Exp", [NEG]), function("Exp", [helper.make_node("Abs", ["A"], ["B"])], domain="acme.other")],
        outputs=[index_of(SHAPE, name="index1"), index_of(SHAPE, name="index2")],
        opsets={**IMPORTS, "acme.other": 1},
    )
    yield _case(
        "row_with_function",
        "Of a function named Exp and Log before ArgMax only Log is ever taken away",
        fires("Y"),
        [_call("Exp", ["X"], ["Y1"]), producer("Log", "Y1", "Y"), argmax()],
        [function("Exp", [helper.make_node("Abs", ["A"], ["B"])])],
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
