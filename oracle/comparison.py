"""One case of the corpus against what this oracle computes: every element, every accept set, every bound."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from flint import fmpq

from oracle.answers import Answers
from oracle.calls import DECLARED, EXACT, NARROW, STEPWISE, WIDE, rounded
from oracle.formats import FLOATS, fraction_near
from oracle.reals import Undecided, compare, is_nan, real
from oracle.tensors import Tensor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oracle.corpus import Case, Expected
    from oracle.reals import Real


CHOICE = "which acceptable index"
"""Both indices are acceptable, and the expected one is not the one of the graph as it stands."""


@dataclass(frozen=True)
class Difference:
    """Where the two disagree, and what each of them says; a number is shown exactly, beside its decimals."""

    place: str
    what: str
    corpus: Any
    second: Any

    def __str__(self) -> str:
        corpus, second = _shown(self.corpus), _shown(self.second)
        return f"{self.place}: {self.what}: the corpus has {corpus}, the second oracle {second}"


@dataclass(frozen=True)
class Comparison:
    """What was recomputed of a case, counted by kind, and what differs."""

    counts: Counter[str] = field(default_factory=Counter)
    differences: list[Difference] = field(default_factory=list)


def compared(case: Case) -> Comparison:
    """Recompute one case; what cannot be recomputed differs."""
    comparison = Comparison(Counter(cases=1))
    model = case.model()
    for data_set in case.data_sets(model):
        comparison.counts["data sets"] += 1
        answers = Answers(model, case.folder, data_set.inputs)
        for number, expected in enumerate(data_set.expected):
            place = f"{case.id} {data_set.name} output {number}"
            try:
                comparison.differences.extend(
                    differences(place, case.level, answers, number, expected, comparison.counts)
                )
            except (NotImplementedError, Undecided) as error:
                comparison.differences.append(Difference(place, "recomputed", "a value", error))
    return comparison


def differences(
    place: str, level: str, answers: Answers, number: int, expected: Expected, counts: Counter[str]
) -> Iterator[Difference]:
    """What is expected of one output against what the second oracle computes; counts what is compared.

    Raises:
        Undecided: the most bits are too few.
        NotImplementedError: the model has what this oracle does not know.
    """
    floating = expected.tensor.type in FLOATS
    values = answers.output(EXACT if floating else DECLARED, number)
    second = rounded(values)
    if (second.type, second.shape) != (expected.tensor.type, expected.tensor.shape):
        yield Difference(place, "type and shape", expected.tensor, second)
        return
    for at in np.ndindex(second.shape):
        element = f"{place} element {list(at)}"
        counts["elements"] += 1
        theirs, ours = expected.tensor.at(at), second.at(at)
        accepted = set() if expected.accept is None else set(np.flatnonzero(expected.accept.at(at)).tolist())
        if not _same(theirs, ours):
            yield Difference(element, CHOICE if {theirs, ours} <= accepted else "value", theirs, ours)
        if expected.accept is not None:
            counts["accept sets"] += 1
            narrow, wide = (_indices(answers.output(mode, number).at(at)) for mode in (NARROW, WIDE))
            yield from _accept_set(element, accepted, narrow, wide, counts)
        elif expected.bound is not None:
            counts["bounds"] += 1
            stepwise = answers.output(STEPWISE, number).at(at)
            yield from _bound(element, expected.bound.at(at), ours, values.at(at), stepwise)
        elif floating or level == "must":
            counts["exact values"] += 1
            other = answers.output(STEPWISE if floating else WIDE, number).at(at)
            if not _same(theirs, other):
                yield Difference(element, "exact value and other roundings", theirs, other)


def _accept_set(
    element: str, accepted: set[int], narrow: set[int], wide: set[int], counts: Counter[str]
) -> Iterator[Difference]:
    """An accept set holds what operations within 1 ULP may give, and nothing that no operations within 8 ULP give."""
    counts["accept sets that 1 ULP and 8 ULP make the same"] += narrow == wide
    if not narrow <= accepted <= wide:
        asked = narrow if narrow == wide else f"{sorted(narrow)} to {sorted(wide)}"
        yield Difference(element, "accept set", accepted, asked)


def _bound(element: str, bound: Real, nearest: Real, exact: Real, stepwise: Real) -> Iterator[Difference]:
    """A bound admits the expected value's own rounding, and that of the formula's operations one after the other."""
    for what, value in (("bound and rounding", nearest), ("bound and stepwise rounding", stepwise)):
        error = _distance(value, exact)
        if is_nan(bound) or compare(bound, error) < 0:
            yield Difference(element, what, bound, error)


def _distance(value: Real, exact: Real) -> Real:
    """How far a rounded value is from the exact one; nothing where one of them is infinite or NaN."""
    if isinstance(exact, float) or (isinstance(value, float) and value != 0):
        return 0.0
    near = fmpq(0) if isinstance(value, float) else fraction_near(value)
    return real(abs(near - fraction_near(exact)))


def _indices(element: int | frozenset[int]) -> set[int]:
    return {element} if isinstance(element, int) else set(element)


def _same(x: Any, y: Any) -> bool:
    """Equality to the bit, but for the bits of NaN; of an index, that it is the only one."""
    if isinstance(x, float) and isinstance(y, float):
        return (math.isnan(x) and math.isnan(y)) or (x == y and math.copysign(1, x) == math.copysign(1, y))
    return type(x) is type(y) and bool(x == y)


def _shown(value: Any) -> str:
    if isinstance(value, fmpq):
        return f"{int(value.p) / int(value.q)!r} = {value}"
    if isinstance(value, Tensor):
        return f"type {value.type}, shape {value.shape}"
    return str(value)
