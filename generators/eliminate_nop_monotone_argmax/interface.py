"""Whatever the names, types, shapes and order of a model's inputs and outputs are, the pass leaves them as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import helper, numpy_helper

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
    from collections.abc import Iterator, Mapping, Sequence

    from conformance.corpus.case import Case, Rewrite
    from conformance.models.arrays import Array

FAMILY = "interface"
X = ranked("interface/X", SHAPE, np.float32)
NAMES: Mapping[str, tuple[str, str, str]] = {
    "slashes": ("model/in:0", "model/exp:0", "model/argmax:0"),
    "spaces": ("the input", "the exponential", "the index"),
    "unicode": ("Eingangsgröße", "指数", "индекс"),
    "numbers": ("0", "1", "2"),
    "long": ("X" * 300, "Y" * 300, "index" * 60),
    "of_operators": ("Exp", "ArgMax", "Log"),
}
"""Names of the input, of the operator's result and of the index."""

SHAPES: Mapping[str, tuple[Sequence[int | str | None], str]] = {
    "symbolic": (("N", 3), "a symbolic dimension"),
    "symbolic_all": (("N", "C"), "two symbolic dimensions"),
    "symbolic_same": (("N", "N"), "one symbolic dimension twice"),
    "open": ((None, 3), "an open dimension"),
    "open_all": ((None, None), "open dimensions alone"),
}
"""What X is declared as, with words for it."""


def cases() -> Iterator[Case]:
    """Names, shapes, what is said of the removed tensor, initializers as inputs, and several inputs and outputs."""
    for name, names in NAMES.items():
        yield _named(name, *names)
    for name, (shape, text) in SHAPES.items():
        yield _declared(name, shape, text)
    for op_type, word in FIVE.items():
        yield _value_info(op_type, word)
    yield from _value_infos()
    yield from _initializers()
    yield from _several()


def _named(name: str, source: str, result: str, index: str) -> Case:
    return _case(
        f"names_{name}",
        f"The names of inputs and outputs stay as they are: {name.replace('_', ' ')}",
        ScenarioGraph(
            [producer("Exp", source, result), argmax(result, index)],
            (X,),
            inputs=[declared(source, X)],
            outputs=[index_of(SHAPE, name=index)],
        ),
        fires(result),
    )


def _declared(name: str, shape: Sequence[int | str | None], text: str) -> Case:
    fed = ranked("square", (3, 3), np.float32) if shape == ("N", "N") else X
    return _case(
        f"shape_{name}",
        f"An input of {text} stays declared as it is",
        ScenarioGraph(
            pair(),
            (fed,),
            inputs=[declared_as("X", "float", shape)],
            outputs=[declared_as("index", "int64", shape[:1])],
        ),
    )


def _value_info(op_type: str, word: str) -> Case:
    """The removed tensor is declared more closely than the input is."""
    return _case(
        f"value_info_{word}",
        f"What is declared of the result of {op_type} does not become the input's: it stays of shape [N, 3]",
        ScenarioGraph(
            pair(op_type),
            (X,),
            inputs=[declared_as("X", "float", ("N", 3))],
            outputs=[declared_as("index", "int64", ("N",))],
            value_info=[declared_as("Y", "float", SHAPE)],
        ),
        word=word,
    )


def _value_infos() -> Iterator[Case]:
    rows: Mapping[str, tuple[str, Sequence[Any], Sequence[Any]]] = {
        "value_info_unknown": ("does not make the input's shape unknown", SHAPE, (None, None)),
        "value_info_other_symbol": ("does not rename the input's dimension", ("N", 3), ("M", 3)),
        "value_info_same": ("that says the same changes nothing", SHAPE, SHAPE),
    }
    for name, (text, shape, between) in rows.items():
        yield _case(
            name,
            f"What is declared of the removed tensor {text}",
            ScenarioGraph(
                pair(),
                (X,),
                inputs=[declared_as("X", "float", shape)],
                outputs=[declared_as("index", "int64", shape[:1])],
                value_info=[declared_as("Y", "float", between)],
            ),
        )
    yield _case(
        "value_info_between",
        "What is declared of the removed tensor does not become the declaration of the tensor that takes its place",
        ScenarioGraph(
            [helper.make_node("Relu", ["X"], ["R"]), producer("Exp", "R"), argmax()],
            (X,),
            inputs=[declared_as("X", "float", ("N", 3))],
            outputs=[declared_as("index", "int64", ("N",))],
            value_info=[declared_as("R", "float", ("N", 3)), declared_as("Y", "float", SHAPE)],
        ),
    )
    yield _case(
        "value_info_missing_name",
        "A declaration of a tensor that is not there at all changes nothing",
        ScenarioGraph(pair(), (X,), value_info=[declared_as("nothing", "float", SHAPE)]),
    )


def _initializers() -> Iterator[Case]:
    """Initializers beside, at and among the inputs."""
    W = ranked("interface/W", SHAPE, np.float32)
    less = helper.make_node("Less", ["W", "X"], ["less"])
    shown = declared_as("less", "bool", SHAPE)
    yield _case(
        "initializer_is_input",
        "An initializer that is an input too stays an input with a default",
        ScenarioGraph(
            [*pair(), less],
            (X,),
            inputs=[declared("X", X), declared("W", W)],
            outputs=[index_of(SHAPE), shown],
            initializers={"W": W},
        ),
    )
    yield _case(
        "initializer_is_first_input",
        "Inputs with and without an initializer keep their order",
        ScenarioGraph(
            [*pair(), less],
            (X,),
            inputs=[declared("W", W), declared("X", X)],
            outputs=[index_of(SHAPE), shown],
            initializers={"W": W},
        ),
    )
    yield _case(
        "initializer_before_exp",
        "Exp of an initializer before ArgMax is taken away, and the initializer stays",
        ScenarioGraph(
            [producer("Exp", "W"), argmax(), less],
            (X,),
            outputs=[index_of(SHAPE), shown],
            initializers={"W": W},
        ),
    )
    yield _case(
        "default_before_exp",
        "Exp of an input with a default before ArgMax is taken away, and the input keeps its default",
        ScenarioGraph(
            [producer("Exp", "W"), argmax(), less],
            (X,),
            inputs=[declared("X", X), declared("W", W)],
            outputs=[index_of(SHAPE), shown],
            initializers={"W": W},
        ),
    )
    yield _case(
        "constant_before_exp",
        "Exp of a Constant before ArgMax is taken away",
        ScenarioGraph(
            [
                helper.make_node("Constant", [], ["W"], value=numpy_helper.from_array(W)),
                producer("Exp", "W"),
                argmax(),
                less,
            ],
            (X,),
            outputs=[index_of(SHAPE), shown],
        ),
    )
    yield _case(
        "initializer_unused",
        "An initializer that nobody uses is no reason to change inputs or outputs",
        ScenarioGraph(pair(), (X,), initializers={"W": W}),
    )


def _several() -> Iterator[Case]:
    A, B = ranked("interface/A", SHAPE, np.float32), ranked("interface/B", SHAPE, np.float32)
    inputs = [declared("B", B), declared("X", X), declared("A", A)]
    feeds: tuple[Array, ...] = (B, X, A)
    indices = [index_of(SHAPE, name=name) for name in ("index", "first", "second")]
    nodes = [*pair(), argmax("A", "first"), argmax("B", "second")]
    yield _case(
        "order",
        "Inputs and outputs keep their order, which is not that of the nodes",
        ScenarioGraph(nodes, feeds, inputs, indices[::-1]),
    )
    yield _case(
        "input_unused",
        "An input that nobody uses stays",
        ScenarioGraph(pair(), (X, A), inputs=[declared("X", X), declared("unused", A)]),
    )
    yield _case(
        "output_is_input_copied",
        "Exp is taken away, and another output stays a copy of the input",
        ScenarioGraph(
            [*pair(), helper.make_node("Identity", ["X"], ["copy"])],
            (X,),
            outputs=[index_of(SHAPE), declared_as("copy", "float", SHAPE)],
        ),
    )
    yield _case(
        "nothing_to_do",
        "A graph of ArgMax alone stays as it is",
        ScenarioGraph([argmax("X")], (X,)),
        STAYS,
    )
    yield _case(
        "output_declared_symbolic",
        "An index whose declared shape is symbolic stays declared so",
        ScenarioGraph(pair(), (X,), outputs=[declared_as("index", "int64", ("rows",))]),
    )


def _case(name: str, title: str, graph: ScenarioGraph, rewrite: Rewrite = FIRES, word: str = "exp") -> Case:
    check = "structure" if rewrite is STAYS else "interface"
    return scenario(FAMILY, name, title, ("interface", word), rewrite, graph, check=check)
