"""Inputs on which even the documented pass changes the answer, and what a backend that applies no such pass answers.

Each is the smallest that shows its class, and relies only on what every admissible implementation of the operator does.
A case of the pass has one data set that the rewrite keeps the answer of, and then the hazards. Cases in `node` hold a
backend to the index of the graph as it stands, in its declared types: at level `should`, or `silent` where a NaN takes
part, since nothing says what ArgMax makes of one. Ties of Log, Exp, Softmax and LogSoftmax have none: an evaluation
that is off by less than an ULP may tell the two elements apart without the rewrite. Sqrt is rounded correctly.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from ml_dtypes import bfloat16

from conformance.corpus.case import Case
from conformance.generation.models import TYPES, argmax_shape, declared, declared_as, model
from conformance.generation.values import ranked
from conformance.verdicts import Level
from generators.eliminate_nop_monotone_argmax.scenario import FIRES, FIVE, MAY, ScenarioGraph, pair, scenario

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from conformance.models.arrays import Array

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
"""Two numbers whose exponentials are both beyond the type."""

LARGE: Mapping[Any, float] = {np.float16: 2.0**11, bfloat16: 260, np.float32: 2.0**24, np.float64: 2.0**53}
"""A number whose logarithm rounds to that of the next."""

WITHOUT_NUMBER = np.nan, np.inf


@dataclass(frozen=True)
class HazardScenario:
    """Inputs of one class for one operator.

    Attributes:
        kind: the class.
        says: how the title ends.
        inputs: per data set X.
    """

    op_type: str
    kind: str
    says: str
    inputs: Sequence[Sequence[Any]]
    dtype: Any = np.float32
    axis: int = 0
    opset: int = 13
    select_last_index: int = 0
    has_nan: bool = False

    @property
    def arrays(self) -> list[Array]:
        """X of each data set."""
        return [np.array(values, dtype=np.float64).astype(self.dtype) for values in self.inputs]

    @property
    def is_tie(self) -> bool:
        """Whether two finite results round to one number."""
        return self.kind == "rounding_tie" or (self.kind, self.op_type) == ("coercion", "LogSoftmax")

    @property
    def shows_on_backends(self) -> bool:
        """Whether every backend that rounds each result to its declared type gives the same index."""
        return not self.is_tie or self.op_type == "Sqrt"

    @property
    def name(self) -> str:
        """Class, operator and what else tells it from others."""
        words = [FIVE[self.op_type], self.kind, TYPES[self.dtype]]
        words += [f"opset_{self.opset}"] if self.opset != 13 else []
        return "_".join([*words, *(["last"] if self.select_last_index else [])])


def cases() -> Iterator[Case]:
    """Every hazard as a case of the pass, and those of float as cases of backends."""
    for hazard in hazards():
        yield _of_the_pass(hazard)
        if hazard.shows_on_backends:
            yield _of_backends(hazard)
        if hazard.has_nan:
            yield _in_range(hazard)


def hazards() -> Iterator[HazardScenario]:
    """All classes, by operator and type."""
    for dtype in PRECISION:
        yield HazardScenario(
            "Exp", "exp_overflow", "where the exponentials of both elements overflow", [OVERFLOW[dtype]], dtype
        )
        yield HazardScenario(
            "Exp", "exp_underflow", "where the exponentials of both elements underflow", [UNDERFLOW[dtype]], dtype
        )
        yield from _ties(dtype)
    for dtype in (np.float32, np.float64):
        yield from _without_number(dtype)
    yield HazardScenario(
        "Sqrt",
        "rounding_tie",
        "where two square roots round to one number, of which the last counts",
        [[1 + 2.0**-23, 1]],
        select_last_index=1,
    )
    for opset in (11, 12):
        yield from _coerced(opset)


def _ties(dtype: Any) -> Iterator[HazardScenario]:
    """Neighbours, or nearly so, whose images round to one number."""
    bits = PRECISION[dtype]
    least, large = 2.0 ** -(bits + 5), LARGE[dtype]
    pairs: Mapping[str, Sequence[float]] = {
        "Exp": [0, least],
        "Softmax": [0, least],
        "LogSoftmax": [0, least],
        "Log": [large, large + 2],
        "Sqrt": [1, 1 + 2.0 ** (1 - bits)],
    }
    for op_type, values in pairs.items():
        yield HazardScenario(
            op_type, "rounding_tie", "where the images of two elements round to one number", [values], dtype
        )


def _without_number(dtype: Any) -> Iterator[HazardScenario]:
    """Elements that the operator has no number for."""
    nan, infinity = WITHOUT_NUMBER
    for op_type, word in (("Log", "log_negative"), ("Sqrt", "sqrt_negative")):
        yield HazardScenario(op_type, word, "of a negative element", [[-1, 2], [2, -1]], dtype, has_nan=True)
    for op_type in ("Softmax", "LogSoftmax"):
        yield HazardScenario(
            op_type, "softmax_infinity", "of an infinite element", [[1, infinity]], dtype, has_nan=True
        )
        yield HazardScenario(op_type, "softmax_nan", "of a NaN", [[1, nan, 2]], dtype, has_nan=True)


def _coerced(opset: int) -> Iterator[HazardScenario]:
    """A column whose elements underflow beside the largest of another column."""
    says = f"where opset {opset} normalizes two columns at once"
    yield HazardScenario("Softmax", "coercion", says, [[[0, 1000], [5, 1000]]], opset=opset)
    yield HazardScenario("LogSoftmax", "coercion", says, [[[0, 1024], [2.0**-16, 1024]]], opset=opset)


def _graph(hazard: HazardScenario, feeds: Sequence[Array]) -> ScenarioGraph:
    """ArgMax over the axis."""
    X = feeds[0]
    return ScenarioGraph(
        pair(hazard.op_type, hazard.axis, **_attributes(hazard)),
        (X,),
        outputs=[declared_as("index", "int64", argmax_shape(X.shape, hazard.axis, 0))],
        opsets={"": hazard.opset},
    )


def _attributes(hazard: HazardScenario) -> dict[str, int]:
    return {"select_last_index": 1} if hazard.select_last_index else {}


def _of_the_pass(hazard: HazardScenario) -> Case:
    """All data sets have one shape, since none of these is about a size that changes."""
    word, coerced = FIVE[hazard.op_type], hazard.kind == "coercion"
    safe = ranked(hazard.name, hazard.arrays[0].shape, hazard.dtype)
    return scenario(
        FAMILY,
        hazard.name,
        f"{hazard.op_type} of {TYPES[hazard.dtype]} before ArgMax {'may be' if coerced else 'is'} taken away, which "
        f"changes the index {hazard.says}",
        ("hazard", word),
        MAY if coerced else FIRES,
        _graph(hazard, [safe]),
        hazards=[(hazard.kind, [X]) for X in hazard.arrays],
        check="hazards",
    )


def _of_backends(hazard: HazardScenario) -> Case:
    word, arrays = FIVE[hazard.op_type], hazard.arrays
    id = f"test_{word}_argmax_hazard_{hazard.name.removeprefix(f'{word}_')}"
    X = arrays[0]
    shape = argmax_shape(X.shape, hazard.axis, 0)
    return Case(
        id=id,
        title=f"ArgMax of {hazard.op_type} is that of the graph as it stands {hazard.says}",
        level=Level.SILENT if hazard.has_nan else Level.SHOULD,
        clauses=("monotone.unfused", f"monotone.{word}"),
        tags=("argmax", "hazard", hazard.kind, TYPES[hazard.dtype], f"opset_{hazard.opset}"),
        model=model(
            id,
            pair(hazard.op_type, hazard.axis, **_attributes(hazard)),
            [declared("X", X)],
            [declared_as("index", "int64", shape)],
            {"": hazard.opset},
        ),
        data_sets=tuple((array,) for array in arrays),
    )


def _in_range(hazard: HazardScenario) -> Case:
    """Nothing says what ArgMax makes of a NaN, but that it gives the index of an element."""
    word, named = FIVE[hazard.op_type], _of_backends(hazard)
    return replace(
        named,
        id=f"test_{word}_argmax_in_range_{hazard.name.removeprefix(f'{word}_')}",
        title=f"ArgMax of {hazard.op_type} {hazard.says} in {TYPES[hazard.dtype]} is the index of an element",
        level=Level.MUST,
        clauses=("argmax.range", f"monotone.{word}"),
        tags=tuple(tag for tag in named.tags if tag != "hazard"),
    )
