"""Cases with chains, which are several of the five operators in a row before an ArgMax.

One run of the pass removes the operator next to ArgMax; runs to a fixed point remove the whole chain.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from onnx import helper

from conformance.exact.models.model_building import make_value_info
from generators.eliminate_nop_monotone_argmax.pass_scenario import (
    ALONG_AXIS,
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

FAMILY = "chains"
CHAINS: Sequence[Sequence[str]] = (
    ("Exp", "Log"),
    ("Log", "Exp"),
    ("Sqrt", "Exp"),
    ("Exp", "Sqrt"),
    ("Sqrt", "Sqrt"),
    ("Exp", "Softmax"),
    ("Log", "Softmax"),
    ("Log", "LogSoftmax"),
    ("Softmax", "Exp"),
    ("Softmax", "Log"),
    ("Softmax", "Sqrt"),
    ("Softmax", "Softmax"),
    ("LogSoftmax", "Exp"),
    ("LogSoftmax", "Softmax"),
    ("LogSoftmax", "LogSoftmax"),
    ("Exp", "Log", "Softmax"),
    ("Log", "Exp", "Sqrt"),
    ("Sqrt", "Softmax", "Log"),
    ("LogSoftmax", "Exp", "Log"),
    ("Exp", "Log", "Sqrt", "Softmax", "LogSoftmax"),
)
"""Operators from X to ArgMax."""


def cases() -> Iterator[Case]:
    """Yield cases with complete chains, interrupted chains, and chains with a common beginning."""
    for row in CHAINS:
        yield _chain(row)
    yield _long()
    yield from _interrupted()
    yield from _common_beginning()
    yield from _default_axis()


def _chain(row: Sequence[str]) -> Case:
    values = [*(f"Y{number}" for number in range(1, len(row))), "Y"]
    nodes = _nodes(row, values)
    return _case(
        "_".join(PASS_OPERATORS[op_type] for op_type in row),
        f"One run removes {row[-1]} of {', '.join(row)} before ArgMax, and runs to a fixed point remove all",
        applies_to("Y", then=values[-2::-1]),
        nodes,
    )


def _nodes(row: Sequence[str], values: Sequence[str]) -> list[onnx.NodeProto]:
    sources = ["X", *values[:-1]]
    triples = zip(row, sources, values, strict=True)
    return [*(producer(op_type, source, value) for op_type, source, value in triples), argmax(values[-1])]


def _long() -> Case:
    """Define a case with a chain of ten operators, which needs ten runs."""
    row = ["Sqrt"] * 10
    values = [f"Y{number}" for number in range(1, 11)]
    X = 4.0 ** permuted_quarters("chains/long", SHAPE, np.float32) * np.float32(4096)
    return _case(
        "sqrt_ten_times",
        "One run removes the last of ten Sqrt before ArgMax, and runs to a fixed point remove all",
        applies_to("Y10", then=values[-2::-1]),
        _nodes(row, values),
        X=np.exp2(np.floor(np.log2(X))).astype(np.float32),
    )


def _interrupted() -> Iterator[Case]:
    relu = helper.make_node("Relu", ["Y1"], ["Y2"])
    yield _case(
        "interrupted_by_relu",
        "Only Log is removed from Exp, Relu and Log before ArgMax",
        applies_to("Y"),
        [producer("Exp", "X", "Y1"), relu, producer("Log", "Y2", "Y"), argmax()],
    )
    yield _case(
        "interrupted_by_another_axis",
        "Only Exp is removed from Softmax along another axis and Exp before ArgMax",
        applies_to("Y"),
        [producer("Softmax", "X", "Y1", axis=0), producer("Exp", "Y1", "Y"), argmax()],
    )
    yield _case(
        "wanted_in_the_middle",
        "Only Softmax is removed from Exp and Softmax before ArgMax if the result of Exp is a graph output",
        applies_to("Y"),
        [producer("Exp", "X", "Y1"), producer("Softmax", "Y1", "Y"), argmax()],
        outputs=[index_info(SHAPE), make_value_info("Y1", "float", SHAPE)],
    )
    yield _case(
        "used_in_the_middle",
        "Only Log is removed from Exp and Log before ArgMax if the result of Exp has another consumer",
        applies_to("Y"),
        [
            producer("Exp", "X", "Y1"),
            helper.make_node("Less", ["X", "Y1"], ["less"]),
            producer("Log", "Y1", "Y"),
            argmax(),
        ],
        outputs=[index_info(SHAPE), make_value_info("less", "bool", SHAPE)],
    )


def _default_axis() -> Iterator[Case]:
    """Yield cases with an operator in the chain that has no explicit axis; its default is not ArgMax's axis."""
    for (op_type, word), then in zip(ALONG_AXIS.items(), ("Log", "Exp"), strict=True):
        yield _case(
            f"{word}_by_default_{PASS_OPERATORS[then]}",
            f"Only {then} is removed from {op_type} along its default axis and {then} before ArgMax along another axis",
            applies_to("Y"),
            [helper.make_node(op_type, ["X"], ["Y1"]), producer(then, "Y1", "Y"), argmax(axis=0)],
            outputs=[index_info(SHAPE, 0)],
        )


def _common_beginning() -> Iterator[Case]:
    """Yield cases with two chains that read one operator's result, which therefore remains, or the same input."""
    indices = [index_info(SHAPE, name=name) for name in ("index1", "index2")]
    yield _case(
        "two_ends_of_one_beginning",
        "Exp at the beginning of two chains stays, although the operators after it are removed",
        applies_to("Y1", "Y2"),
        [
            producer("Exp", "X", "Y0"),
            producer("Log", "Y0", "Y1"),
            producer("Softmax", "Y0", "Y2"),
            argmax("Y1", "index1"),
            argmax("Y2", "index2"),
        ],
        outputs=indices,
    )
    yield _case(
        "two_rows",
        "One run removes the last operator of each of two chains, and runs to a fixed point remove all",
        applies_to("Y2", "Z2", then=("Y1", "Z1")),
        [
            producer("Exp", "X", "Y1"),
            producer("Softmax", "X", "Z1"),
            producer("Log", "Y1", "Y2"),
            producer("Sqrt", "Z1", "Z2"),
            argmax("Y2", "index1"),
            argmax("Z2", "index2"),
        ],
        outputs=indices,
    )


def _case(
    name: str,
    title: str,
    rewrite: Rewrite,
    nodes: Sequence[onnx.NodeProto],
    outputs: Sequence[onnx.ValueInfoProto] = (),
    X: np.ndarray[tuple[int, ...], np.dtype[np.float32]] | None = None,
) -> Case:
    fed = permuted_quarters(name, SHAPE, np.float32) + np.float32(1) if X is None else X
    clauses = ("one_per_run", "fixed_point")
    return scenario(FAMILY, name, title, clauses, rewrite, ScenarioGraph(nodes, (fed,), outputs=outputs))
