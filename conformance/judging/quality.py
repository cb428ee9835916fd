"""How accurate an answer is, beside whether it is acceptable: quality, which no verdict and no gate rests on.

An answer attains a quality where each of its elements is within the bound of an evaluation whose every operation is as
accurate as that says: correctly rounded as IEEE 754 has it, or as OpenCL's full profile or WGSL ask of a device.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from conformance.judging.compare import acceptable_elements, accepts, ulp_of
from conformance.models.arrays import type_name
from conformance.reference.numbers.accuracy import QUALITIES
from conformance.reference.oracle import bounds_under

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import TypeAlias

    import onnx

    from conformance.corpus.loading import CaseInMemory, DataSet, ExpectedTensor, LoadedCase
    from conformance.models.arrays import Array
    from conformance.results.records import Within

    Counted: TypeAlias = tuple[str, int, int]
    """A quality, how many elements have it, and of how many."""

BY_MORE_THAN_OPERATIONS = frozenset({"Exp", "Log", "Softmax", "LogSoftmax"})
"""What WGSL gives an accuracy that depends on the argument."""


class Quality(NamedTuple):
    """A quality of one output.

    Attributes:
        name: what asks for it.
        bound: how far each element may be from what is expected (double, the output's shape).
        ulp: the largest of these in ULP.
    """

    name: str
    bound: Array
    ulp: float


def qualities(case: CaseInMemory, data_set: DataSet) -> list[list[Quality]]:
    """For each output the qualities that can be told of it, the strictest first; none where bits or indices count.

    Raises:
        Unsupported: the model is not made of this suite's operators.
    """
    found: list[list[Quality]] = [[] for _ in data_set.outputs]
    for name in _told_of(case.model):
        bounds = bounds_under(QUALITIES[name], case.model.SerializeToString(), data_set.inputs, case.level)
        for place, (output, bound) in enumerate(zip(data_set.outputs, bounds, strict=True)):
            if bound is not None and _has(name, output):
                found[place].append(Quality(name, bound, _largest_ulp(output, bound)))
    return found


class Qualities:
    """Counts of elements by quality; a bound is computed where an answer asks for it, and once for all subjects.

    What is expected is the exact value, rounded once, and so of every quality: an answer that equals it costs nothing.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[str, int, str], Sequence[Array | None]] = {}

    def within(self, case: LoadedCase, number: int, data_set: DataSet, outputs: Sequence[object]) -> list[Counted]:
        """How many elements of a data set's outputs have each quality that can be told of them, the strictest first.

        Args:
            number: the data set's, in the case.
            outputs: a subject's, as many as there are to be.

        Raises:
            Unsupported: the model is not made of this suite's operators.
        """
        return [
            (name, int(good.sum()), good.size)
            for place, actual in enumerate(outputs)
            for name, good in self._of_output(case, number, data_set, place, actual)
        ]

    def _of_output(
        self, case: LoadedCase, number: int, data_set: DataSet, place: int, actual: object
    ) -> Iterator[tuple[str, Array]]:
        """Each quality of an output, and which elements have it; what has one has all that ask for less."""
        output = data_set.outputs[place]
        good = acceptable_elements(replace(output, bound=np.zeros(output.expected.shape)), actual)
        for name in [name for name in _told_of(case.model) if _has(name, output)]:
            if not good.all():
                bound = self._bounds(case, number, data_set, name)[place]
                good = good | acceptable_elements(replace(output, bound=bound), actual)
            yield name, good

    def _bounds(self, case: LoadedCase, number: int, data_set: DataSet, name: str) -> Sequence[Array | None]:
        key = case.entry.id, number, name
        if key not in self._known:
            model = case.model.SerializeToString()
            self._known[key] = bounds_under(QUALITIES[name], model, data_set.inputs, case.entry.level)
        return self._known[key]

    @staticmethod
    def total(counts: Iterable[Counted]) -> dict[str, Within]:
        """The counts of several outputs, added by quality."""
        elements, within = Counter[str](), Counter[str]()
        for name, good, size in counts:
            elements[name] += size
            within[name] += good
        return {name: {"elements": elements[name], "within": within[name]} for name in QUALITIES if elements[name]}


def _told_of(model: onnx.ModelProto) -> list[str]:
    """The qualities that can be told of a model's outputs, the strictest first."""
    functions = BY_MORE_THAN_OPERATIONS.intersection(node.op_type for node in model.graph.node)
    return [name for name in QUALITIES if not (functions and name == "WGSL")]


def _has(name: str, output: ExpectedTensor) -> bool:
    """Whether a quality says something of an output: it has a bound, and is of a type of the quality's."""
    return output.check == "bound" and type_name(output.expected.dtype) in QUALITIES[name]


def attained(output: ExpectedTensor, told: Sequence[Quality], actual: object) -> str:
    """The strictest quality that an output attains, or in words whether it is acceptable for all that."""
    for quality in told:
        if accepts(replace(output, bound=quality.bound), actual):
            return quality.name
    return "none of these, but acceptable" if accepts(output, actual) else "none of these, and not acceptable"


def _largest_ulp(output: ExpectedTensor, bound: Array) -> float:
    ulp = bound / ulp_of(output.expected)
    finite = ulp[np.isfinite(ulp)]
    return float(finite.max()) if finite.size else 0.0
