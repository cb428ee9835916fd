"""Several of the five in a row: one run takes away the one next to ArgMax, a fixed point the whole row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from onnx import helper

from conformance.generation.models import declared_as
from conformance.generation.values import ranked
from generators.eliminate_nop_monotone_argmax.scenario import (
    ALONG_AXIS,
    FIVE,
    SHAPE,
    ScenarioGraph,
    argmax,
    fires,
    index_of,
    producer,
    scenario,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import onnx

    from conformance.corpus.case import Case, Rewrite

FAMILY = "chains"
ROWS: Sequence[Sequence[str]] = (
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
"""The operators from X on; ArgMax comes last."""


def cases() -> Iterator[Case]:
    """Whole rows, rows that something interrupts, and rows that share their beginning."""
    for row in ROWS:
        yield _row(row)
    yield _long()
    yield from _interrupted()
    yield from _shared()
    yield from _default_axis()


def _row(row: Sequence[str]) -> Case:
    values = [*(f"Y{number}" for number in range(1, len(row))), "Y"]
    nodes = _nodes(row, values)
    return _case(
        "_".join(FIVE[op_type] for op_type in row),
        f"Of {', '.join(row)} before ArgMax one run takes {row[-1]} away and a fixed point all",
        fires("Y", then=values[-2::-1]),
        nodes,
    )


def _nodes(row: Sequence[str], values: Sequence[str]) -> list[onnx.NodeProto]:
    sources = ["X", *values[:-1]]
    triples = zip(row, sources, values, strict=True)
    return [*(producer(op_type, source, value) for op_type, source, value in triples), argmax(values[-1])]


def _long() -> Case:
    """Every run takes away one, so that a fixed point is ten runs away."""
    row = ["Sqrt"] * 10
    values = [f"Y{number}" for number in range(1, 11)]
    X = 4.0 ** ranked("chains/long", SHAPE, np.float32) * np.float32(4096)
    return _case(
        "sqrt_ten_times",
        "Of ten Sqrt before ArgMax one run takes the last away and a fixed point all",
        fires("Y10", then=values[-2::-1]),
        _nodes(row, values),
        X=np.exp2(np.floor(np.log2(X))).astype(np.float32),
    )


def _interrupted() -> Iterator[Case]:
    relu = helper.make_node("Relu", ["Y1"], ["Y2"])
    yield _case(
        "interrupted_by_relu",
        "Of Exp, Relu and Log before ArgMax only Log is ever taken away",
        fires("Y"),
        [producer("Exp", "X", "Y1"), relu, producer("Log", "Y2", "Y"), argmax()],
    )
    yield _case(
        "interrupted_by_another_axis",
        "Of Softmax along another axis and Exp before ArgMax only Exp is ever taken away",
        fires("Y"),
        [producer("Softmax", "X", "Y1", axis=0), producer("Exp", "Y1", "Y"), argmax()],
    )
    yield _case(
        "wanted_in_the_middle",
        "Of Exp, whose result is an output of the graph, and Softmax before ArgMax only Softmax is ever taken away",
        fires("Y"),
        [producer("Exp", "X", "Y1"), producer("Softmax", "Y1", "Y"), argmax()],
        outputs=[index_of(SHAPE), declared_as("Y1", "float", SHAPE)],
    )
    yield _case(
        "used_in_the_middle",
        "Of Exp, whose result has another consumer, and Log before ArgMax only Log is ever taken away",
        fires("Y"),
        [
            producer("Exp", "X", "Y1"),
            helper.make_node("Less", ["X", "Y1"], ["less"]),
            producer("Log", "Y1", "Y"),
            argmax(),
        ],
        outputs=[index_of(SHAPE), declared_as("less", "bool", SHAPE)],
    )


def _default_axis() -> Iterator[Case]:
    """An operator that is not told its axis, which is the last one: another than ArgMax's."""
    for (op_type, word), then in zip(ALONG_AXIS.items(), ("Log", "Exp"), strict=True):
        yield _case(
            f"{word}_by_default_{FIVE[then]}",
            f"Of {op_type} along its default axis and {then} before ArgMax along another, {then} alone is taken away",
            fires("Y"),
            [helper.make_node(op_type, ["X"], ["Y1"]), producer(then, "Y1", "Y"), argmax(axis=0)],
            outputs=[index_of(SHAPE, 0)],
        )


def _shared() -> Iterator[Case]:
    """Two rows with one beginning: it stays, since both rows want it."""
    indices = [index_of(SHAPE, name=name) for name in ("index1", "index2")]
    yield _case(
        "two_ends_of_one_beginning",
        "Exp that is the beginning of two rows stays, whatever is taken away after it",
        fires("Y1", "Y2"),
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
        "Of two rows in one graph one run takes the last of each away and a fixed point all",
        fires("Y2", "Z2", then=("Y1", "Z1")),
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
    fed = ranked(name, SHAPE, np.float32) + np.float32(1) if X is None else X
    clauses = ("one_per_run", "fixed_point")
    return scenario(FAMILY, name, title, clauses, rewrite, ScenarioGraph(nodes, (fed,), outputs=outputs))
