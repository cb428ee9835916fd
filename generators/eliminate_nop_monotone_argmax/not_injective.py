"""Cases with operators whose removal before ArgMax changes the index of ordinary inputs.

`other_operators` has the same operators with inputs that hardly show this. Here, an operator makes different elements
equal, exceeds the order of some elements, or normalizes along another axis than a second ArgMax reduces. The cases
therefore detect every graph optimizer that removes the operator, whether it implements the pass or not.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import TensorProto, helper

from conformance.base.verdicts import Level
from conformance.corpus.factors.message_fields import constant_node, if_node, make_branch
from conformance.exact.models.model_building import argmax_shape, make_value_info
from generators.declarations.family import FamilyDeclaration
from generators.eliminate_nop_monotone_argmax.pass_scenario import (
    DOES_NOT_APPLY,
    PASS_OPERATORS,
    ScenarioGraph,
    argmax,
    index_info,
    producer,
    scenario,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from conformance.corpus.cases.case import Case
    from conformance.corpus.factors.covering_array import Row

FAMILY = "not_injective"
TWO_AXES = "two_axes"
"""Tags of the two families."""


@dataclass(frozen=True)
class ChangingOperator:
    """An operator before ArgMax, and rows of X for which the index of the largest result is not that of X.

    Attributes:
        op_type: type of the operator.
        rows: the input X, along whose last axis ArgMax searches.
        attributes: attributes of the operator.
        constants: further operands of the operator.
        opset: version of the main domain.
        select_last_index: attribute of ArgMax.
        text: name in titles, if it is not that of the type.
    """

    op_type: str
    rows: Sequence[Sequence[float]]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    constants: Sequence[Any] = ()
    opset: int = 13
    select_last_index: int = 0
    text: str = ""

    @property
    def title(self) -> str:
        """Name of the operator in titles."""
        return self.text or self.op_type


EXACT: Mapping[str, ChangingOperator] = {
    "clip": ChangingOperator("Clip", [[0.25, 0.75, 1.5], [-2, -1, -0.75]], constants=(-0.5, 0.5)),
    "hard_sigmoid": ChangingOperator("HardSigmoid", [[1, 3, 5], [-9, -8, -7]], {"alpha": 0.25, "beta": 0.5}),
    "thresholded_relu": ChangingOperator("ThresholdedRelu", [[-2, 0.5, 1], [0.25, 0.5, 0.75]], {"alpha": 1.0}),
    "shrink": ChangingOperator("Shrink", [[-0.25, 0, 0.25], [0.25, 0.5, -0.5]], {"lambd": 0.5, "bias": 0.0}),
    "cast_to_int32": ChangingOperator(
        "Cast", [[1.25, 1.75, 1.5], [2.5, 0, 2.75]], {"to": TensorProto.INT32}, text="Cast to int32"
    ),
    "leaky_relu": ChangingOperator("LeakyRelu", [[-8, 1, 2], [2, -8, 1]], {"alpha": -0.5}),
    "elu": ChangingOperator("Elu", [[-2, 0.25, 0.5], [0.25, -3, 0.5]], {"alpha": -1.0}),
    "mish": ChangingOperator("Mish", [[-5, -2, -1.25], [-1.25, -6, -2]], opset=18),
    "max": ChangingOperator("Max", [[0.25, 0.5, 0.75], [-2, -3, -1]], constants=(1.0,)),
    "min": ChangingOperator("Min", [[1.5, 1.25, 2], [1, 3, 2]], constants=(1.0,)),
    "hardmax": ChangingOperator("Hardmax", [[3, 1, 3], [2, 2, 1]], {"axis": 1}, select_last_index=1),
}
"""Operators by name that change the index in exact arithmetic."""

SATURATING: Mapping[str, ChangingOperator] = {
    "sigmoid": ChangingOperator("Sigmoid", [[50, 200, 100], [60, 100, 70]]),
    "tanh": ChangingOperator("Tanh", [[30, 200, 50], [-200, 60, 70]]),
    "softsign": ChangingOperator("Softsign", [[2.0**26, 2.0**28, 2.0**27], [-1, 2.0**26, 2.0**27]]),
}
"""Operators by name whose results for different elements round to 1 in float."""

ARITHMETIC: Mapping[str, tuple[str, Sequence[float] | float, bool]] = {
    "mixed_signs": ("Mul", [1, -1, 1], False),
    "positive": ("Mul", [8, 1, 1], True),
    "negative": ("Mul", -2, False),
    "zero": ("Mul", 0, True),
    "sum": ("Add", [9, 0, 0], False),
    "difference": ("Sub", [8, 8, 8], True),
    "quotient": ("Div", [0.125, 1, 1], False),
    "inverse": ("Div", 8, True),
    "square": ("Pow", 2, False),
}
"""Operators with a constant that changes the index, by name: op_type, constant, and whether it is the first input."""

ARITHMETIC_ROWS: Sequence[Sequence[float]] = [[1, 4, 2], [-8, 1, 2]]
"""X whose index each operator of `ARITHMETIC` changes in exact arithmetic."""

SQUARE: Sequence[Sequence[float]] = [[1, 2], [3, 9]]
"""X whose Softmax along axis 1 has another index of the largest (and smallest) element along axis 0."""


def two_axes_declaration() -> FamilyDeclaration:
    """Return the factors of the family `two_axes`: a normalization that two nodes read along different axes."""
    return FamilyDeclaration(
        {
            "operator": ("softmax", "log_softmax"),
            "second": ("argmax", "argmin", "argmax_in_branch"),
            "order": ("pair_first", "pair_last"),
        }
    )


def cases() -> Iterator[Case]:
    """Yield the cases of operators that change the index, and of normalizations with two readers."""
    for name, operator in EXACT.items():
        yield _changing_case(name, operator)
    for name, operator in SATURATING.items():
        yield _saturating_case(name, operator)
    yield _arithmetic_case()
    operators = {word: op_type for op_type, word in PASS_OPERATORS.items()}
    for number, row in enumerate(two_axes_declaration().rows, 1):
        case = _two_axes_case(f"{number:03}_{row['operator']}_{row['second']}", operators[row["operator"]], row)
        yield replace(case, tags=(*case.tags, *(f"{factor}={level}" for factor, level in row.items())))


def _graph(operator: ChangingOperator) -> ScenarioGraph:
    X = np.array(operator.rows, dtype=np.float32)
    last: dict[str, Any] = {"select_last_index": 1} if operator.select_last_index else {}
    names = [f"C{number}" for number in range(len(operator.constants))]
    nodes = [
        *(
            constant_node(name, np.array(value, dtype=np.float32))
            for name, value in zip(names, operator.constants, strict=True)
        ),
        helper.make_node(operator.op_type, ["X", *names], ["Y"], **operator.attributes),
        argmax(**last),
    ]
    return ScenarioGraph(nodes, (X,), outputs=[index_info(X.shape)], opsets={"": operator.opset})


def _changing_case(name: str, operator: ChangingOperator) -> Case:
    return scenario(
        FAMILY,
        name,
        f"{operator.title} stays before ArgMax and decides the index of the largest element",
        ("other_producer",),
        DOES_NOT_APPLY,
        _graph(operator),
    )


def _arithmetic_case() -> Case:
    """Define a case whose graph has an ArgMax after each operator of `ARITHMETIC`."""
    X = np.array(ARITHMETIC_ROWS, dtype=np.float32)
    nodes = []
    outputs = []
    for name, (op_type, _, is_first) in ARITHMETIC.items():
        inputs = [f"C_{name}", "X"] if is_first else ["X", f"C_{name}"]
        nodes += [helper.make_node(op_type, inputs, [f"Y_{name}"]), argmax(f"Y_{name}", f"index_{name}")]
        outputs.append(index_info(X.shape, name=f"index_{name}"))
    constants = {f"C_{name}": np.array(value, dtype=np.float32) for name, (_, value, _) in ARITHMETIC.items()}
    return scenario(
        FAMILY,
        "arithmetic",
        "Products, sums, quotients and powers with a constant stay before ArgMax and decide the index",
        ("other_producer",),
        DOES_NOT_APPLY,
        ScenarioGraph(nodes, (X,), outputs=outputs, initializers=constants),
    )


def _saturating_case(name: str, operator: ChangingOperator) -> Case:
    graph = _graph(operator)
    safe = np.array([[0.25, 0.5, -0.5], [-0.75, -0.25, 0.5]], dtype=np.float32)
    return scenario(
        FAMILY,
        name,
        f"{operator.title} stays before ArgMax, and its results that round to one value are a tie",
        ("other_producer",),
        DOES_NOT_APPLY,
        replace(graph, feeds=(safe,)),
        hazards=[("rounding_tie", [np.array(operator.rows, dtype=np.float32)])],
        level=Level.SHOULD,
        check="hazards",
    )


def _two_axes_case(name: str, op_type: str, row: Row) -> Case:
    X = np.array(SQUARE, dtype=np.float32)
    second = argmax(result="second", axis=0, op_type="ArgMin" if row["second"] == "argmin" else "ArgMax")
    other = [second]
    if row["second"] == "argmax_in_branch":
        branches = [
            make_branch(word, [argmax(result=word, axis=axis)], [word], argmax_shape(X.shape, axis, 0), "int64")
            for word, axis in (("along_0", 0), ("along_1", 1))
        ]
        other = [constant_node("taken", np.array(True)), if_node("taken", "second", *branches)]
    pair = [argmax()]
    rest = [*pair, *other] if row["order"] == "pair_first" else [*other, *pair]
    graph = ScenarioGraph(
        [producer(op_type), *rest],
        (X,),
        outputs=[index_info(X.shape), make_value_info("second", "int64", argmax_shape(X.shape, 0, 0))],
    )
    captured = row["second"] == "argmax_in_branch"
    return scenario(
        TWO_AXES,
        name,
        f"{op_type} stays before ArgMax if a second node reads its result along another axis"
        f" ({row['second'].replace('_', ' ')}, {row['order'].replace('_', ' ')})",
        ("capture" if captured else "other_use", row["operator"]),
        DOES_NOT_APPLY,
        graph,
    )
