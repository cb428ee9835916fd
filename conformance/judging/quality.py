"""How accurate an answer is, beside whether it is acceptable: quality, which no verdict and no gate rests on.

An answer attains a quality where each of its elements is within the bound of an evaluation whose every operation is as
accurate as that says: correctly rounded as IEEE 754 has it, or as OpenCL's full profile or WGSL ask of a device.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from conformance.judging.compare import accepts, ulp_of
from conformance.models.arrays import type_name
from conformance.reference.numbers.accuracy import QUALITIES
from conformance.reference.oracle import bounds_under

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conformance.corpus.loading import CaseInMemory, DataSet, ExpectedTensor
    from conformance.models.arrays import Array

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
    functions = BY_MORE_THAN_OPERATIONS.intersection(node.op_type for node in case.model.graph.node)
    found: list[list[Quality]] = [[] for _ in data_set.outputs]
    for name, accuracy in QUALITIES.items():
        if functions and name == "WGSL":
            continue
        bounds = bounds_under(accuracy, case.model.SerializeToString(), data_set.inputs, case.level)
        for place, (output, bound) in enumerate(zip(data_set.outputs, bounds, strict=True)):
            if output.check == "bound" and bound is not None and type_name(output.expected.dtype) in accuracy:
                found[place].append(Quality(name, bound, _largest_ulp(output, bound)))
    return found


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
