"""Cases with subgraphs: the pass applies within a subgraph, but not if operator and ArgMax are in different graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from onnx import helper

from conformance.corpus.cases.case import PassEffect, Rewrite
from conformance.corpus.factors.message_fields import constant_node, if_node, make_branch
from conformance.exact.models.model_building import argmax_shape, array_value_info, make_value_info
from generators.eliminate_nop_monotone_argmax.pass_scenario import (
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

    import onnx

    from conformance.corpus.cases.case import Case


FAMILY = "subgraphs"
X = permuted_quarters("subgraphs/X", SHAPE, np.float32)
INDEX = argmax_shape(SHAPE, 1, 0)
TWO_TURNS = (constant_node("turns", np.array(2, dtype=np.int64)), constant_node("always", np.array(True)))


def then_branch(nodes: Sequence[onnx.NodeProto], output: str) -> onnx.GraphProto:
    """Return a then_branch, which is taken; its output is an index."""
    return make_branch("then", nodes, [output], INDEX, "int64")


def else_branch(nodes: Sequence[onnx.NodeProto] = (), output: str = "plain") -> onnx.GraphProto:
    """Return an else_branch, which is not taken; by default it has only an ArgMax."""
    return make_branch("else", nodes or [argmax("X", output)], [output], INDEX, "int64")


def loop(nodes: Sequence[onnx.NodeProto], state: tuple[str, str], scanned: str) -> onnx.NodeProto:
    """Return a Loop with the trip count `turns`, the state X, and indices as scan output."""
    body = helper.make_graph(
        [helper.make_node("Identity", ["more"], ["go_on"]), *nodes],
        "body",
        [
            make_value_info("turn", "int64", []),
            make_value_info("more", "bool", []),
            make_value_info(state[0], "float", SHAPE),
        ],
        [
            make_value_info("go_on", "bool", []),
            make_value_info(state[1], "float", SHAPE),
            make_value_info(scanned, "int64", INDEX),
        ],
    )
    return helper.make_node("Loop", ["turns", "always", "X"], ["last", "index"], body=body)


def scan(nodes: Sequence[onnx.NodeProto], output: str) -> onnx.NodeProto:
    """Return a Scan over the rows of X that collects indices."""
    body = helper.make_graph(
        nodes, "body", [make_value_info("row", "float", SHAPE[1:])], [make_value_info(output, "int64", [])]
    )
    return helper.make_node("Scan", ["X"], ["index"], num_scan_inputs=1, body=body)


def subgraph_case(
    name: str,
    title: str,
    clauses: Sequence[str],
    rewrite: Rewrite,
    nodes: Sequence[onnx.NodeProto],
    outputs: Sequence[onnx.ValueInfoProto] = (),
    *,
    feeds_condition: bool = True,
) -> Case:
    """Define a case of the family `subgraphs`.

    Args:
        name: last part of the id.
        title: the fact that the case tests.
        clauses: tested clauses without the prefix `monotone.`.
        rewrite: expected effect of the pass.
        nodes: nodes of the main graph.
        outputs: declarations of the outputs. Default: `index`.
        feeds_condition: whether the graph has an input `taken` with the value true, the condition of If.
    """
    graph = ScenarioGraph(nodes, (X,), outputs=outputs)
    if feeds_condition:
        inputs = [array_value_info("X", X), make_value_info("taken", "bool", [])]
        graph = ScenarioGraph(nodes, (X, np.array(True)), inputs=inputs, outputs=outputs)
    return scenario(FAMILY, name, title, clauses, rewrite, graph)


def _nested_subgraph_cases() -> Iterator[Case]:
    """Yield the cases of nested subgraphs."""
    yield from _nested()
    yield from _chains_across_borders()
    yield from _shared_names()


def _nested() -> Iterator[Case]:
    """Yield cases with an If in a branch of If, and with a Loop in a branch."""
    within = then_branch([producer("Exp"), argmax(result="inner")], "inner")
    inner = if_node("taken", "middle", within, else_branch(output="none"))
    yield subgraph_case(
        "if_in_if",
        "Exp is removed two subgraphs deep",
        ("subgraph",),
        applies_to("index/then_branch/middle/then_branch/Y"),
        [if_node("taken", "index", then_branch([inner], "middle"), else_branch())],
    )
    within = then_branch([argmax(result="inner")], "inner")
    outer = [producer("Exp"), if_node("taken", "middle", within, else_branch(output="none"))]
    yield subgraph_case(
        "if_in_if_across",
        "Exp in a branch of If stays if its only consumer is an ArgMax in a branch within that branch",
        ("border", "capture"),
        DOES_NOT_APPLY,
        [if_node("taken", "index", then_branch(outer, "middle"), else_branch())],
    )
    body = [producer("Exp", "state"), argmax(result="inner"), helper.make_node("Neg", ["state"], ["next"])]
    turns = loop(body, ("state", "next"), "inner")
    turns.output[:] = ["last", "scanned"]
    first = [
        constant_node("first", np.array(0, dtype=np.int64)),
        helper.make_node("Gather", ["scanned", "first"], ["got"]),
    ]
    yield subgraph_case(
        "loop_in_if",
        "Exp is removed from the body of a Loop in a branch of If",
        ("subgraph",),
        applies_to("index/then_branch/last/body/Y"),
        [if_node("taken", "index", then_branch([*TWO_TURNS, turns, *first], "got"), else_branch())],
    )


def _chains_across_borders() -> Iterator[Case]:
    row = [producer("Exp", result="Y1"), producer("Log", "Y1", "Y"), argmax(result="inner")]
    yield subgraph_case(
        "if_row",
        "One run removes Log of Exp and Log in a branch of If, and runs to a fixed point remove both",
        ("subgraph", "one_per_run", "fixed_point"),
        applies_to("index/then_branch/Y", then=["index/then_branch/Y1"]),
        [if_node("taken", "index", then_branch(row, "inner"), else_branch())],
    )
    log = [producer("Log", "Y1"), argmax(result="inner")]
    yield subgraph_case(
        "if_row_across",
        "Only Log is removed from Exp before an If and Log in its branch",
        ("border", "subgraph"),
        applies_to("index/then_branch/Y"),
        [producer("Exp", result="Y1"), if_node("taken", "index", then_branch(log, "inner"), else_branch())],
    )
    shown = make_branch("then", [producer("Exp"), argmax(result="inner")], ["inner"], INDEX, "int64")
    shown.output.append(make_value_info("Y", "float", SHAPE))
    plain = else_branch([argmax("X", "plain"), helper.make_node("Neg", ["X"], ["minus"])])
    plain.output.append(make_value_info("minus", "float", SHAPE))
    both = helper.make_node("If", ["taken"], ["index", "Z"], then_branch=shown, else_branch=plain)
    yield subgraph_case(
        "if_output",
        "Exp in a branch of If stays if its result is an output of the branch",
        ("graph_output", "subgraph"),
        DOES_NOT_APPLY,
        [both],
        [index_info(SHAPE), make_value_info("Z", "float", SHAPE)],
    )


def _shared_names() -> Iterator[Case]:
    """Yield cases with two values of the same name in two graphs that cannot read each other's values."""
    yield subgraph_case(
        "name_in_both_branches",
        "Exp is removed from one branch of an If, although the other branch has a value of the same name",
        ("names", "subgraph"),
        applies_to("index/then_branch/Y"),
        [
            if_node(
                "taken",
                "index",
                then_branch([producer("Exp"), argmax(result="inner")], "inner"),
                else_branch([helper.make_node("Neg", ["X"], ["Y"]), argmax(result="other")], "other"),
            )
        ],
    )
    then = then_branch([producer("Exp"), argmax(result="inner")], "inner")
    yield subgraph_case(
        "name_after_the_branch",
        "Two Exp are removed whose results have the same name in a branch of an If and in the main graph after it",
        ("names", "subgraph"),
        applies_to("index2/then_branch/Y", "Y"),
        [if_node("taken", "index2", then, else_branch()), *pair()],
        [index_info(SHAPE), index_info(SHAPE, name="index2")],
    )
    wanted = then_branch([helper.make_node("Neg", ["X"], ["Y"]), argmax("Y", "inner")], "inner")
    yield subgraph_case(
        "name_is_no_capture",
        "A value in a branch of an earlier If with the name of Exp's result is not a use of that result",
        ("names", "capture"),
        applies_to("Y"),
        [if_node("taken", "index2", wanted, else_branch()), *pair()],
        [index_info(SHAPE), index_info(SHAPE, name="index2")],
    )


def cases() -> Iterator[Case]:
    """Yield cases with the operator, ArgMax or both in If, Loop and Scan."""
    for op_type, word in PASS_OPERATORS.items():
        yield _branch_case(op_type, word)
        yield _loop_case(op_type, word)
        yield _scan_case(op_type, word)
        yield from _across(op_type, word)
    yield from _branches()
    yield from _nested_subgraph_cases()
    yield _sequence_map_case()


def _branch_case(op_type: str, word: str) -> Case:
    """Define a case with the pair in a branch of If. The operator captures its input."""
    then = then_branch([producer(op_type), argmax(result="inner")], "inner")
    return subgraph_case(
        f"if_{word}",
        f"{op_type} before ArgMax is removed from a branch of If",
        ("subgraph", word),
        applies_to("index/then_branch/Y"),
        [if_node("taken", "index", then, else_branch())],
    )


def _loop_case(op_type: str, word: str) -> Case:
    nodes = [
        producer(op_type, "state"),
        argmax(result="inner"),
        helper.make_node("Neg", ["state"], ["next"])
        if op_type in ("Exp", "Softmax", "LogSoftmax")
        else helper.make_node("Add", ["state", "state"], ["next"]),
    ]
    return subgraph_case(
        f"loop_{word}",
        f"{op_type} before ArgMax is removed from the body of a Loop",
        ("subgraph", word),
        applies_to("last/body/Y"),
        [*TWO_TURNS, loop(nodes, ("state", "next"), "inner")],
        [make_value_info("last", "float", SHAPE), make_value_info("index", "int64", [2, *INDEX])],
        feeds_condition=False,
    )


def _scan_case(op_type: str, word: str) -> Case:
    nodes = [producer(op_type, "row", "Y", axis=0), argmax("Y", "inner", axis=0)]
    return subgraph_case(
        f"scan_{word}",
        f"{op_type} before ArgMax is removed from the body of a Scan",
        ("subgraph", word),
        applies_to("index/body/Y"),
        [scan(nodes, "inner")],
        [make_value_info("index", "int64", SHAPE[:1])],
        feeds_condition=False,
    )


def _across(op_type: str, word: str) -> Iterator[Case]:
    """Yield cases with the operator in one graph and ArgMax in a subgraph, or the other way round."""
    yield subgraph_case(
        f"if_{word}_outside",
        f"{op_type} stays if its only consumer is an ArgMax in a branch of If",
        ("border", "capture", word),
        DOES_NOT_APPLY,
        [producer(op_type), if_node("taken", "index", then_branch([argmax(result="inner")], "inner"), else_branch())],
    )
    values = make_branch("then", [producer(op_type, result="inner")], ["inner"], SHAPE, "float")
    others = make_branch("else", [helper.make_node("Neg", ["X"], ["plain"])], ["plain"], SHAPE, "float")
    yield subgraph_case(
        f"if_{word}_inside",
        f"{op_type} stays if it computes the output of a branch of If and ArgMax is after the If",
        ("border", "graph_output", word),
        DOES_NOT_APPLY,
        [if_node("taken", "Y", values, others), argmax()],
    )


def _branches() -> Iterator[Case]:
    """Yield cases with the pair in both branches of an If, and with the pair both in an If and in the main graph."""
    yield subgraph_case(
        "if_both_branches",
        "Exp and Log are removed from the two branches of an If",
        ("subgraph", "branches"),
        applies_to("index/then_branch/Y", "index/else_branch/Z"),
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
        "Exp is removed from the main graph and Softmax from a branch of If",
        ("subgraph", "branches"),
        applies_to("Y", "index2/then_branch/Z"),
        [*pair(), if_node("taken", "index2", inner, else_branch())],
        [index_info(SHAPE), index_info(SHAPE, name="index2")],
    )
    outside = then_branch([helper.make_node("Identity", ["index"], ["inner"])], "inner")
    yield subgraph_case(
        "index_captured",
        "Exp is removed although a subgraph captures the index",
        ("fires", "subgraph"),
        applies_to("Y"),
        [*pair(), if_node("taken", "index2", outside, else_branch())],
        [index_info(SHAPE, name="index2")],
    )
    captured = then_branch([producer("Exp", result="Z"), argmax("Z", "inner")], "inner")
    yield subgraph_case(
        "captured_and_taken_away",
        "Exp in a branch of If that captures the result of an outer Exp is removed, and the outer Exp stays",
        ("border", "subgraph"),
        Rewrite(PassEffect.APPLIES, ("index2/then_branch/Z",), ("index2/then_branch/Z",)),
        [
            producer("Exp", result="Y"),
            argmax(),
            if_node("taken", "index2", _fed_by(captured, "Y"), else_branch()),
        ],
        [index_info(SHAPE), index_info(SHAPE, name="index2")],
    )


def _sequence_map_case() -> Case:
    """Define a case with a capture by the body of an operator that is none of If, Loop and Scan."""
    body = helper.make_graph(
        [helper.make_node("Less", ["each", "Y"], ["less"])],
        "body",
        [make_value_info("each", "float", SHAPE)],
        [make_value_info("less", "bool", SHAPE)],
    )
    nodes = [
        constant_node("first", np.array(0, dtype=np.int64)),
        helper.make_node("SequenceConstruct", ["X", "X"], ["rows"]),
        *pair(),
        helper.make_node("SequenceMap", ["rows"], ["compared"], body=body),
        helper.make_node("SequenceAt", ["compared", "first"], ["is_less"]),
    ]
    outputs = [index_info(SHAPE), make_value_info("is_less", "bool", SHAPE)]
    return scenario(
        FAMILY,
        "captured_by_sequence_map",
        "Exp stays if the body of a SequenceMap captures its result",
        ("capture", "subgraph"),
        DOES_NOT_APPLY,
        ScenarioGraph(nodes, (X,), outputs=outputs, opsets={"": 17}),
    )


def _fed_by(graph: onnx.GraphProto, source: str) -> onnx.GraphProto:
    graph.node[0].input[0] = source
    return graph
