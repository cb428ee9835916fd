"""An operator whose result is wanted elsewhere stays; what is wanted of its input or of the index does not matter."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from onnx import helper

from conformance.dimensions.blocks import branch, constant, if_node
from conformance.generation.models import declared, declared_as
from conformance.generation.values import ranked
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

FAMILY = "uses"
X = ranked("uses/X", SHAPE, np.float32)
POSITIVE = declared_as("positive", "bool", SHAPE)


def cases() -> Iterator[Case]:
    """Other uses of the operator's result, of its input, and of the index."""
    for op_type, word in FIVE.items():
        yield from _of_the_result(op_type, word)
        yield from _captured(op_type, word)
        yield _case(
            f"{word}_input_used",
            f"{op_type} is taken away though its input has another consumer",
            ("fires", word),
            FIRES,
            [*pair(op_type), *_positive("X")],
            [index_of(SHAPE), POSITIVE],
        )
    yield from _twice()
    yield from _several()


def _of_the_result(op_type: str, word: str) -> Iterator[Case]:
    index, stays = index_of(SHAPE), f"{op_type} stays where its result"
    first, last = pair(op_type)
    rows: Sequence[tuple[str, str, Sequence[onnx.NodeProto], Sequence[onnx.ValueInfoProto]]] = (
        ("consumer_after", "has another consumer after ArgMax", [first, last, *_positive("Y")], [index, POSITIVE]),
        ("consumer_before", "has another consumer before ArgMax", [first, *_positive("Y"), last], [index, POSITIVE]),
        (
            "dead_consumer",
            "has another consumer whose own result nobody wants",
            [first, *_positive("Y"), last],
            [index],
        ),
        (
            "two_argmax",
            "has two ArgMax as its consumers",
            [first, last, argmax(result="index2", axis=0)],
            [index, index_of(SHAPE, 0, name="index2")],
        ),
    )
    if op_type in ("Softmax", "LogSoftmax"):
        second = argmax(result="index2", select_last_index=1)
        rows = [*rows[:3], (*rows[3][:2], [first, last, second], [index, index_of(SHAPE, name="index2")])]
    for name, text, nodes, outputs in rows:
        yield _case(f"{word}_{name}", f"{stays} {text}", ("other_use", word), STAYS, nodes, outputs)
    yield _case(
        f"{word}_graph_output",
        f"{stays} is an output of the graph",
        ("graph_output", word),
        STAYS,
        pair(op_type),
        [index, declared_as("Y", "float", SHAPE)],
    )


def _captured(op_type: str, word: str) -> Iterator[Case]:
    """A subgraph wants the result, at either depth."""
    zero = constant("zero", np.array(0.0, dtype=np.float32))
    inner = branch("inner", [helper.make_node("Less", ["zero", "Y"], ["positive_inner"])], ["positive_inner"], SHAPE)
    other = branch("other", [helper.make_node("Less", ["Y0", "zero"], ["positive_other"])], ["positive_other"], SHAPE)
    otherwise = branch("otherwise", [helper.make_node("Less", ["Y0", "zero"], ["none"])], ["none"], SHAPE)
    nested = branch("nested", [if_node("taken", "positive_nested", inner, other)], ["positive_nested"], SHAPE)
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
            f"{op_type} stays where {text} captures its result",
            ("capture", word),
            STAYS,
            ScenarioGraph(
                nodes,
                (X, np.array(True)),
                inputs=[declared("X", X), declared_as("taken", "bool", [])],
                outputs=[index_of(SHAPE), POSITIVE],
            ),
        )


def _twice() -> Iterator[Case]:
    """One consumer that is no ArgMax, and takes the result twice or not first."""
    twice, less = helper.make_node("Add", ["Y", "Y"], ["Z"]), helper.make_node("Less", ["X", "Y"], ["below"])
    yield _case(
        "exp_both_inputs",
        "Exp stays where another node takes its result twice",
        ("other_use", "exp"),
        STAYS,
        [*pair(), twice, *_positive("Z")],
        [index_of(SHAPE), POSITIVE],
    )
    yield _case(
        "exp_second_input",
        "Exp stays where its result is the second input of another node",
        ("other_use", "exp"),
        STAYS,
        [*pair(), less],
        [index_of(SHAPE), declared_as("below", "bool", SHAPE)],
    )


def _several() -> Iterator[Case]:
    """Several ArgMax in a graph, each with an operator of its own."""
    both = [index_of(SHAPE, name="index1"), index_of(SHAPE, name="index2")]
    yield _case(
        "two_producers_of_one_input",
        "Exp and Softmax of one input are taken away, each before an ArgMax of its own",
        ("fires", "branches"),
        fires("Y1", "Y2"),
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
        "Of two operators the one whose result is wanted elsewhere stays and the other is taken away",
        ("fires", "other_use", "branches"),
        fires("Y2"),
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
        "Exp is taken away though the index has two consumers",
        ("fires", "exp"),
        FIRES,
        [
            *pair(result="index0"),
            helper.make_node("Identity", ["index0"], ["index1"]),
            helper.make_node("Identity", ["index0"], ["index2"]),
        ],
        both,
    )
    yield _case(
        "index_output_and_used",
        "Exp is taken away though the index is an output of the graph and has a consumer",
        ("fires", "exp"),
        FIRES,
        [*pair(), helper.make_node("Identity", ["index"], ["index2"])],
        [index_of(SHAPE), both[1]],
    )


def _positive(name: str) -> list[onnx.NodeProto]:
    """Whether each element is above -64: an answer that no rounding changes."""
    return [constant("low", np.array(-64.0, dtype=np.float32)), helper.make_node("Less", ["low", name], ["positive"])]


def _case(
    name: str,
    title: str,
    clauses: Sequence[str],
    rewrite: Rewrite,
    nodes: Sequence[onnx.NodeProto],
    outputs: Sequence[onnx.ValueInfoProto],
) -> Case:
    return scenario(FAMILY, name, title, clauses, rewrite, ScenarioGraph(nodes, (X,), outputs=outputs))
