"""Accuracy grades of outputs; they affect neither verdicts nor the outcome of a run.

A grade states how accurate every operation is: correctly rounded (IEEE 754), or as accurate as the full profile of
OpenCL or WGSL requires of a device. An element attains a grade if its error is within the bound for operations of this
accuracy.
`AccuracyCounter` counts elements for `--accuracy`; `accuracy_grades` returns the bounds that `explain` shows.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from conformance.base.verdicts import Unsupported
from conformance.exact.models.arrays import type_name
from conformance.exact.reference.oracle import bounds_for_accuracy
from conformance.exact.reference.tolerances import ACCURACY_GRADES
from conformance.run.judging.compare import acceptable_elements, is_acceptable, ulp_of
from conformance.run.results.records import Within

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import TypeAlias

    import onnx

    from conformance.corpus.cases.case_loading import CaseInMemory, DataSet, ExpectedTensor, LoadedCase
    from conformance.exact.models.arrays import Array

    GradeCount: TypeAlias = tuple[str, int, int]
    """Name of a grade, number of elements that attain it, number of all elements."""


FUNCTIONS_WITHOUT_WGSL_BOUND = frozenset({"Exp", "Log", "Softmax", "LogSoftmax"})
"""Operators whose accuracy in WGSL depends on the argument."""


class AccuracyGrade(NamedTuple):
    """An accuracy grade of one output.

    Attributes:
        name: name of the grade: a key of `ACCURACY_GRADES`.
        bound: largest distance of each element from the expected value (double, the output's shape).
        ulp: the largest finite bound of any element, in ULP.
    """

    name: str
    bound: Array
    ulp: float


def accuracy_grades(case: CaseInMemory, data_set: DataSet) -> list[list[AccuracyGrade]]:
    """Return the grades of each output, the strictest first; an output checked by bits or indices has no grade.

    Raises:
        Unsupported: the oracle cannot compute the case.
    """
    found: list[list[AccuracyGrade]] = [[] for _ in data_set.outputs]
    for name in _applicable_grades(case.model):
        if not any(_applies_to_output(name, output) for output in data_set.outputs):
            continue
        bounds = bounds_for_accuracy(ACCURACY_GRADES[name], case.model.SerializeToString(), data_set.inputs, case.level)
        for place, (output, bound) in enumerate(zip(data_set.outputs, bounds, strict=True)):
            if bound is not None and _applies_to_output(name, output):
                found[place].append(AccuracyGrade(name, bound, _largest_ulp(output, bound)))
    return found


class AccuracyCounter:
    """Counter of the output elements that attain each accuracy grade.

    An element equal to the expected value attains every grade. The bounds of the grades are computed only if an element
    differs from its expected value, and only once for all subjects.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[str, int, str], Sequence[Array | None]] = {}

    def count(self, case: LoadedCase, number: int, data_set: DataSet, outputs: Sequence[object]) -> list[GradeCount]:
        """Count the elements of each output of a data set by applicable grade, the strictest grade first.

        Args:
            number: number of the data set in the case.
            outputs: outputs of a subject, one per expected output.

        Returns:
            The counts; empty if the oracle cannot compute the case.
        """
        try:
            return [
                (name, int(good.sum()), good.size)
                for place, actual in enumerate(outputs)
                for name, good in self._of_output(case, number, data_set, place, actual)
            ]
        except Unsupported:
            return []

    def _of_output(
        self, case: LoadedCase, number: int, data_set: DataSet, place: int, actual: object
    ) -> Iterator[tuple[str, Array]]:
        """Yield the grades of an output, each with a mask of the elements that attain the grade or a stricter grade."""
        output = data_set.outputs[place]
        good = acceptable_elements(replace(output, bound=np.zeros(output.expected.shape)), actual)
        for name in [name for name in _applicable_grades(case.model) if _applies_to_output(name, output)]:
            if not good.all():
                bound = self._bounds(case, number, data_set, name)[place]
                good = good | acceptable_elements(replace(output, bound=bound), actual)
            yield name, good

    def _bounds(self, case: LoadedCase, number: int, data_set: DataSet, name: str) -> Sequence[Array | None]:
        key = case.entry.id, number, name
        if key not in self._known:
            model = case.model.SerializeToString()
            self._known[key] = bounds_for_accuracy(ACCURACY_GRADES[name], model, data_set.inputs, case.entry.level)
        return self._known[key]

    @staticmethod
    def total(counts: Iterable[GradeCount]) -> dict[str, Within]:
        """Return the sum of the counts of each grade, by the name of the grade."""
        elements = Counter[str]()
        within = Counter[str]()
        for name, good, size in counts:
            elements[name] += size
            within[name] += good
        return {name: Within(elements[name], within[name]) for name in ACCURACY_GRADES if elements[name]}


def _applicable_grades(model: onnx.ModelProto) -> list[str]:
    """Return the names of the grades that apply to the operators of a model, the strictest first."""
    functions = FUNCTIONS_WITHOUT_WGSL_BOUND.intersection(node.op_type for node in model.graph.node)
    return [name for name in ACCURACY_GRADES if not (functions and name == "WGSL")]


def _applies_to_output(name: str, output: ExpectedTensor) -> bool:
    """Return whether a grade applies to an output: the output has a bound, and the grade defines its element type."""
    return output.check == "bound" and type_name(output.expected.dtype) in ACCURACY_GRADES[name]


def strictest_attained_grade(output: ExpectedTensor, grades: Sequence[AccuracyGrade], actual: object) -> str:
    """Return the name of the strictest grade that an output attains.

    If the output attains no grade, return a phrase that states whether the output is acceptable.
    """
    for grade in grades:
        if is_acceptable(replace(output, bound=grade.bound), actual):
            return grade.name
    return "none of these, but acceptable" if is_acceptable(output, actual) else "none of these, and not acceptable"


def _largest_ulp(output: ExpectedTensor, bound: Array) -> float:
    ulp = bound / ulp_of(output.expected)
    finite = ulp[np.isfinite(ulp)]
    return float(finite.max()) if finite.size else 0.0
