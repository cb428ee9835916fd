"""The pass fires within a subgraph as within the main graph, and never across the border between two."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnx import helper

from conformance.corpus.case import Firing, Rewrite
from conformance.dimensions.blocks import branch, if_node
from conformance.generation.models import declared_as
from generators.eliminate_nop_monotone_argmax import nesting
from generators.eliminate_nop_monotone_argmax.scenario import (
    FIVE,
    SHAPE,
    STAYS,
    argmax,
    fires,
    index_of,
    pair,
    producer,
)
from generators.eliminate_nop_monotone_argmax.subgraph_parts import (
    INDEX,
    TWO_TURNS,
    else_branch,
    loop,
    scan,
    subgraph_case,
    then_branch,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    import onnx

    from conformance.corpus.case import Case


def cases() -> Iterator[Case]:
    """If, Loop and Scan around the operators, ArgMax or both."""
    for op_type, word in FIVE.items():
        yield _in_a_branch(op_type, word)
        yield _in_a_loop(op_type, word)
        yield _in_a_scan(op_type, word)
        yield from _across(op_type, word)
    yield from _branches()
    yield from nesting.cases()


def _in_a_branch(op_type: str, word: str) -> Case:
    """The operator's input comes from outside, which is none of its uses."""
    then = then_branch([producer(op_type), argmax(result="inner")], "inner")
    return subgraph_case(
        f"if_{word}",
        f"{op_type} and ArgMax in a branch of If: the operator is taken away there",
        ("subgraph", word),
        fires("index/then_branch/Y"),
        [if_node("taken", "index", then, else_branch())],
    )


def _in_a_loop(op_type: str, word: str) -> Case:
    nodes = [
        producer(op_type, "state"),
        argmax(result="inner"),
        helper.make_node("Neg", ["state"], ["next"])
        if op_type in ("Exp", "Softmax", "LogSoftmax")
        else helper.make_node("Add", ["state", "state"], ["next"]),
    ]
    return subgraph_case(
        f"loop_{word}",
        f"{op_type} and ArgMax in the body of a Loop: the operator is taken away there",
        ("subgraph", word),
        fires("last/body/Y"),
        [*TWO_TURNS, loop(nodes, ("state", "next"), "inner")],
        [declared_as("last", "float", SHAPE), declared_as("index", "int64", [2, *INDEX])],
        feeds_condition=False,
    )


def _in_a_scan(op_type: str, word: str) -> Case:
    nodes = [producer(op_type, "row", "Y", axis=0), argmax("Y", "inner", axis=0)]
    return subgraph_case(
        f"scan_{word}",
        f"{op_type} and ArgMax in the body of a Scan: the operator is taken away there",
        ("subgraph", word),
        fires("index/body/Y"),
        [scan(nodes, "inner")],
        [declared_as("index", "int64", SHAPE[:1])],
        feeds_condition=False,
    )


def _across(op_type: str, word: str) -> Iterator[Case]:
    """The operator on one side of the border, ArgMax on the other."""
    yield subgraph_case(
        f"if_{word}_outside",
        f"{op_type} stays where its one consumer is an ArgMax in a branch of If",
        ("border", "capture", word),
        STAYS,
        [producer(op_type), if_node("taken", "index", then_branch([argmax(result="inner")], "inner"), else_branch())],
    )
    values = branch("then", [producer(op_type, result="inner")], ["inner"], SHAPE, "float")
    others = branch("else", [helper.make_node("Neg", ["X"], ["plain"])], ["plain"], SHAPE, "float")
    yield subgraph_case(
        f"if_{word}_inside",
        f"{op_type} stays where it gives the output of a branch of If and ArgMax comes after the If",
        ("border", "graph_output", word),
        STAYS,
        [if_node("taken", "Y", values, others), argmax()],
    )


def _branches() -> Iterator[Case]:
    """Both branches of one If, and an If beside a row of the main graph."""
    yield subgraph_case(
        "if_both_branches",
        "Exp and Log are taken away from the two branches of one If",
        ("subgraph", "branches"),
        fires("index/then_branch/Y", "index/else_branch/Z"),
        [
            if_node(
                "taken",
                "index",
                then_branch([producer("Exp"), argmax(result="inner")], "inner"),
                else_branch([producer("Log", result="Z"), argmax("Z", "other")], "other"),
            )
        ],
    )
    inner = then_branch([producer("Softmax", result="Z"), argmax("Z", "inner")], "inner")
    yield subgraph_case(
        "if_and_main",
        "Exp is taken away from the main graph and Softmax from a branch of If beside it",
        ("subgraph", "branches"),
        fires("Y", "index2/then_branch/Z"),
        [*pair(), if_node("taken", "index2", inner, else_branch())],
        [index_of(SHAPE), index_of(SHAPE, name="index2")],
    )
    outside = then_branch([helper.make_node("Identity", ["index"], ["inner"])], "inner")
    yield subgraph_case(
        "index_captured",
        "Exp is taken away though a subgraph captures the index",
        ("fires", "subgraph"),
        fires("Y"),
        [*pair(), if_node("taken", "index2", outside, else_branch())],
        [index_of(SHAPE, name="index2")],
    )
    captured = then_branch([producer("Exp", result="Z"), argmax("Z", "inner")], "inner")
    yield subgraph_case(
        "captured_and_taken_away",
        "Exp in a branch of If that captures the result of an Exp outside is taken away, the one outside stays",
        ("border", "subgraph"),
        Rewrite(Firing.FIRES, ("index2/then_branch/Z",), ("index2/then_branch/Z",)),
        [
            producer("Exp", result="Y"),
            argmax(),
            if_node("taken", "index2", _fed_by(captured, "Y"), else_branch()),
        ],
        [index_of(SHAPE), index_of(SHAPE, name="index2")],
    )


def _fed_by(graph: onnx.GraphProto, source: str) -> onnx.GraphProto:
    graph.node[0].input[0] = source
    return graph
