"""Constants beside the pair: large ones, equal ones, and one that has to be an input too."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from onnx import helper, numpy_helper

from conformance.dimensions.blocks import branch, constant, function, if_node
from conformance.generation.models import declared_as
from conformance.generation.values import ranked, scattered
from generators.eliminate_nop_monotone_argmax.scenario import (
    ALONG_AXIS,
    FIRES,
    SHAPE,
    ScenarioGraph,
    argmax,
    index_of,
    pair,
    scenario,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from conformance.corpus.case import Case

FAMILY = "surroundings"
X = ranked("surroundings/X", SHAPE, np.float32)
ABOVE_1_KIB, ABOVE_64_KIB = 257, 16_385
"""Counts of floats that take a little more."""


def cases() -> Iterator[Case]:
    """All of them."""
    yield from _large()
    yield from _constants()
    yield from _computed()


def _large() -> Iterator[Case]:
    """Tensors that some tools move out of the message: of more than a kibibyte, and one of more than 64."""
    W = scattered("surroundings/W", (ABOVE_1_KIB,), np.float32)
    take = [
        constant("last", np.array([ABOVE_1_KIB - 1], dtype=np.int64)),
        helper.make_node("Gather", ["W", "last"], ["w"]),
    ]
    inner = helper.make_graph(
        [helper.make_node("Gather", ["V", "last"], ["v"])],
        "then",
        [],
        [declared_as("v", "float", [1])],
        [numpy_helper.from_array(W[::-1].copy(), "V")],
    )
    other = branch("else", [helper.make_node("Neg", ["w"], ["u"])], ["u"], [1], "float")
    body = function("Last", [constant("T", W * 2), helper.make_node("Gather", ["T", "A"], ["B"])])
    call = helper.make_node("Last", ["last"], ["t"], domain="acme")
    shown = [declared_as(name, "float", [1]) for name in ("w", "z", "t", "c")]
    held = [constant("C", -W), helper.make_node("Gather", ["C", "last"], ["c"])]
    yield _case(
        "above_1_kib",
        "Tensors of more than 1 KiB stay in graph, branch, function and Constant",
        ScenarioGraph(
            [*take, *pair(), constant("yes", np.array(True)), if_node("yes", "z", inner, other), call, *held],
            (X,),
            outputs=[index_of(SHAPE), *shown],
            initializers={"W": W},
            functions=[body],
            opsets={"": 13, "acme": 1},
        ),
        ("preservation", "exp"),
        check="preservation",
    )
    W = scattered("surroundings/V", (ABOVE_64_KIB,), np.float32)
    last = constant("last", np.array([ABOVE_64_KIB - 1], dtype=np.int64))
    yield _case(
        "above_64_kib",
        "An initializer of more than 64 KiB stays",
        ScenarioGraph(
            [last, helper.make_node("Gather", ["W", "last"], ["w"]), *pair()],
            (X,),
            outputs=[index_of(SHAPE), shown[0]],
            initializers={"W": W},
        ),
        ("preservation", "exp"),
        check="preservation",
    )


def _constants() -> Iterator[Case]:
    """Initializers that are equal, of which one is wanted in a graph inside, and one which has to be an input."""
    W = np.full(SHAPE, 0.625, dtype=np.float32)
    then = branch("then", [helper.make_node("Less", ["V", "X"], ["above_V"])], ["above_V"], SHAPE)
    other = branch("else", [helper.make_node("Less", ["X", "W"], ["below_W"])], ["below_W"], SHAPE)
    yield _case(
        "equal_initializers",
        "Two equal initializers stay two, of which one is taken in the branches of an If alone",
        ScenarioGraph(
            [
                *pair(),
                constant("yes", np.array(True)),
                if_node("yes", "Z", then, other),
                helper.make_node("Less", ["W", "X"], ["above_W"]),
            ],
            (X,),
            outputs=[index_of(SHAPE), *(declared_as(name, "bool", SHAPE) for name in ("Z", "above_W"))],
            initializers={"W": W, "V": W},
        ),
        ("preservation", "exp"),
        check="preservation",
    )
    yield _case(
        "initializer_at_ir_3",
        "An initializer of a model of IR version 3, which has to be an input too, stays both",
        ScenarioGraph(
            [*pair(), helper.make_node("Add", ["X", "W"], ["Z"])],
            (X,),
            inputs=[declared_as("X", "float", SHAPE), declared_as("W", "float", SHAPE)],
            outputs=[index_of(SHAPE), declared_as("Z", "float", SHAPE)],
            initializers={"W": W},
            opsets={"": 7},
            ir_version=3,
        ),
        ("interface", "exp"),
        check="interface",
    )


def _computed() -> Iterator[Case]:
    """What can be computed before anything is fed, and has to come out as it would then."""
    empty = np.zeros((2, 0, 3), dtype=np.float32)
    yield _case(
        "argmax_of_empty_initializer",
        "ArgMax of an initializer without elements, along its first axis, keeps its shape beside the pair",
        ScenarioGraph(
            [*pair(), argmax("W", "index2", axis=-3, keepdims=1)],
            (X,),
            outputs=[index_of(SHAPE), index_of(empty.shape, -3, 1, "index2")],
            initializers={"W": empty},
        ),
        ("preservation", "argmax.index"),
        check="answers",
    )
    W = scattered("surroundings/softmax", (1, 2, 2), np.float32)
    for opset in (11, 12, 13):
        nodes = [helper.make_node(op_type, ["W"], [f"Y_{word}"]) for op_type, word in ALONG_AXIS.items()]
        outputs = [declared_as(f"Y_{word}", "float", W.shape) for word in ALONG_AXIS.values()]
        yield _case(
            f"softmax_of_initializer_opset_{opset}",
            f"Softmax and LogSoftmax of an initializer are those of opset {opset}, whoever computes them",
            ScenarioGraph(
                [*pair(), *nodes],
                (X,),
                outputs=[index_of(SHAPE), *outputs],
                initializers={"W": W},
                opsets={"": opset},
            ),
            ("preservation", *(["coercion"] if opset < 13 else []), *ALONG_AXIS.values()),
            check="answers",
        )


def _case(name: str, title: str, graph: ScenarioGraph, clauses: Sequence[str], check: str) -> Case:
    return scenario(FAMILY, name, title, clauses, FIRES, graph, check=check)
