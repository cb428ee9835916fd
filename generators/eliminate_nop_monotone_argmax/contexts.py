"""Where operator and ArgMax stand, and where else the operator's result is wanted: If, Loop, Scan, three deep too."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from onnx import helper

from conformance.dimensions.blocks import constant
from conformance.generation.models import declared, declared_as
from conformance.generation.values import ranked
from generators.eliminate_nop_monotone_argmax.containers import Contained, Kind, contained, driven
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

    from conformance.corpus.case import Case, Rewrite

FAMILY = "contexts"
X = ranked("contexts/X", SHAPE, np.float32)
INDEX = SHAPE[:1]
DEEP: Sequence[Sequence[Kind]] = (
    ("If", "Loop", "Scan"),
    ("Loop", "Scan", "If"),
    ("Scan", "If", "Loop"),
    ("If", "If", "If"),
    ("Loop", "Loop", "Loop"),
    ("Scan", "Scan", "Scan"),
)
"""Containers in each other, the outermost first."""

ONCE: Sequence[Sequence[Kind]] = (("If",), ("Loop",), ("Scan",), *DEEP[:3])


def cases() -> Iterator[Case]:
    """Operator and ArgMax together, on two sides of a border, and the result wanted within."""
    for kinds, op_type in zip(DEEP, [*FIVE, "Exp"], strict=True):
        yield _together(kinds, op_type)
    for kinds, op_type in zip(ONCE[1:], FIVE, strict=True):
        yield _argmax_within(kinds, op_type)
        yield _operator_within(kinds, op_type)
    for kinds, op_type in zip(ONCE, ["Exp", "Softmax", "Log", "LogSoftmax", "Softmax", "Exp"], strict=True):
        yield _taken_within(kinds, op_type)
        yield _taken_further_in(kinds, op_type)
        yield _given_out_within(kinds, op_type)
    yield from _other_uses()
    yield from _every_body()
    yield from _other_containers()


def _words(kinds: Sequence[Kind]) -> str:
    return " in ".join(f"a {kind}" if kind != "If" else "an If" for kind in reversed(kinds))


def _name(kinds: Sequence[Kind]) -> str:
    return "_".join(kind.lower() for kind in kinds)


def _together(kinds: Sequence[Kind], op_type: str) -> Case:
    within = contained(Contained([producer(op_type), argmax(result="inner")], "inner", INDEX), kinds)
    return _case(
        f"both_in_{_name(kinds)}",
        f"{op_type} is taken away where it and ArgMax stand in {_words(kinds)}",
        ("subgraph", FIVE[op_type]),
        fires(f"{within.path}Y"),
        [*driven(), *within.nodes],
        [declared_as(within.output, "int64", within.shape)],
    )


def _argmax_within(kinds: Sequence[Kind], op_type: str) -> Case:
    within = contained(Contained([argmax(result="inner")], "inner", INDEX), kinds)
    return _case(
        f"argmax_in_{_name(kinds)}",
        f"{op_type} of the main graph stays where its one consumer is an ArgMax in {_words(kinds)}",
        ("border", "capture", FIVE[op_type]),
        STAYS,
        [*driven(), producer(op_type), *within.nodes],
        [declared_as(within.output, "int64", within.shape)],
    )


def _operator_within(kinds: Sequence[Kind], op_type: str) -> Case:
    """ArgMax takes what the containers give; it has dimensions more than the operator's result."""
    within = contained(Contained([producer(op_type)], "Y", SHAPE, "float"), kinds)
    axis = len(within.shape) - 1
    return _case(
        f"{FIVE[op_type]}_in_{_name(kinds)}",
        f"{op_type} in {_words(kinds)} stays where ArgMax comes after it in the main graph",
        ("border", "graph_output", FIVE[op_type]),
        STAYS,
        [*driven(), *within.nodes, argmax(within.output, axis=axis)],
        [index_of(within.shape, axis)],
    )


def _taken_within(kinds: Sequence[Kind], op_type: str) -> Case:
    """The operator's result is the last input of a node in there."""
    taken = [helper.make_node("Less", ["X", "Y"], ["below"])]
    within = contained(Contained(taken, "below", SHAPE, "bool"), kinds)
    return _case(
        f"taken_in_{_name(kinds)}",
        f"{op_type} stays where a node in {_words(kinds)} takes its result too",
        ("capture", FIVE[op_type]),
        STAYS,
        [*driven(), *pair(op_type), *within.nodes],
        [index_of(SHAPE), declared_as(within.output, "bool", within.shape)],
    )


def _taken_further_in(kinds: Sequence[Kind], op_type: str) -> Case:
    """The pair is in containers itself; a graph beside it in there takes the result, though nothing comes of it."""
    copy = Contained([helper.make_node("Identity", ["Y"], ["copy"])], "copy", SHAPE, "float")
    inner = [*pair(op_type, result="inner"), *copy.within(kinds[-1], len(kinds) + 1).nodes]
    within = contained(Contained(inner, "inner", INDEX), kinds)
    return _case(
        f"taken_further_in_{_name(kinds)}",
        f"{op_type} in {_words(kinds)} stays where a graph further in takes its result too",
        ("capture", "subgraph", FIVE[op_type]),
        STAYS,
        [*driven(), *within.nodes],
        [declared_as(within.output, "int64", within.shape)],
    )


def _given_out_within(kinds: Sequence[Kind], op_type: str) -> Case:
    """The graph gives out what it captures; that takes an Identity, for the checker refuses a captured output."""
    within = contained(Contained([helper.make_node("Identity", ["Y"], ["copy"])], "copy", SHAPE, "float"), kinds)
    return _case(
        f"given_out_by_{_name(kinds)}",
        f"{op_type} stays where the graph in {_words(kinds)} gives out its result",
        ("capture", FIVE[op_type]),
        STAYS,
        [*driven(), *pair(op_type), *within.nodes],
        [index_of(SHAPE), declared_as(within.output, "float", within.shape)],
    )


def _other_uses() -> Iterator[Case]:
    """The other branch, inputs of Loop and Scan, and names in bodies that stand before the operator."""
    then = Contained([helper.make_node("Neg", ["X"], ["plain"])], "plain", SHAPE, "float")
    otherwise = then.within("If", other=[helper.make_node("Abs", ["Y"], ["other"])])
    yield _case(
        "taken_in_else_branch",
        "Exp stays where the branch of an If that is not run takes its result",
        ("capture", "exp"),
        STAYS,
        [*driven(), *pair(), *otherwise.nodes],
        [index_of(SHAPE), declared_as(otherwise.output, "float", SHAPE)],
    )
    rows = {"float": declared_as("row", "float", SHAPE[1:]), "out": declared_as("out", "float", SHAPE[1:])}
    body = helper.make_graph([helper.make_node("Neg", ["row"], ["out"])], "body", [rows["float"]], [rows["out"]])
    for name, text, inputs, count in (
        ("state_of_scan", "the first state of a Scan", ["Y", "ticks"], 1),
        ("scanned", "what a Scan goes over", ["Y"], 1),
    ):
        held = body if name == "scanned" else _with_state()
        yield _case(
            name,
            f"Softmax stays where its result is also {text}",
            ("other_use", "softmax"),
            STAYS,
            [*driven(), *pair("Softmax"), helper.make_node("Scan", inputs, ["Z"], num_scan_inputs=count, body=held)],
            [index_of(SHAPE), declared_as("Z", "float", SHAPE)],
        )
    for name, earlier, shape in (("loop", _loop_of_y(), [1, *SHAPE]), ("scan", _scan_of_y(), SHAPE)):
        yield _case(
            f"input_of_earlier_{name}",
            f"An input of the body of an earlier {name.title()} that bears the name of Exp's result is no use of it",
            ("names", "capture"),
            FIRES,
            [*driven(), earlier, *pair()],
            [index_of(SHAPE), declared_as("Z", "float", shape)],
        )


def _with_state() -> onnx.GraphProto:
    inputs = [declared_as("state", "float", SHAPE), declared_as("tick", "float", [])]
    return helper.make_graph(
        [helper.make_node("Neg", ["state"], ["next"])], "body", inputs, [declared_as("next", "float", SHAPE)]
    )


def _scan_of_y() -> onnx.NodeProto:
    inputs, outputs = [declared_as("Y", "float", SHAPE[1:])], [declared_as("minus", "float", SHAPE[1:])]
    body = helper.make_graph([helper.make_node("Neg", ["Y"], ["minus"])], "body", inputs, outputs)
    return helper.make_node("Scan", ["X"], ["Z"], num_scan_inputs=1, body=body)


def _loop_of_y() -> onnx.NodeProto:
    inputs = [declared_as("turn", "int64", []), declared_as("more", "bool", []), declared_as("Y", "float", SHAPE)]
    nodes = [
        helper.make_node("Identity", ["more"], ["on"]),
        helper.make_node("Neg", ["Y"], ["next"]),
        helper.make_node("Abs", ["Y"], ["minus"]),
    ]
    outputs = [declared_as("on", "bool", []), *(declared_as(name, "float", SHAPE) for name in ("next", "minus"))]
    body = helper.make_graph(nodes, "body", inputs, outputs)
    return helper.make_node("Loop", ["turns", "yes", "X"], ["last", "Z"], body=body)


def _every_body() -> Iterator[Case]:
    """One graph that has the pair everywhere at once, with the same names in each."""
    places = [
        contained(Contained([producer("Exp"), argmax(result=f"inner_{number}")], f"inner_{number}", INDEX), kinds)
        for number, kinds in enumerate([*ONCE[:3], DEEP[2]])
    ]
    yield _case(
        "every_body_at_once",
        "Exp is taken away from the main graph and from every graph in it, which all use its names",
        ("subgraph", "names", "branches"),
        fires("Y", *(f"{place.path}Y" for place in places)),
        [*driven(), *(node for place in places for node in place.nodes), *pair()],
        [index_of(SHAPE), *(declared_as(place.output, "int64", place.shape) for place in places)],
    )


def _other_containers() -> Iterator[Case]:
    """Scan along another axis and backwards, Loop without a count or without a condition."""
    body = helper.make_graph(
        [
            producer("Exp", "column", "Y", axis=0),
            argmax("Y", "inner", axis=0),
            helper.make_node("Neg", ["column"], ["N"]),
        ],
        "body",
        [declared_as("column", "float", SHAPE[:1])],
        [declared_as("inner", "int64", []), declared_as("N", "float", SHAPE[:1])],
    )
    scan = helper.make_node(
        "Scan",
        ["X"],
        ["index", "Z"],
        body=body,
        num_scan_inputs=1,
        scan_input_axes=[1],
        scan_input_directions=[1],
        scan_output_axes=[0, 1],
        scan_output_directions=[1, 0],
    )
    yield _case(
        "scan_of_columns",
        "Exp goes from the body of a Scan over columns from the last to the first",
        ("subgraph", "exp"),
        fires("index/body/Y"),
        [scan],
        [index_of(SHAPE, 0), declared_as("Z", "float", SHAPE)],
    )
    for name, inputs, text in (
        ("loop_without_count", ["", "yes"], "that has a condition alone"),
        ("loop_without_condition", ["turns", ""], "that has a count alone"),
    ):
        within = contained(Contained([producer("Log"), argmax(result="inner")], "inner", INDEX), ["Loop"])
        loop = within.nodes[0]
        loop.input[:] = inputs
        if not inputs[0]:
            loop.attribute[0].g.node[0].CopyFrom(constant("on_1", np.array(False)))
        yield _case(
            name,
            f"Log goes from the body of a Loop {text}",
            ("subgraph", "log"),
            fires(f"{within.path}Y"),
            [*driven(), loop],
            [declared_as(within.output, "int64", within.shape)],
        )


def _case(
    name: str,
    title: str,
    clauses: Sequence[str],
    rewrite: Rewrite,
    nodes: Sequence[onnx.NodeProto],
    outputs: Sequence[onnx.ValueInfoProto],
) -> Case:
    graph = ScenarioGraph(nodes, (X,), inputs=[declared("X", X)], outputs=outputs)
    return scenario(FAMILY, name, title, clauses, rewrite, graph)
