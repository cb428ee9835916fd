"""The tightness of the bounds: each bound is compared with the error that an adversary attains.

An adversary constructs an admissible evaluation with a large error; see `checks.mutation.adversary`.


The adversary makes each rounding as large as permitted, up or down, in each form of the evaluation and with three terms
added in each order. It does not change the order of multiplications or use wider intermediate types, so it may not
reach the bound. An error beyond the bound proves that the bound is too small.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fnmatch import fnmatchcase
from itertools import product
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from checks.mutation.adversary import RecordingAdversary, ReplayingAdversary
from conformance.base.verdicts import Level
from conformance.corpus.cases.case_loading import load_case_in_memory
from conformance.exact.reference.graph import Graph
from conformance.exact.reference.numbers.bounded import BoundedNumber
from conformance.exact.reference.numbers.decimals import exact_context
from conformance.exact.reference.numbers.interval_system import IntervalSystem
from conformance.run.judging.compare import ulp_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from conformance.corpus.cases.case_loading import CaseInMemory, DataSet, ExpectedTensor
    from conformance.corpus.cases.corpus import Corpus, CorpusCase
    from conformance.exact.models.arrays import Array
    from conformance.exact.reference.numbers.number_system import Value


ZERO, INFINITY = Decimal(0), Decimal("Infinity")

FORM_INDICES = 6
"""Number of forms of the statement with the most forms, X_new of Momentum. A further form is tried only while the
attained error is below half of the bound."""

ORDERS = (0, 1, -1)
"""Orders of adding three terms, first the order in the formula. A further order is tried only while the attained error
is below half of the bound."""

MIN_LONG_VECTOR = 100
"""Number of elements above which the adversary evaluates only the element whose error it maximizes."""


@dataclass(frozen=True)
class AttainedError:
    """The error that the adversary attained on a case.

    Attributes:
        case: the id of the case.
        output: the name of the output with the widest bound, in ULP of the expected value.
        index: the index of the element with the widest bound, whose error the adversary maximizes.
        bound: the bound of this element.
        error: the error that the adversary attained for this element; infinite if any element of the output exceeded
            its bound.
    """

    case: str
    output: str
    index: tuple[int, ...]
    bound: float
    error: float

    @property
    def ratio(self) -> float:
        """The bound divided by the attained error. 1 is the tightest; a smaller ratio refutes the bound."""
        return self.bound / self.error if self.error else float("inf")


def bounded_cases(corpus: Corpus, pattern: str = "*") -> list[CorpusCase]:
    """Return the `must` cases with a bound whose ids match a pattern, except expanded cases."""
    return [
        case
        for case in corpus.cases.values()
        if case.level is Level.MUST
        and fnmatchcase(case.id, pattern)
        and not case.id.endswith("_expanded")
        and any("/bound_" in file for file in case.files)
    ]


def measure_tightness(
    corpus: Corpus, cases: Iterable[CorpusCase], progress: Callable[[str], None]
) -> list[AttainedError]:
    """Run the adversary on each case, and return the attained errors; cases with only zero bounds are omitted.

    Args:
        progress: function that is called with the id of each case when it starts.
    """
    found = []
    for entry in cases:
        progress(entry.id)
        if (one := largest_attained_error(load_case_in_memory(corpus, entry))) is not None:
            found.append(one)
    return found


def largest_attained_error(case: CaseInMemory) -> AttainedError | None:
    """Run the adversary on the first data set of a case; return None if all bounds are 0."""
    data_set = next(iter(case.data_sets()))
    outputs = [_Output.of(output) for output in data_set.outputs]
    if not any(output.is_bounded for output in outputs):
        return None
    place = max(range(len(outputs)), key=lambda place: outputs[place].width if outputs[place].is_bounded else -1)
    output, cut = outputs[place], _is_long(data_set)
    kept = slice(output.widest, output.widest + 1) if cut else slice(None)
    inputs = [array[kept] if cut and array.ndim else array for array in data_set.inputs]
    target = 0 if cut else output.widest
    graph = Graph.from_model(case.model)
    error, bound = ZERO, Decimal(float(output.bound.flat[output.widest]))
    with exact_context(data_set.inputs):
        for order, form in product(ORDERS, range(FORM_INDICES)):
            if bound > 2 * error:
                signs = _signs(
                    graph.run(inputs, IntervalSystem(adversary=RecordingAdversary(order), form_index=form))[place],
                    target,
                )
                chosen = [
                    ReplayingAdversary({number: way * sign for number, sign in signs.items()}, order) for way in (1, -1)
                ]
                replays = [_replayed(graph, inputs, place, adversary, form) for adversary in chosen]
                error = max(error, (output.cut(kept) if cut else output).largest_error(replays, target))
    index = tuple(int(part) for part in np.unravel_index(output.widest, output.expected.shape))
    return AttainedError(case.id, output.name, index, float(bound), float(error))


@dataclass(frozen=True)
class _Output:
    """An expected output with its bound; outputs without a bound have a bound of 0."""

    name: str
    expected: Array
    bound: Array

    @classmethod
    def of(cls, output: ExpectedTensor) -> _Output:
        bound = np.zeros(output.expected.shape) if output.bound is None else output.bound
        return cls(output.name, output.expected, bound)

    @property
    def is_bounded(self) -> bool:
        return bool(np.isfinite(self.bound).all() and self.bound.any())

    @property
    def widest(self) -> int:
        """The flat index of the element whose bound, in ULP, is the widest."""
        return int(np.argmax((self.bound / ulp_of(self.expected)).ravel()))

    @property
    def width(self) -> float:
        """The widest bound, in ULP."""
        return float((self.bound / ulp_of(self.expected)).flat[self.widest])

    def cut(self, kept: slice) -> _Output:
        """Return the output restricted to the elements in `kept`."""
        return _Output(self.name, self.expected[kept], self.bound[kept])

    def largest_error(self, replays: Iterable[list[Decimal]], target: int) -> Decimal:
        """Return the largest error at the target element; infinite if any element exceeds its bound."""
        largest = ZERO
        bounds = [Decimal(float(bound)) for bound in self.bound.flat]
        expected = [Decimal(float(element)) for element in self.expected.flat]
        for replay in replays:
            errors = [abs(a - b) if b.is_finite() else ZERO for a, b in zip(replay, expected, strict=True)]
            if any(error > bound for error, bound in zip(errors, bounds, strict=True)):
                return INFINITY
            largest = max(largest, errors[target])
        return largest


def _is_long(data_set: DataSet) -> bool:
    """Return whether all tensors are long vectors of one shape, so that evaluating one element is enough."""
    tensors = [array for array in data_set.inputs if array.ndim] + [output.expected for output in data_set.outputs]
    alike = all(tensor.shape == tensors[0].shape for tensor in tensors)
    return alike and tensors[0].ndim == 1 and tensors[0].size > MIN_LONG_VECTOR


def _signs(output: Value, target: int) -> dict[int, int]:
    """Return, by the id of each rounding, the direction (1 or -1) in which it moves the result.

    A rounding of a tensor element has an effect on its own element only. A rounding of a scalar has an effect on all
    elements; the direction for the element `target` is used.
    """
    numbers = list(output.elements.flat)
    signs: dict[int, int] = {}
    for number in (numbers[target], *numbers):
        for rounding, part in (
            number.affine_form.coefficients if isinstance(number, BoundedNumber) and number.affine_form else {}
        ).items():
            if part:
                signs.setdefault(rounding, 1 if part > 0 else -1)
    return signs


def _replayed(
    graph: Graph, inputs: Sequence[Array], place: int, adversary: ReplayingAdversary, form: int
) -> list[Decimal]:
    elements = list(graph.run(inputs, IntervalSystem(adversary=adversary, form_index=form))[place].elements.flat)
    assert all(
        number.low == number.high for number in elements if isinstance(number, BoundedNumber) and number.is_finite
    )
    return [element.low if isinstance(element, BoundedNumber) else element for element in elements]


MAX_MEDIAN_RATIO = 2.0
"""Largest permitted median of the ratios."""
MAX_RATIO = 16.0
"""Largest permitted ratio of a bound to the attained error."""

HISTOGRAM_EDGES = (1.0, 1.25, 1.5, 2.0, 4.0, 8.0, 16.0)
"""Limits of the ratio's classes in the printed table."""


@dataclass(frozen=True)
class Tightness:
    """The errors that the adversary attained on the cases with bounds."""

    attained: Sequence[AttainedError]

    @property
    def median(self) -> float:
        """The median of bound divided by attained error; 1 if there are no bounds."""
        return median(one.ratio for one in self.attained) if self.attained else 1.0

    @property
    def refuted(self) -> list[AttainedError]:
        """The bounds that an admissible evaluation exceeded."""
        return [one for one in self.attained if one.ratio < 1]

    @property
    def wide(self) -> list[AttainedError]:
        """The bounds that are too wide, the widest first."""
        return sorted((one for one in self.attained if one.ratio > MAX_RATIO), key=lambda one: -one.ratio)

    @property
    def passes(self) -> bool:
        """Whether no bound is refuted, the median is small, and no bound is too wide."""
        return not self.refuted and self.median <= MAX_MEDIAN_RATIO and not self.wide


def tightness_lines(found: Tightness) -> Iterator[str]:
    """Yield the distribution of the ratios, and each bound that is refuted or too wide."""
    yield ""
    yield f"{'bound / attained error':<24}{'cases':>6}"
    for low, high in zip(HISTOGRAM_EDGES, (*HISTOGRAM_EDGES[1:], float("inf")), strict=True):
        count = sum(low <= one.ratio < high for one in found.attained)
        yield f"{f'{low:g} to {high:g}':<24}{count:>6}"
    yield f"{len(found.attained)} cases, {len(found.refuted)} refuted, median {found.median:.2f}."
    for one in (*found.refuted, *found.wide):
        yield f"  {one.case}, {one.output} {list(one.index)}: {one.ratio:.3g}"


def tightness_document(found: Tightness) -> dict[str, Any]:
    """Return the tightness as JSON."""
    return {
        "median": found.median,
        "cases": [{**vars(one), "index": list(one.index), "error": str(one.error)} for one in found.attained],
    }
