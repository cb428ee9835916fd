"""Chains of up to twelve operators, and chains in and around what a model has besides nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import AttributeProto, helper, numpy_helper

from conformance.dimensions.blocks import function
from conformance.generation.models import declared, declared_as
from conformance.generation.values import ranked
from conformance.verdicts import Level
from generators.eliminate_nop_monotone_argmax.containers import Contained, Kind, contained, driven
from generators.eliminate_nop_monotone_argmax.scenario import (
    SHAPE,
    ScenarioGraph,
    argmax,
    fires,
    index_of,
    producer,
    scenario,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from conformance.corpus.case import Case, Rewrite

FAMILY = "chains"
X = ranked("chains/X", SHAPE, np.float32) + np.float32(1)
TWELVE = (
    *("LogSoftmax", "Exp", "Log", "Exp", "Sqrt", "Softmax"),
    *("Log", "LogSoftmax", "Exp", "Sqrt", "Log", "Exp"),
)
"""Each takes what the one before gives: no root or logarithm of a negative number."""
LENGTHS = (6, 7, 8, 9, 11, 12)
THREE = ("Exp", "Softmax", "Log")
AROUND: Sequence[Sequence[Kind]] = (("Loop",), ("Scan",), ("Scan", "If", "Loop"))


def cases() -> Iterator[Case]:
    """Lengths, containers, constants of every origin, training information and functions."""
    for length in LENGTHS:
        row = TWELVE[-length:] if length in (9, 12) else TWELVE[:length]
        yield _long(row)
    for kinds in AROUND:
        yield _contained(kinds)
    yield from _of_constants()
    yield from _trained()
    yield from _around_functions()


def _named(row: Sequence[str], source: str = "X") -> tuple[list[onnx.NodeProto], list[str]]:
    """The nodes of a chain with ArgMax, and the values that go with it, the last first."""
    values = [f"Y{number}" for number in range(1, len(row) + 1)]
    triples = zip(row, [source, *values], values, strict=False)
    return [*(producer(*triple) for triple in triples), argmax(values[-1])], values[::-1]


def _long(row: Sequence[str]) -> Case:
    nodes, values = _named(row)
    return _case(
        f"of_{len(row)}",
        f"Of a chain of {len(row)} operators one run takes the last away and a fixed point all",
        fires(values[0], then=values[1:]),
        ScenarioGraph(nodes, (X,)),
    )


def _contained(kinds: Sequence[Kind]) -> Case:
    nodes, values = _named(TWELVE[-5:])
    nodes[-1].output[0] = "inner"
    within = contained(Contained(nodes, "inner", SHAPE[:1]), kinds)
    gone = [f"{within.path}{value}" for value in values]
    return _case(
        f"in_{'_'.join(kind.lower() for kind in kinds)}",
        f"A chain of five in {' in '.join(f'a {kind}' if kind != 'If' else 'an If' for kind in reversed(kinds))} goes",
        fires(gone[0], then=gone[1:]),
        ScenarioGraph([*driven(), *within.nodes], (X,), outputs=[declared_as(within.output, "int64", within.shape)]),
        clauses=("one_per_run", "fixed_point", "subgraph"),
    )


def _of_constants() -> Iterator[Case]:
    """The chain begins at a default of an input, at an initializer, at a Constant, at a sparse Constant."""
    W = ranked("chains/W", SHAPE, np.float32) + np.float32(1)
    less, shown = helper.make_node("Less", ["W", "X"], ["less"]), declared_as("less", "bool", SHAPE)
    nodes, values = _named(THREE, "W")
    rewrite, outputs = fires(values[0], then=values[1:]), [index_of(SHAPE), shown]
    yield _case(
        "of_default",
        "A chain that begins at an input with a default goes, and the input keeps its default",
        rewrite,
        ScenarioGraph([*nodes, less], (X,), [declared("W", W), declared("X", X)], outputs, initializers={"W": W}),
        check="interface",
    )
    yield _case(
        "of_given_default",
        "A chain that begins at an input with a default goes, whatever is fed instead of the default",
        rewrite,
        ScenarioGraph([*nodes, less], (X,), [declared("X", X), declared("W", W)], outputs, initializers={"W": W}),
        check="interface",
    )
    yield _case(
        "of_initializer",
        "A chain that begins at an initializer goes, and the initializer stays",
        rewrite,
        ScenarioGraph([*nodes, less], (X,), outputs=outputs, initializers={"W": W}),
    )
    places = np.arange(W.size, dtype=np.int64)
    sparse = helper.make_sparse_tensor(
        numpy_helper.from_array(W.ravel(), "S"), numpy_helper.from_array(places, "S_places"), list(SHAPE)
    )
    held = helper.make_node("Constant", [], ["S"], sparse_value=sparse)
    relu = helper.make_node("Max", ["S", "X"], ["W"])
    yield _case(
        "of_sparse_constant",
        "A chain that comes after a sparse Constant goes",
        rewrite,
        ScenarioGraph([held, relu, *nodes], (X,)),
    )


def _trained() -> Iterator[Case]:
    """Training information beside a chain, which uses an initializer, or a value within the chain."""
    yield _case(
        "beside_training",
        "A chain goes from a model with training information that uses none of its values",
        fires("Y3", then=("Y2", "Y1")),
        ScenarioGraph(_named(THREE)[0], (X,), initializers={"W": np.array([0.5, 2.0], dtype=np.float32)}),
        touch=_training("W", "W"),
    )
    rows: Sequence[tuple[str, str, str, Rewrite]] = (
        ("result", "the result of the first operator of the three", "Y1", fires("Y3", then=("Y2",))),
        ("input", "the input of the chain", "X", fires("Y3", then=("Y2", "Y1"))),
        ("index", "the index", "index", fires("Y3", then=("Y2", "Y1"))),
    )
    for name, text, value, rewrite in rows:
        yield _case(
            f"{name}_in_training",
            f"Where the training algorithm takes {text}, the chain goes as far as nothing else wants its values",
            rewrite,
            ScenarioGraph(_named(THREE)[0], (X,), initializers={"W": np.array(0.5, dtype=np.float32)}),
            touch=_training("W", value),
            level=Level.SHOULD,
        )


def _training(updated: str, taken: str) -> Callable[[onnx.ModelProto], None]:
    """A step that changes an initializer by what some value is in total."""

    def touch(model: onnx.ModelProto) -> None:
        number = helper.make_node("Cast", [taken], ["number"], to=onnx.TensorProto.FLOAT)
        total = helper.make_node("ReduceMax", ["number"], ["total"], keepdims=0)
        step = helper.make_node("Mul", [updated, "total"], ["W_new"])
        shape = [dim for tensor in model.graph.initializer if tensor.name == updated for dim in tensor.dims]
        info = model.training_info.add()
        info.algorithm.CopyFrom(
            helper.make_graph([number, total, step], "step", [], [declared_as("W_new", "float", shape)])
        )
        info.update_binding.add(key=updated, value="W_new")

    return touch


def _around_functions() -> Iterator[Case]:
    """Calls before, within and beside a chain."""
    scale = function("Scaled", [helper.make_node("LeakyRelu", ["A"], ["B"])], attributes=["slope"])
    scale.node[0].attribute.add(name="alpha", ref_attr_name="slope", type=AttributeProto.FLOAT)
    outer = function("Outer", [helper.make_node("Scaled", ["A"], ["B"], domain="acme", slope=0.5)])
    outer.opset_import.append(helper.make_opsetid("acme", 1))
    nodes, values = _named(THREE, "X0")
    call = helper.make_node("Outer", ["X"], ["X0"], domain="acme")
    yield _case(
        "after_function",
        "A chain after the call of a function that calls another one goes, and both functions stay",
        fires(values[0], then=values[1:]),
        ScenarioGraph([call, *nodes], (X,), functions=[scale, outer], opsets={"": 13, "acme": 1}),
    )
    split = [producer("Exp", "X", "Y1"), helper.make_node("Outer", ["Y1"], ["Y2"], domain="acme")]
    rest = [producer("Sqrt", "Y2", "Y3"), producer("Softmax", "Y3", "Y4"), argmax("Y4")]
    yield _case(
        "parted_by_function",
        "Of a chain that the call of a function parts only what comes after the call goes",
        fires("Y4", then=("Y3",)),
        ScenarioGraph([*split, *rest], (X,), functions=[scale, outer], opsets={"": 13, "acme": 1}),
    )


def _case(
    name: str,
    title: str,
    rewrite: Rewrite,
    graph: ScenarioGraph,
    clauses: Sequence[str] = ("one_per_run", "fixed_point"),
    **rest: Any,
) -> Case:
    return scenario(FAMILY, name, title, clauses, rewrite, graph, **rest)
