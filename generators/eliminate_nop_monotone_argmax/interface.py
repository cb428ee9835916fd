"""Cases about the model's interface: the pass keeps names, types, shapes and order of inputs and outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import helper, numpy_helper

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
    from collections.abc import Iterator, Mapping, Sequence

    from conformance.corpus.cases.case import Case, Rewrite
    from conformance.exact.models.arrays import Array

FAMILY = "interface"
X = permuted_quarters("interface/X", SHAPE, np.float32)
NAMES: Mapping[str, tuple[str, str, str]] = {
    "slashes": ("model/in:0", "model/exp:0", "model/argmax:0"),
    "spaces": ("the input", "the exponential", "the index"),
    "unicode": ("Eingangsgröße", "指数", "индекс"),
    "numbers": ("0", "1", "2"),
    "long": ("X" * 300, "Y" * 300, "index" * 60),
    "of_operators": ("Exp", "ArgMax", "Log"),
}
"""Names of the input, of the operator's result and of the index, by kind of name."""

SHAPES: Mapping[str, tuple[Sequence[int | str | None], str]] = {
    "symbolic": (("N", 3), "a symbolic dimension"),
    "symbolic_all": (("N", "C"), "two symbolic dimensions"),
    "symbolic_same": (("N", "N"), "one symbolic dimension twice"),
    "open": ((None, 3), "an unknown dimension"),
    "open_all": ((None, None), "only unknown dimensions"),
}
"""Declared shape of X, with a description."""


def cases() -> Iterator[Case]:
    """Yield cases about names, shapes, declarations, initializers, and several inputs and outputs."""
    for name, names in NAMES.items():
        yield _named(name, *names)
    for name, (shape, text) in SHAPES.items():
        yield _declared(name, shape, text)
    for op_type, word in PASS_OPERATORS.items():
        yield _value_info(op_type, word)
    yield from _value_infos()
    yield from _initializers()
    yield from _several()


def _named(name: str, source: str, result: str, index: str) -> Case:
    return _case(
        f"names_{name}",
        f"Names of inputs and outputs are kept: {name.replace('_', ' ')}",
        ScenarioGraph(
            [producer("Exp", source, result), argmax(result, index)],
            (X,),
            inputs=[array_value_info(source, X)],
            outputs=[index_info(SHAPE, name=index)],
        ),
        applies_to(result),
    )


def _declared(name: str, shape: Sequence[int | str | None], text: str) -> Case:
    fed = permuted_quarters("square", (3, 3), np.float32) if shape == ("N", "N") else X
    return _case(
        f"shape_{name}",
        f"The declaration of an input with {text} is kept",
        ScenarioGraph(
            pair(),
            (fed,),
            inputs=[make_value_info("X", "float", shape)],
            outputs=[make_value_info("index", "int64", shape[:1])],
        ),
    )


def _value_info(op_type: str, word: str) -> Case:
    """Define a case in which the declaration of the removed value is more specific than that of the graph input."""
    return _case(
        f"value_info_{word}",
        f"The declaration of the result of {op_type} does not replace the input's declared shape [N, 3]",
        ScenarioGraph(
            pair(op_type),
            (X,),
            inputs=[make_value_info("X", "float", ("N", 3))],
            outputs=[make_value_info("index", "int64", ("N",))],
            value_info=[make_value_info("Y", "float", SHAPE)],
        ),
        word=word,
    )


def _value_infos() -> Iterator[Case]:
    rows: Mapping[str, tuple[str, Sequence[Any], Sequence[Any]]] = {
        "value_info_unknown": ("does not make the input's shape unknown", SHAPE, (None, None)),
        "value_info_other_symbol": ("does not rename the input's dimension", ("N", 3), ("M", 3)),
        "value_info_same": ("changes nothing if it equals the input's", SHAPE, SHAPE),
    }
    for name, (text, shape, between) in rows.items():
        yield _case(
            name,
            f"The declaration of the removed value {text}",
            ScenarioGraph(
                pair(),
                (X,),
                inputs=[make_value_info("X", "float", shape)],
                outputs=[make_value_info("index", "int64", shape[:1])],
                value_info=[make_value_info("Y", "float", between)],
            ),
        )
    yield _case(
        "value_info_between",
        "The declaration of the removed value does not replace the declaration of its input",
        ScenarioGraph(
            [helper.make_node("Relu", ["X"], ["R"]), producer("Exp", "R"), argmax()],
            (X,),
            inputs=[make_value_info("X", "float", ("N", 3))],
            outputs=[make_value_info("index", "int64", ("N",))],
            value_info=[make_value_info("R", "float", ("N", 3)), make_value_info("Y", "float", SHAPE)],
        ),
    )
    yield _case(
        "value_info_missing_name",
        "A declaration of a value that does not exist changes nothing",
        ScenarioGraph(pair(), (X,), value_info=[make_value_info("nothing", "float", SHAPE)]),
    )


def _initializers() -> Iterator[Case]:
    """Yield cases with initializers that are also inputs, and with constants before the operator."""
    W = permuted_quarters("interface/W", SHAPE, np.float32)
    less = helper.make_node("Less", ["W", "X"], ["less"])
    shown = make_value_info("less", "bool", SHAPE)
    yield _case(
        "initializer_is_input",
        "An initializer that is also an input stays an input with a default",
        ScenarioGraph(
            [*pair(), less],
            (X,),
            inputs=[array_value_info("X", X), array_value_info("W", W)],
            outputs=[index_info(SHAPE), shown],
            initializers={"W": W},
        ),
    )
    yield _case(
        "initializer_is_first_input",
        "Inputs with and without an initializer keep their order",
        ScenarioGraph(
            [*pair(), less],
            (X,),
            inputs=[array_value_info("W", W), array_value_info("X", X)],
            outputs=[index_info(SHAPE), shown],
            initializers={"W": W},
        ),
    )
    yield _case(
        "initializer_before_exp",
        "Exp of an initializer before ArgMax is removed, and the initializer stays",
        ScenarioGraph(
            [producer("Exp", "W"), argmax(), less],
            (X,),
            outputs=[index_info(SHAPE), shown],
            initializers={"W": W},
        ),
    )
    yield _case(
        "default_before_exp",
        "Exp of an input with a default before ArgMax is removed, and the input keeps its default",
        ScenarioGraph(
            [producer("Exp", "W"), argmax(), less],
            (X,),
            inputs=[array_value_info("X", X), array_value_info("W", W)],
            outputs=[index_info(SHAPE), shown],
            initializers={"W": W},
        ),
    )
    yield _case(
        "constant_before_exp",
        "Exp of a Constant before ArgMax is removed",
        ScenarioGraph(
            [
                helper.make_node("Constant", [], ["W"], value=numpy_helper.from_array(W)),
                producer("Exp", "W"),
                argmax(),
                less,
            ],
            (X,),
            outputs=[index_info(SHAPE), shown],
        ),
    )
    yield _case(
        "initializer_unused",
        "An unused initializer does not change inputs or outputs",
        ScenarioGraph(pair(), (X,), initializers={"W": W}),
    )


def _several() -> Iterator[Case]:
    A = permuted_quarters("interface/A", SHAPE, np.float32)
    B = permuted_quarters("interface/B", SHAPE, np.float32)
    inputs = [array_value_info("B", B), array_value_info("X", X), array_value_info("A", A)]
    feeds: tuple[Array, ...] = (B, X, A)
    indices = [index_info(SHAPE, name=name) for name in ("index", "first", "second")]
    nodes = [*pair(), argmax("A", "first"), argmax("B", "second")]
    yield _case(
        "order",
        "Inputs and outputs keep their order, which differs from the order of the nodes",
        ScenarioGraph(nodes, feeds, inputs, indices[::-1]),
    )
    yield _case(
        "input_unused",
        "An unused input stays",
        ScenarioGraph(pair(), (X, A), inputs=[array_value_info("X", X), array_value_info("unused", A)]),
    )
    yield _case(
        "output_is_input_copied",
        "Exp is removed, and another output stays a copy of the input",
        ScenarioGraph(
            [*pair(), helper.make_node("Identity", ["X"], ["copy"])],
            (X,),
            outputs=[index_info(SHAPE), make_value_info("copy", "float", SHAPE)],
        ),
    )
    yield _case(
        "nothing_to_do",
        "A graph with only an ArgMax is not changed",
        ScenarioGraph([argmax("X")], (X,)),
        DOES_NOT_APPLY,
    )
    yield _case(
        "output_declared_symbolic",
        "The symbolic shape of an index output is kept",
        ScenarioGraph(pair(), (X,), outputs=[make_value_info("index", "int64", ("rows",))]),
    )


def _case(name: str, title: str, graph: ScenarioGraph, rewrite: Rewrite = APPLIES, word: str = "exp") -> Case:
    check = "structure" if rewrite is DOES_NOT_APPLY else "interface"
    return scenario(FAMILY, name, title, ("interface", word), rewrite, graph, check=check)
