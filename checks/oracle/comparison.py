"""Comparison of a case of the corpus with this oracle: every element, every set of acceptable indices, every bound."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from flint import fmpq

from checks.oracle.calls import DECLARED_TYPES, EXACT, STEPWISE, WITHIN_1_ULP, WITHIN_8_ULP, round_tensor
from checks.oracle.evaluation import ModelOutputs
from checks.oracle.formats import FLOATS, nearby_fraction
from checks.oracle.reals import PrecisionTooLow, compare, is_nan, real
from checks.oracle.tensors import Tensor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from checks.oracle.corpus import Case, ExpectedOutput
    from checks.oracle.reals import Real


OTHER_ACCEPTABLE_INDEX = "which acceptable index"
"""The name of a difference: both indices are acceptable, but the expected one is not that of the declared types."""


@dataclass(frozen=True)
class Difference:
    """A difference between the corpus and this oracle.

    Attributes:
        place: the case, data set, output and element.
        what: the property that differs.
        corpus: its value in the corpus.
        second: its value as this oracle computes it.
    """

    place: str
    what: str
    corpus: Any
    second: Any

    def __str__(self) -> str:
        corpus, second = _format(self.corpus), _format(self.second)
        return f"{self.place}: {self.what}: the corpus has {corpus}, the second oracle {second}"


@dataclass(frozen=True)
class Comparison:
    """The comparison of a case: the number of recomputed values by kind, and the differences."""

    counts: Counter[str] = field(default_factory=Counter)
    differences: list[Difference] = field(default_factory=list)


def compare_case(case: Case) -> Comparison:
    """Recompute one case. An output that cannot be recomputed counts as a difference."""
    comparison = Comparison(Counter(cases=1))
    model = case.model()
    for data_set in case.data_sets(model):
        comparison.counts["data sets"] += 1
        answers = ModelOutputs(model, case.folder, data_set.inputs)
        for number, expected in enumerate(data_set.expected):
            place = f"{case.id} {data_set.name} output {number}"
            try:
                comparison.differences.extend(
                    compare_output(place, case.level, answers, number, expected, comparison.counts)
                )
            except (NotImplementedError, PrecisionTooLow) as error:
                comparison.differences.append(Difference(place, "recomputed", "a value", error))
    return comparison


def compare_output(
    place: str, level: str, answers: ModelOutputs, number: int, expected: ExpectedOutput, counts: Counter[str]
) -> Iterator[Difference]:
    """Yield the differences of one output, and count the compared values.

    Raises:
        PrecisionTooLow: the highest precision is too low to round an element.
        NotImplementedError: the oracle does not support a part of the model.
    """
    floating = expected.tensor.type in FLOATS
    values = answers.output(EXACT if floating else DECLARED_TYPES, number)
    second = round_tensor(values)
    if (second.type, second.shape) != (expected.tensor.type, expected.tensor.shape):
        yield Difference(place, "type and shape", expected.tensor, second)
        return
    for at in np.ndindex(second.shape):
        element = f"{place} element {list(at)}"
        counts["elements"] += 1
        theirs, ours = expected.tensor.element(at), second.element(at)
        accepted = (
            set() if expected.acceptable is None else set(np.flatnonzero(expected.acceptable.element(at)).tolist())
        )
        if not _is_identical(theirs, ours):
            yield Difference(element, OTHER_ACCEPTABLE_INDEX if {theirs, ours} <= accepted else "value", theirs, ours)
        if expected.acceptable is not None:
            counts["accept sets"] += 1
            narrow, wide = (_indices(answers.output(mode, number).element(at)) for mode in (WITHIN_1_ULP, WITHIN_8_ULP))
            yield from _compare_accept_set(element, accepted, narrow, wide, counts)
        elif expected.bound is not None:
            counts["bounds"] += 1
            stepwise = answers.output(STEPWISE, number).element(at)
            yield from _compare_bound(element, expected.bound.element(at), ours, values.element(at), stepwise)
        elif floating or level == "must":
            counts["exact values"] += 1
            other = answers.output(STEPWISE if floating else WITHIN_8_ULP, number).element(at)
            if not _is_identical(theirs, other):
                yield Difference(element, "exact value and other roundings", theirs, other)


def _compare_accept_set(
    element: str, accepted: set[int], narrow: set[int], wide: set[int], counts: Counter[str]
) -> Iterator[Difference]:
    """Check that a set of acceptable indices contains those of operations within 1 ULP, and only those within 8 ULP."""
    counts["accept sets that 1 ULP and 8 ULP make the same"] += narrow == wide
    if not narrow <= accepted <= wide:
        asked = narrow if narrow == wide else f"{sorted(narrow)} to {sorted(wide)}"
        yield Difference(element, "accept set", accepted, asked)


def _compare_bound(element: str, bound: Real, nearest: Real, exact: Real, stepwise: Real) -> Iterator[Difference]:
    """Check that a bound accepts the correctly rounded value, and the result of rounding each operation."""
    for what, value in (("bound and rounding", nearest), ("bound and stepwise rounding", stepwise)):
        error = _distance(value, exact)
        if is_nan(bound) or compare(bound, error) < 0:
            yield Difference(element, what, bound, error)


def _distance(value: Real, exact: Real) -> Real:
    """Return the distance of a rounded value from the exact value; 0 if one of them is infinite or NaN."""
    if isinstance(exact, float) or (isinstance(value, float) and value != 0):
        return 0.0
    near = fmpq(0) if isinstance(value, float) else nearby_fraction(value)
    return real(abs(near - nearby_fraction(exact)))


def _indices(element: int | frozenset[int]) -> set[int]:
    return {element} if isinstance(element, int) else set(element)


def _is_identical(x: Any, y: Any) -> bool:
    """Return whether two numbers have the same bits, except those of NaN; or whether two indices are equal."""
    if isinstance(x, float) and isinstance(y, float):
        return (math.isnan(x) and math.isnan(y)) or (x == y and math.copysign(1, x) == math.copysign(1, y))
    return type(x) is type(y) and bool(x == y)


def _format(value: Any) -> str:
    if isinstance(value, fmpq):
        return f"{int(value.p) / int(value.q)!r} = {value}"
    if isinstance(value, Tensor):
        return f"type {value.type}, shape {value.shape}"
    return str(value)
