"""Cases about other uses: only another use of the operator's result prevents its removal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from onnx import helper

from conformance.corpus.factors.message_fields import constant_node, if_node, make_branch
from conformance.exact.models.model_building import array_value_info, make_value_info
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

FAMILY = "uses"
X = permuted_quarters("uses/X", SHAPE, np.float32)
POSITIVE = make_value_info("positive", "bool", SHAPE)


def cases() -> Iterator[Case]:
    """Yield cases with other uses of the operator's result, of its input, and of the index."""
    for op_type, word in PASS_OPERATORS.items():
        yield from _uses_of_result(op_type, word)
        yield from _captured(op_type, word)
        yield _case(
            f"{word}_input_used",
            f"{op_type} is removed although its input has another consumer",
            ("fires", word),
            APPLIES,
            [*pair(op_type), *_positive("X")],
            [index_info(SHAPE), POSITIVE],
        )
    yield from _twice()
    yield from _several()


def _uses_of_result(op_type: str, word: str) -> Iterator[Case]:
    index = index_info(SHAPE)
    stays = f"{op_type} stays if its result"
    first, last = pair(op_type)
    rows: Sequence[tuple[str, str, Sequence[onnx.NodeProto], Sequence[onnx.ValueInfoProto]]] = (
        ("consumer_after", "has another consumer after ArgMax", [first, last, *_positive("Y")], [index, POSITIVE]),
        ("consumer_before", "has another consumer before ArgMax", [first, *_positive("Y"), last], [index, POSITIVE]),
        (
            "dead_consumer",
            "has another consumer with an unused result",
            [first, *_positive("Y"), last],
            [index],
        ),
        (
            "two_argmax",
            "has two ArgMax as its consumers",
            [first, last, argmax(result="index2", axis=0)],
            [index, index_info(SHAPE, 0, name="index2")],
        ),
    )
    if op_type in ("Softmax", "LogSoftmax"):
        second = argmax(result="index2", select_last_index=1)
        rows = [*rows[:3], (*rows[3][:2], [first, last, second], [index, index_info(SHAPE, name="index2")])]
    for name, text, nodes, outputs in rows:
        yield _case(f"{word}_{name}", f"{stays} {text}", ("other_use", word), DOES_NOT_APPLY, nodes, outputs)
    yield _case(
        f"{word}_graph_output",
        f"{stays} is an output of the graph",
        ("graph_output", word),
        DOES_NOT_APPLY,
        pair(op_type),
        [index, make_value_info("Y", "float", SHAPE)],
    )


def _captured(op_type: str, word: str) -> Iterator[Case]:
    """Yield cases in which a subgraph, or a subgraph of a subgraph, captures the result."""
    zero = constant_node("zero", np.array(0.0, dtype=np.float32))
    inner = make_branch(
        "inner", [helper.make_node("Less", ["zero", "Y"], ["positive_inner"])], ["positive_inner"], SHAPE
    )
    other = make_branch(
        "other", [helper.make_node("Less", ["Y0", "zero"], ["positive_other"])], ["positive_other"], SHAPE
    )
    otherwise = make_branch("otherwise", [helper.make_node("Less", ["Y0", "zero"], ["none"])], ["none"], SHAPE)
    nested = make_branch("nested", [if_node("taken", "positive_nested", inner, other)], ["positive_nested"], SHAPE)
    for name, text, then in (("captured", "a subgraph", inner), ("captured_deep", "a subgraph of a subgraph", nested)):
        nodes = [
            zero,
            producer("Relu", result="Y0"),
            *pair(op_type),
            if_node("taken", "positive", then, otherwise),
        ]
        yield scenario(
            FAMILY,
            f"{word}_{name}",
            f"{op_type} stays if {text} captures its result",
            ("capture", word),
            DOES_NOT_APPLY,
            ScenarioGraph(
                nodes,
                (X, np.array(True)),
                inputs=[array_value_info("X", X), make_value_info("taken", "bool", [])],
                outputs=[index_info(SHAPE), POSITIVE],
            ),
        )


def _twice() -> Iterator[Case]:
    """Yield cases in which another node uses the result twice, or as its second input."""
    twice = helper.make_node("Add", ["Y", "Y"], ["Z"])
    less = helper.make_node("Less", ["X", "Y"], ["below"])
    yield _case(
        "exp_both_inputs",
        "Exp stays if another node uses its result twice",
        ("other_use", "exp"),
        DOES_NOT_APPLY,
        [*pair(), twice, *_positive("Z")],
        [index_info(SHAPE), POSITIVE],
    )
    yield _case(
        "exp_second_input",
        "Exp stays if its result is the second input of another node",
        ("other_use", "exp"),
        DOES_NOT_APPLY,
        [*pair(), less],
        [index_info(SHAPE), make_value_info("below", "bool", SHAPE)],
    )


def _several() -> Iterator[Case]:
    """Yield cases with several ArgMax nodes and operators in a graph."""
    both = [index_info(SHAPE, name="index1"), index_info(SHAPE, name="index2")]
    yield _case(
        "two_producers_of_one_input",
        "Exp and Softmax of the same input are removed, each before its own ArgMax",
        ("fires", "branches"),
        applies_to("Y1", "Y2"),
        [
            producer("Exp", result="Y1"),
            producer("Softmax", result="Y2"),
            argmax("Y1", "index1"),
            argmax("Y2", "index2"),
        ],
        both,
    )
    yield _case(
        "one_of_two_is_wanted",
        "One of two operators stays because its result has another use, and the other is removed",
        ("fires", "other_use", "branches"),
        applies_to("Y2"),
        [
            producer("Exp", result="Y1"),
            producer("Softmax", result="Y2"),
            argmax("Y1", "index1"),
            argmax("Y2", "index2"),
            *_positive("Y1"),
        ],
        [*both, POSITIVE],
    )
    yield _case(
        "index_used_twice",
        "Exp is removed although the index has two consumers",
        ("fires", "exp"),
        APPLIES,
        [
            *pair(result="index0"),
            helper.make_node("Identity", ["index0"], ["index1"]),
            helper.make_node("Identity", ["index0"], ["index2"]),
        ],
        both,
    )
    yield _case(
        "index_output_and_used",
        "Exp is removed although the index is an output of the graph and has a consumer",
        ("fires", "exp"),
        APPLIES,
        [*pair(), helper.make_node("Identity", ["index"], ["index2"])],
        [index_info(SHAPE), both[1]],
    )


def _positive(name: str) -> list[onnx.NodeProto]:
    """Return nodes that compare each element of the value `name` with -64; no rounding changes the result."""
    return [
        constant_node("low", np.array(-64.0, dtype=np.float32)),
        helper.make_node("Less", ["low", name], ["positive"]),
    ]


def _case(
    name: str,
    title: str,
    clauses: Sequence[str],
    rewrite: Rewrite,
    nodes: Sequence[onnx.NodeProto],
    outputs: Sequence[onnx.ValueInfoProto],
) -> Case:
    return scenario(FAMILY, name, title, clauses, rewrite, ScenarioGraph(nodes, (X,), outputs=outputs))
