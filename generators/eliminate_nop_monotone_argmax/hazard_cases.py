"""Cases with hazards: inputs for which even a correct application of the pass changes the index, because of rounding.

Each input is the smallest input of its hazard. It relies only on properties of the operator that hold in all admissible
evaluations. A case of the pass has one data set for which the rewrite keeps the index, followed by the hazards.

Cases of kind `node` test that a backend gives the index of the graph as written, with results rounded to the declared
types. Their level is `should`, or `silent` if a NaN occurs, because the specification does not define ArgMax of NaN.
Ties of Log, Exp, Softmax and LogSoftmax have no such case: an evaluation with an error below one ULP may distinguish
the two elements. Sqrt is correctly rounded, so its ties have a case. Two cases have no ArgMax: Softmax of a vector.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from ml_dtypes import bfloat16
from onnx import helper

from conformance.base.verdicts import Level
from conformance.corpus.cases.case import Case
from conformance.exact.models.model_building import argmax_shape, array_value_info, build_model, make_value_info
from generators.eliminate_nop_monotone_argmax.pass_scenario import (
    ALONG_AXIS,
    APPLIES,
    OPTIONAL,
    PASS_OPERATORS,
    ScenarioGraph,
    argmax,
    pair,
    producer,
    scenario,
)
from generators.generated_values import FLOAT_TYPE_NAMES, permuted_quarters

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from conformance.exact.models.arrays import Array

FAMILY = "hazards"
PRECISION: Mapping[Any, int] = {np.float16: 11, bfloat16: 8, np.float32: 24, np.float64: 53}
"""Significant bits by type."""

OVERFLOW: Mapping[Any, Sequence[float]] = {
    np.float16: [12, 13],
    bfloat16: [89, 100],
    np.float32: [89, 100],
    np.float64: [710, 720],
}
UNDERFLOW: Mapping[Any, Sequence[float]] = {
    np.float16: [-40, -30],
    bfloat16: [-100, -95],
    np.float32: [-200, -150],
    np.float64: [-800, -760],
}
"""Two numbers whose exponentials both overflow or both underflow, by type."""

EQUAL_LOGARITHMS: Mapping[Any, float] = {np.float16: 2.0**11, bfloat16: 260, np.float32: 2.0**24, np.float64: 2.0**53}
"""A number x by type such that the logarithms of x and x + 2 round to the same value."""

NON_FINITE = np.nan, np.inf


@dataclass(frozen=True)
class HazardScenario:
    """Inputs of one hazard for one operator.

    Attributes:
        op_type: operator before ArgMax.
        kind: id of the hazard.
        condition: end of the case's title, which states the condition on the inputs.
        inputs: X of each data set.
        dtype: element type of X.
        axis: axis of ArgMax.
        opset: version of the main domain.
        select_last_index: attribute of ArgMax.
        has_nan: whether a NaN occurs as an element or as a result of the operator.
    """

    op_type: str
    kind: str
    condition: str
    inputs: Sequence[Sequence[Any]]
    dtype: Any = np.float32
    axis: int = 0
    opset: int = 13
    select_last_index: int = 0
    has_nan: bool = False

    @property
    def arrays(self) -> list[Array]:
        """Arrays X of all data sets."""
        return [np.array(values, dtype=np.float64).astype(self.dtype) for values in self.inputs]

    @property
    def is_tie(self) -> bool:
        """Whether two finite results round to the same number."""
        return self.kind == "rounding_tie" or (self.kind, self.op_type) == ("coercion", "LogSoftmax")

    @property
    def shows_on_backends(self) -> bool:
        """Whether all backends that round each result to its declared type give the same index."""
        return not self.is_tie or self.op_type == "Sqrt"

    @property
    def name(self) -> str:
        """Unique name made of operator, hazard, type and attributes."""
        words = [PASS_OPERATORS[self.op_type], self.kind, FLOAT_TYPE_NAMES[self.dtype]]
        words += [f"opset_{self.opset}"] if self.opset != 13 else []
        return "_".join([*words, *(["last"] if self.select_last_index else [])])


def cases() -> Iterator[Case]:
    """Yield a case of the pass for each hazard, and cases of backends for some hazards."""
    for hazard in all_hazards():
        yield _pass_case(hazard)
        if hazard.shows_on_backends:
            yield _backend_case(hazard)
        if hazard.has_nan:
            yield _range_case(hazard)
    yield _nonnegative_case()
    for op_type in ALONG_AXIS:
        yield _vector_below_opset_11(op_type)


def all_hazards() -> Iterator[HazardScenario]:
    """Yield the inputs for all hazards, operators and types."""
    for dtype in PRECISION:
        yield HazardScenario(
            "Exp", "exp_overflow", "if the exponentials of both elements overflow", [OVERFLOW[dtype]], dtype
        )
        yield HazardScenario(
            "Exp", "exp_underflow", "if the exponentials of both elements underflow", [UNDERFLOW[dtype]], dtype
        )
        yield from _ties(dtype)
    for dtype in (np.float32, np.float64):
        yield from _nan_hazards(dtype)
    yield HazardScenario(
        "Sqrt",
        "rounding_tie",
        "if two square roots round to the same number and the last index is selected",
        [[1 + 2.0**-23, 1]],
        select_last_index=1,
    )
    for opset in (11, 12):
        yield from _coerced(opset)


def _ties(dtype: Any) -> Iterator[HazardScenario]:
    """Yield inputs with nearly equal elements, for which the operator's results round to the same number."""
    bits = PRECISION[dtype]
    least = 2.0 ** -(bits + 5)
    large = EQUAL_LOGARITHMS[dtype]
    pairs: Mapping[str, Sequence[float]] = {
        "Exp": [0, least],
        "Softmax": [0, least],
        "LogSoftmax": [0, least],
        "Log": [large, large + 2],
        "Sqrt": [1, 1 + 2.0 ** (1 - bits)],
    }
    for op_type, values in pairs.items():
        yield HazardScenario(
            op_type, "rounding_tie", "if the results for two elements round to the same number", [values], dtype
        )


def _nan_hazards(dtype: Any) -> Iterator[HazardScenario]:
    """Yield inputs for which the operator computes NaN."""
    nan, infinity = NON_FINITE
    for op_type, word in (("Log", "log_negative"), ("Sqrt", "sqrt_negative")):
        yield HazardScenario(op_type, word, "of a negative element", [[-1, 2], [2, -1]], dtype, has_nan=True)
    for op_type in ("Softmax", "LogSoftmax"):
        yield HazardScenario(
            op_type, "softmax_infinity", "of an infinite element", [[1, infinity]], dtype, has_nan=True
        )
        yield HazardScenario(op_type, "softmax_nan", "of a NaN", [[1, nan, 2]], dtype, has_nan=True)


def _coerced(opset: int) -> Iterator[HazardScenario]:
    """Yield inputs of Softmax below opset 13, which normalises several dimensions together.

    A column's results underflow because another column has much larger elements.
    """
    condition = f"if opset {opset} normalises two columns together"
    yield HazardScenario("Softmax", "coercion", condition, [[[0, 1000], [5, 1000]]], opset=opset)
    yield HazardScenario("LogSoftmax", "coercion", condition, [[[0, 1024], [2.0**-16, 1024]]], opset=opset)


def _graph(hazard: HazardScenario, feeds: Sequence[Array]) -> ScenarioGraph:
    """Return the graph in which a hazard occurs, with the input data `feeds`."""
    X = feeds[0]
    return ScenarioGraph(
        pair(hazard.op_type, hazard.axis, **_attributes(hazard)),
        (X,),
        outputs=[make_value_info("index", "int64", argmax_shape(X.shape, hazard.axis, 0))],
        opsets={"": hazard.opset},
    )


def _attributes(hazard: HazardScenario) -> dict[str, int]:
    return {"select_last_index": 1} if hazard.select_last_index else {}


def _pass_case(hazard: HazardScenario) -> Case:
    """Define the case of the pass for a hazard. All data sets have the same shape."""
    word = PASS_OPERATORS[hazard.op_type]
    coerced = hazard.kind == "coercion"
    safe = permuted_quarters(hazard.name, hazard.arrays[0].shape, hazard.dtype)
    return scenario(
        FAMILY,
        hazard.name,
        f"{hazard.op_type} of {FLOAT_TYPE_NAMES[hazard.dtype]} before ArgMax "
        f"{'may be' if coerced else 'is'} removed, which "
        f"changes the index {hazard.condition}",
        ("hazard", word),
        OPTIONAL if coerced else APPLIES,
        _graph(hazard, [safe]),
        hazards=[(hazard.kind, [X]) for X in hazard.arrays],
        check="hazards",
    )


def _backend_case(hazard: HazardScenario) -> Case:
    word = PASS_OPERATORS[hazard.op_type]
    arrays = hazard.arrays
    id = f"test_{word}_argmax_hazard_{hazard.name.removeprefix(f'{word}_')}"
    X = arrays[0]
    shape = argmax_shape(X.shape, hazard.axis, 0)
    return Case(
        id=id,
        title=f"ArgMax of {hazard.op_type} gives the index of the graph as written {hazard.condition}",
        level=Level.SILENT if hazard.has_nan else Level.SHOULD,
        clauses=("monotone.unfused", f"monotone.{word}"),
        tags=("argmax", "hazard", hazard.kind, FLOAT_TYPE_NAMES[hazard.dtype], f"opset_{hazard.opset}"),
        model=build_model(
            id,
            pair(hazard.op_type, hazard.axis, **_attributes(hazard)),
            [array_value_info("X", X)],
            [make_value_info("index", "int64", shape)],
            {"": hazard.opset},
        ),
        data_sets=tuple((array,) for array in arrays),
    )


def _range_case(hazard: HazardScenario) -> Case:
    """Define a case with NaN in which only the range of the index is tested."""
    word = PASS_OPERATORS[hazard.op_type]
    named = _backend_case(hazard)
    return replace(
        named,
        id=f"test_{word}_argmax_in_range_{hazard.name.removeprefix(f'{word}_')}",
        title=(
            f"ArgMax of {hazard.op_type} {hazard.condition} in {FLOAT_TYPE_NAMES[hazard.dtype]} is the index "
            "of an element"
        ),
        level=Level.MUST,
        clauses=("argmax.range", f"monotone.{word}"),
        tags=tuple(tag for tag in named.tags if tag != "hazard"),
    )


def _nonnegative_case() -> Case:
    """Define a case in which square roots of numbers that cannot be negative round to the same number."""
    id = "test_sqrt_argmax_hazard_rounding_tie_of_nonnegative"
    X = np.array([1, 1 + 2.0**-23], np.float32)
    nodes = []
    for op_type in ("Abs", "Relu"):
        word = op_type.lower()
        nodes += [
            helper.make_node(op_type, ["X"], [f"X_{word}"]),
            producer("Sqrt", f"X_{word}", f"Y_{word}"),
            argmax(f"Y_{word}", f"index_{word}", axis=0),
        ]
    return Case(
        id=id,
        title=(
            "ArgMax of the square roots of Abs and of Relu gives the index of the graph as written if they round to the"
            " same number"
        ),
        level=Level.SHOULD,
        clauses=("monotone.unfused", "monotone.sqrt"),
        tags=("argmax", "hazard", "rounding_tie", "float", "opset_13"),
        model=build_model(
            id,
            nodes,
            [array_value_info("X", X)],
            [make_value_info(f"index_{word}", "int64", ()) for word in ("abs", "relu")],
            {"": 13},
        ),
        data_sets=((X,),),
    )


def _vector_below_opset_11(op_type: str) -> Case:
    """Define a case of opset 9 with a vector as input, for which the default axis 1 does not exist."""
    clause = ALONG_AXIS[op_type]
    id = f"test_{clause}_opset_9_vector"
    X = np.array([1.0, 3.0, 2.0], dtype=np.float32)
    return Case(
        id=id,
        title=f"{op_type} below opset 11 treats a vector as a column or as a row",
        level=Level.SILENT,
        clauses=("monotone.coercion", f"monotone.{clause}"),
        tags=("float", "opset_9"),
        model=build_model(
            id,
            [helper.make_node(op_type, ["X"], ["Y"])],
            [array_value_info("X", X)],
            [array_value_info("Y", X)],
            {"": 9},
        ),
        data_sets=((X,),),
    )
