"""Cases in which the pair, or another consumer, is inside If, Loop and Scan, nested up to three times."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from onnx import helper

from conformance.corpus.factors.message_fields import constant_node
from conformance.exact.models.model_building import array_value_info, make_value_info
from generators.eliminate_nop_monotone_argmax.containers import (
    ContainedNodes,
    ContainerType,
    container_inputs,
    nest_in_containers,
)
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

    import onnx

    from conformance.corpus.cases.case import Case, Rewrite

FAMILY = "contexts"
X = permuted_quarters("contexts/X", SHAPE, np.float32)
INDEX = SHAPE[:1]
DEEP: Sequence[Sequence[ContainerType]] = (
    ("If", "Loop", "Scan"),
    ("Loop", "Scan", "If"),
    ("Scan", "If", "Loop"),
    ("If", "If", "If"),
    ("Loop", "Loop", "Loop"),
    ("Scan", "Scan", "Scan"),
)
"""Nested containers, the outermost first."""

ONCE: Sequence[Sequence[ContainerType]] = (("If",), ("Loop",), ("Scan",), *DEEP[:3])
"""Single containers and some nested ones."""


def cases() -> Iterator[Case]:
    """Yield the cases: the pair in containers, only the operator in containers, other consumers in containers."""
    for kinds, op_type in zip(DEEP, [*PASS_OPERATORS, "Exp"], strict=True):
        yield _together(kinds, op_type)
    for kinds, op_type in zip(ONCE[1:], PASS_OPERATORS, strict=True):
        yield _argmax_within(kinds, op_type)
        yield _operator_within(kinds, op_type)
    for kinds, op_type in zip(ONCE, ["Exp", "Softmax", "Log", "LogSoftmax", "Softmax", "Exp"], strict=True):
        yield _used_within(kinds, op_type)
        yield _used_deeper(kinds, op_type)
        yield _output_of_subgraph(kinds, op_type)
    yield from _other_uses()
    yield from _every_body()
    yield from _other_containers()


def _words(kinds: Sequence[ContainerType]) -> str:
    return " in ".join(f"a {kind}" if kind != "If" else "an If" for kind in reversed(kinds))


def _name(kinds: Sequence[ContainerType]) -> str:
    return "_".join(kind.lower() for kind in kinds)


def _together(kinds: Sequence[ContainerType], op_type: str) -> Case:
    within = nest_in_containers(ContainedNodes([producer(op_type), argmax(result="inner")], "inner", INDEX), kinds)
    return _case(
        f"both_in_{_name(kinds)}",
        f"{op_type} is removed if the pair is in {_words(kinds)}",
        ("subgraph", PASS_OPERATORS[op_type]),
        applies_to(f"{within.path}Y"),
        [*container_inputs(), *within.nodes],
        [make_value_info(within.output, "int64", within.shape)],
    )


def _argmax_within(kinds: Sequence[ContainerType], op_type: str) -> Case:
    within = nest_in_containers(ContainedNodes([argmax(result="inner")], "inner", INDEX), kinds)
    return _case(
        f"argmax_in_{_name(kinds)}",
        f"{op_type} of the main graph stays if its only consumer is an ArgMax in {_words(kinds)}",
        ("border", "capture", PASS_OPERATORS[op_type]),
        DOES_NOT_APPLY,
        [*container_inputs(), producer(op_type), *within.nodes],
        [make_value_info(within.output, "int64", within.shape)],
    )


def _operator_within(kinds: Sequence[ContainerType], op_type: str) -> Case:
    """Define a case with the operator in nested containers; ArgMax outside reads their output."""
    within = nest_in_containers(ContainedNodes([producer(op_type)], "Y", SHAPE, "float"), kinds)
    axis = len(within.shape) - 1
    return _case(
        f"{PASS_OPERATORS[op_type]}_in_{_name(kinds)}",
        f"{op_type} in {_words(kinds)} stays if ArgMax is in the main graph",
        ("border", "graph_output", PASS_OPERATORS[op_type]),
        DOES_NOT_APPLY,
        [*container_inputs(), *within.nodes, argmax(within.output, axis=axis)],
        [index_info(within.shape, axis)],
    )


def _used_within(kinds: Sequence[ContainerType], op_type: str) -> Case:
    """Define a case with the pair in the main graph, and another consumer of the operator's result in containers."""
    taken = [helper.make_node("Less", ["X", "Y"], ["below"])]
    within = nest_in_containers(ContainedNodes(taken, "below", SHAPE, "bool"), kinds)
    return _case(
        f"taken_in_{_name(kinds)}",
        f"{op_type} stays if a node in {_words(kinds)} also uses its result",
        ("capture", PASS_OPERATORS[op_type]),
        DOES_NOT_APPLY,
        [*container_inputs(), *pair(op_type), *within.nodes],
        [index_info(SHAPE), make_value_info(within.output, "bool", within.shape)],
    )


def _used_deeper(kinds: Sequence[ContainerType], op_type: str) -> Case:
    """Define a case with the pair in containers, and another consumer of the result in one more nested container."""
    copy = ContainedNodes([helper.make_node("Identity", ["Y"], ["copy"])], "copy", SHAPE, "float")
    inner = [*pair(op_type, result="inner"), *copy.put_into(kinds[-1], len(kinds) + 1).nodes]
    within = nest_in_containers(ContainedNodes(inner, "inner", INDEX), kinds)
    return _case(
        f"taken_further_in_{_name(kinds)}",
        f"{op_type} in {_words(kinds)} stays if a further nested graph also uses its result",
        ("capture", "subgraph", PASS_OPERATORS[op_type]),
        DOES_NOT_APPLY,
        [*container_inputs(), *within.nodes],
        [make_value_info(within.output, "int64", within.shape)],
    )


def _output_of_subgraph(kinds: Sequence[ContainerType], op_type: str) -> Case:
    """Define a case in which a subgraph captures the operator's result and outputs a copy (Identity).

    onnx's checker does not allow a captured value as an output of a subgraph.
    """
    within = nest_in_containers(
        ContainedNodes([helper.make_node("Identity", ["Y"], ["copy"])], "copy", SHAPE, "float"), kinds
    )
    return _case(
        f"given_out_by_{_name(kinds)}",
        f"{op_type} stays if its result is an output of the graph in {_words(kinds)}",
        ("capture", PASS_OPERATORS[op_type]),
        DOES_NOT_APPLY,
        [*container_inputs(), *pair(op_type), *within.nodes],
        [index_info(SHAPE), make_value_info(within.output, "float", within.shape)],
    )


def _other_uses() -> Iterator[Case]:
    """Yield cases with a consumer in the else_branch, with Scan as consumer, and with equal names in bodies."""
    then = ContainedNodes([helper.make_node("Neg", ["X"], ["plain"])], "plain", SHAPE, "float")
    otherwise = then.put_into("If", other=[helper.make_node("Abs", ["Y"], ["other"])])
    yield _case(
        "taken_in_else_branch",
        "Exp stays if the branch of an If that is not run uses its result",
        ("capture", "exp"),
        DOES_NOT_APPLY,
        [*container_inputs(), *pair(), *otherwise.nodes],
        [index_info(SHAPE), make_value_info(otherwise.output, "float", SHAPE)],
    )
    rows = {"float": make_value_info("row", "float", SHAPE[1:]), "out": make_value_info("out", "float", SHAPE[1:])}
    body = helper.make_graph([helper.make_node("Neg", ["row"], ["out"])], "body", [rows["float"]], [rows["out"]])
    for name, text, inputs, count in (
        ("state_of_scan", "the initial state of a Scan", ["Y", "ticks"], 1),
        ("scanned", "the scanned input of a Scan", ["Y"], 1),
    ):
        held = body if name == "scanned" else _stateful_scan_body()
        yield _case(
            name,
            f"Softmax stays if its result is also {text}",
            ("other_use", "softmax"),
            DOES_NOT_APPLY,
            [
                *container_inputs(),
                *pair("Softmax"),
                helper.make_node("Scan", inputs, ["Z"], num_scan_inputs=count, body=held),
            ],
            [index_info(SHAPE), make_value_info("Z", "float", SHAPE)],
        )
    for name, earlier, shape in (("loop", _loop_of_y(), [1, *SHAPE]), ("scan", _scan_of_y(), SHAPE)):
        yield _case(
            f"input_of_earlier_{name}",
            f"An input of an earlier {name.title()} body with the name of Exp's result is not a use of that result",
            ("names", "capture"),
            APPLIES,
            [*container_inputs(), earlier, *pair()],
            [index_info(SHAPE), make_value_info("Z", "float", shape)],
        )


def _stateful_scan_body() -> onnx.GraphProto:
    inputs = [make_value_info("state", "float", SHAPE), make_value_info("tick", "float", [])]
    return helper.make_graph(
        [helper.make_node("Neg", ["state"], ["next"])], "body", inputs, [make_value_info("next", "float", SHAPE)]
    )


def _scan_of_y() -> onnx.NodeProto:
    inputs = [make_value_info("Y", "float", SHAPE[1:])]
    outputs = [make_value_info("minus", "float", SHAPE[1:])]
    body = helper.make_graph([helper.make_node("Neg", ["Y"], ["minus"])], "body", inputs, outputs)
    return helper.make_node("Scan", ["X"], ["Z"], num_scan_inputs=1, body=body)


def _loop_of_y() -> onnx.NodeProto:
    inputs = [
        make_value_info("turn", "int64", []),
        make_value_info("more", "bool", []),
        make_value_info("Y", "float", SHAPE),
    ]
    nodes = [
        helper.make_node("Identity", ["more"], ["on"]),
        helper.make_node("Neg", ["Y"], ["next"]),
        helper.make_node("Abs", ["Y"], ["minus"]),
    ]
    outputs = [
        make_value_info("on", "bool", []),
        *(make_value_info(name, "float", SHAPE) for name in ("next", "minus")),
    ]
    body = helper.make_graph(nodes, "body", inputs, outputs)
    return helper.make_node("Loop", ["turns", "yes", "X"], ["last", "Z"], body=body)


def _every_body() -> Iterator[Case]:
    """Yield a case with the pair in the main graph and in the body of each container, with the same names."""
    places = [
        nest_in_containers(
            ContainedNodes([producer("Exp"), argmax(result=f"inner_{number}")], f"inner_{number}", INDEX), kinds
        )
        for number, kinds in enumerate([*ONCE[:3], DEEP[2]])
    ]
    yield _case(
        "every_body_at_once",
        "Exp is removed from the main graph and from all subgraphs, which use the same names",
        ("subgraph", "names", "branches"),
        applies_to("Y", *(f"{place.path}Y" for place in places)),
        [*container_inputs(), *(node for place in places for node in place.nodes), *pair()],
        [index_info(SHAPE), *(make_value_info(place.output, "int64", place.shape) for place in places)],
    )


def _other_containers() -> Iterator[Case]:
    """Yield cases of Scan along another axis and backwards, and of Loop without a trip count or condition."""
    body = helper.make_graph(
        [
            producer("Exp", "column", "Y", axis=0),
            argmax("Y", "inner", axis=0),
            helper.make_node("Neg", ["column"], ["N"]),
        ],
        "body",
        [make_value_info("column", "float", SHAPE[:1])],
        [make_value_info("inner", "int64", []), make_value_info("N", "float", SHAPE[:1])],
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
        "Exp is removed from the body of a Scan over columns in reverse order",
        ("subgraph", "exp"),
        applies_to("index/body/Y"),
        [scan],
        [index_info(SHAPE, 0), make_value_info("Z", "float", SHAPE)],
    )
    for name, inputs, text in (
        ("loop_without_count", ["", "yes"], "with a condition only"),
        ("loop_without_condition", ["turns", ""], "with a trip count only"),
    ):
        within = nest_in_containers(ContainedNodes([producer("Log"), argmax(result="inner")], "inner", INDEX), ["Loop"])
        loop = within.nodes[0]
        loop.input[:] = inputs
        if not inputs[0]:
            loop.attribute[0].g.node[0].CopyFrom(constant_node("on_1", np.array(False)))
        yield _case(
            name,
            f"Log is removed from the body of a Loop {text}",
            ("subgraph", "log"),
            applies_to(f"{within.path}Y"),
            [*container_inputs(), loop],
            [make_value_info(within.output, "int64", within.shape)],
        )


def _case(
    name: str,
    title: str,
    clauses: Sequence[str],
    rewrite: Rewrite,
    nodes: Sequence[onnx.NodeProto],
    outputs: Sequence[onnx.ValueInfoProto],
) -> Case:
    graph = ScenarioGraph(nodes, (X,), inputs=[array_value_info("X", X)], outputs=outputs)
    return scenario(FAMILY, name, title, clauses, rewrite, graph)
