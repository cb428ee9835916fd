"""How tight the bounds are: what an adversary attains by choosing each rounding, held against the bound of each output.

The adversary may round as far as is admissible, one way or the other, in each form of the evaluation and with three
terms added in each order. It cannot multiply in another order or compute in wider intermediates, so it need not come up
to the bound; beyond it, it would refute it.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fnmatch import fnmatchcase
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from conformance.corpus.loading import case_in_memory
from conformance.judging.compare import ulp_of
from conformance.reference.graph import Graph
from conformance.reference.numbers.adversary import Recording, Replaying
from conformance.reference.numbers.bounded import Bounded
from conformance.reference.numbers.enclosing import Enclosing
from conformance.reference.numbers.exact import exactly
from conformance.reference.operators.training import TRAINING_OPTIMIZERS
from conformance.verdicts import Level

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from conformance.corpus.corpus import Corpus, CorpusCase
    from conformance.corpus.loading import CaseInMemory, DataSet, ExpectedTensor
    from conformance.models.arrays import Array
    from conformance.reference.numbers.values import Value

ZERO, INFINITY = Decimal(0), Decimal("Infinity")

FORMS = max(len(optimizer.forms) for optimizer in TRAINING_OPTIMIZERS.values())
"""In how many forms an optimizer may be computed; the others are tried where the first leaves half of the bound."""

ORDERS = (0, 1, -1)
"""In which orders three terms are added; the others are tried where the formula's own leaves half of the bound."""

LONG = 100
"""Of a vector of more elements the adversary sees the one only that it goes for."""


@dataclass(frozen=True)
class Attained:
    """A case whose roundings an adversary chose.

    Attributes:
        case: its id.
        output: that which has an element with the widest bound, in ULP of what is expected there.
        index: this element, which the adversary went for.
        bound: its bound.
        error: what the adversary attained there; infinite if some element of the output went beyond its bound.
    """

    case: str
    output: str
    index: tuple[int, ...]
    bound: float
    error: float

    @property
    def ratio(self) -> float:
        """The bound over the error attained: 1 is as tight as can be, and less refutes the bound."""
        return self.bound / self.error if self.error else float("inf")


def bounded_cases(corpus: Corpus, pattern: str = "*") -> list[CorpusCase]:
    """The `must` cases that have a bound and an id that fits a pattern, those apart that were lowered from another."""
    return [
        case
        for case in corpus.cases.values()
        if case.level is Level.MUST
        and fnmatchcase(case.id, pattern)
        and not case.id.endswith("_expanded")
        and any("/bound_" in file for file in case.files)
    ]


def measure_tightness(corpus: Corpus, cases: Iterable[CorpusCase], progress: Callable[[str], None]) -> list[Attained]:
    """What an adversary attains on each of these cases that has a bound but 0.

    Args:
        progress: called with the id of each case that is begun.
    """
    found = []
    for entry in cases:
        progress(entry.id)
        if (one := attained(case_in_memory(corpus, entry))) is not None:
            found.append(one)
    return found


def attained(case: CaseInMemory) -> Attained | None:
    """What an adversary attains on a case's first data set; None where no output has a bound but 0."""
    data_set = next(iter(case.data_sets()))
    outputs = [_Output.of(output) for output in data_set.outputs]
    if not any(output.is_bounded for output in outputs):
        return None
    place = max(range(len(outputs)), key=lambda place: outputs[place].width if outputs[place].is_bounded else -1)
    output, cut = outputs[place], _is_long(data_set)
    kept = slice(output.widest, output.widest + 1) if cut else slice(None)
    inputs = [array[kept] if cut and array.ndim else array for array in data_set.inputs]
    target = 0 if cut else output.widest
    graph = Graph.of(case.model)
    error, bound = ZERO, Decimal(float(output.bound.flat[output.widest]))
    with exactly(data_set.inputs):
        for order, form in product(ORDERS, range(FORMS)):
            if bound > 2 * error:
                signs = _signs(graph.run(inputs, Enclosing(adversary=Recording(order), form=form))[place], target)
                chosen = [Replaying({number: way * sign for number, sign in signs.items()}, order) for way in (1, -1)]
                replays = [_replayed(graph, inputs, place, adversary, form) for adversary in chosen]
                error = max(error, (output.cut(kept) if cut else output).largest_error(replays, target))
    index = tuple(int(part) for part in np.unravel_index(output.widest, output.expected.shape))
    return Attained(case.id, output.name, index, float(bound), float(error))


@dataclass(frozen=True)
class _Output:
    """An expected output with its bound; none is a bound of 0."""

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
        """The element that has the widest bound in ULP."""
        return int(np.argmax((self.bound / ulp_of(self.expected)).ravel()))

    @property
    def width(self) -> float:
        """The widest bound, in ULP."""
        return float((self.bound / ulp_of(self.expected)).flat[self.widest])

    def cut(self, kept: slice) -> _Output:
        """Some of its elements."""
        return _Output(self.name, self.expected[kept], self.bound[kept])

    def largest_error(self, replays: Iterable[list[Decimal]], target: int) -> Decimal:
        """The largest error at the target; infinite if one anywhere is beyond its bound."""
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
    """Whether all tensors are long vectors, of which the adversary's element is enough."""
    tensors = [array for array in data_set.inputs if array.ndim] + [output.expected for output in data_set.outputs]
    alike = all(tensor.shape == tensors[0].shape for tensor in tensors)
    return alike and tensors[0].ndim == 1 and tensors[0].size > LONG


def _signs(output: Value, target: int) -> dict[int, int]:
    """Which way each rounding moves an element: where it is that of a scalar, the target."""
    numbers = list(output.elements.flat)
    signs: dict[int, int] = {}
    for number in (numbers[target], *numbers):
        for rounding, part in (number.form.parts if isinstance(number, Bounded) and number.form else {}).items():
            if part:
                signs.setdefault(rounding, 1 if part > 0 else -1)
    return signs


def _replayed(graph: Graph, inputs: Sequence[Array], place: int, adversary: Replaying, form: int) -> list[Decimal]:
    elements = list(graph.run(inputs, Enclosing(adversary=adversary, form=form))[place].elements.flat)
    assert all(number.low == number.high for number in elements if isinstance(number, Bounded) and number.is_finite)
    return [element.low if isinstance(element, Bounded) else element for element in elements]
