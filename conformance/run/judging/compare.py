"""Compare outputs of a backend with the expected outputs: type, then shape, then values.

An output is checked for equality of bits (`exact`), by a distance from the expected value (`bound`), or against sets of
acceptable indices (`index`). The evidence has the largest error even if the output is acceptable. Elements that are
acceptable each can contradict each other: `output_without_interpretation` detects outputs of one node that no single
interpretation of the specification explains.
"""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec.structs import replace

from conformance.base.verdicts import Level
from conformance.exact.models import arrays
from conformance.exact.models.arrays import Array, element_bytes, equal_elements, type_name, value_bytes
from conformance.exact.models.graphs import has_double_output
from conformance.exact.models.summaries import (
    MAX_SHOWN_ELEMENTS,
    format_true_indices,
    hex_bits,
    shortest_decimal,
    tensor_preview,
)
from conformance.run.results.records import BadElement, OutputEvidence
from conformance.run.results.violations import Violation, ViolationKind, WrongKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conformance.corpus.cases.case_loading import DataSet, ExpectedTensor, LoadedCase
    from conformance.exact.models.arrays import Value
    from conformance.exact.reference.interpretations import InterpretedNode


def compare_output(output: ExpectedTensor, actual: object, data_set: int) -> OutputEvidence:
    """Return the comparison of one output with its expected value, with a `violation` if it is not acceptable.

    Args:
        actual: the value that the backend returned, of any type.
        data_set: number of the data set, for the evidence.
    """
    evidence = OutputEvidence(data_set, output.name, output.check)
    if violation := _type_or_shape_violation(output.expected, actual):
        return _with_actual(replace(evidence, violation=violation), actual)
    array = np.asarray(actual)
    acceptable = _acceptable(output, array)
    if acceptable is None:
        return replace(evidence, max_ulp=0.0, error_over_bound=0.0 if output.check == "bound" else None)
    if output.check != "index" and _has_ulp(array):
        evidence = replace(evidence, **_error_measures(output, array, acceptable))
    if acceptable.all():  # if several indices are acceptable, the evidence has the actual ones
        return evidence if output.choices is None else _with_actual(evidence, array)
    wrong = int(acceptable.size - acceptable.sum())
    index = np.unravel_index(int(np.argmin(acceptable)), acceptable.shape)
    return replace(
        evidence,
        violation=Violation(ViolationKind.ELEMENTS, count=wrong, of=acceptable.size),
        wrong=wrong,
        wrong_kinds=kinds_of_elements(
            array, output.expected, output.bound, ~acceptable, is_choice=output.choices is not None
        ),
        first_bad=_bad_element(output, array, index),
        actual=tensor_preview(output.name, array),
    )


def acceptable_elements(output: ExpectedTensor, actual: object) -> Array:
    """Return which elements are acceptable (bool, the output's shape), by the rules of `compare_output`."""
    if _type_or_shape_violation(output.expected, actual):
        return np.zeros(output.expected.shape, dtype=np.bool_)
    acceptable = _acceptable(output, np.asarray(actual))
    return np.ones(output.expected.shape, dtype=np.bool_) if acceptable is None else acceptable


def is_acceptable(output: ExpectedTensor, actual: object) -> bool:
    """Return whether an output is acceptable, by the rules of `compare_output`."""
    if _type_or_shape_violation(output.expected, actual):
        return False
    acceptable = _acceptable(output, np.asarray(actual))
    return acceptable is None or bool(acceptable.all())


def _type_or_shape_violation(expected: Array, actual: object) -> Violation | None:
    """Return what is wrong with the type or shape of an output; None if both are as expected."""
    if not isinstance(actual, np.ndarray | np.generic):
        return Violation(ViolationKind.NO_ARRAY, actual=type(actual).__name__)
    if actual.dtype != expected.dtype:
        return Violation(ViolationKind.OUTPUT_TYPE, expected=type_name(expected.dtype), actual=_type(actual.dtype))
    if actual.shape != expected.shape:
        return Violation(ViolationKind.OUTPUT_SHAPE, expected=str(list(expected.shape)), actual=str(list(actual.shape)))
    return None


def _with_actual(evidence: OutputEvidence, actual: object) -> OutputEvidence:
    """Return the evidence with a preview of the actual output, if that is a tensor of a known type."""
    if isinstance(actual, np.ndarray | np.generic):
        with suppress(AttributeError, KeyError, TypeError, ValueError):
            return replace(evidence, actual=tensor_preview(evidence.name, np.asarray(actual)))
    return evidence


def _type(dtype: np.dtype[Any]) -> str:
    try:
        return type_name(dtype)
    except (KeyError, ValueError):
        return str(dtype)


def _acceptable(output: ExpectedTensor, actual: Array) -> Array | None:
    """Return which elements are acceptable (bool, the output's shape), or None if all bits are as expected."""
    expected = output.expected
    if output.choices is not None:
        indices = np.arange(output.choices.shape[-1])
        return np.asarray(((actual[..., np.newaxis] == indices) & output.choices).any(axis=-1))
    if element_bytes(actual) == element_bytes(expected):
        return None
    same = equal_elements(actual, expected, with_signs=output.bound is None)
    if output.bound is None:
        return same
    near = np.asarray(same | (_distance(actual, expected) <= output.bound))
    return near | np.isinf(output.bound) if arrays.is_floating(actual.dtype) else near


def _distance(actual: Array, expected: Array) -> Array:
    with np.errstate(all="ignore"):
        return np.asarray(np.abs(actual.astype(np.float64) - expected.astype(np.float64)))


def _has_ulp(array: Array) -> bool:
    """Return whether errors of a type are measured in ULP; those of types with 8 bits are not."""
    return array.dtype.kind in "fV" and type_name(array.dtype) in arrays.FLOAT_FORMATS


def _error_measures(output: ExpectedTensor, actual: Array, acceptable: Array) -> dict[str, Any]:
    """Return the largest finite error of an output, as entries of `OutputEvidence`.

    The entries are the error in ULP of the expected value, the error over the bound, and the index of the latter. There
    are none if a wrong element has no finite error, such as NaN: the largest of the others would look like the worst.
    There is no error over the bound if a wrong element has the bound 0.
    """
    expected = output.expected
    error = _distance(actual, expected)
    if not np.isfinite(error[~acceptable]).all():
        return {}
    with np.errstate(all="ignore"):
        ulp = error / ulp_of(expected)
        ratio = error / output.bound if output.bound is not None else np.full(error.shape, np.nan)
    found: dict[str, Any] = {}
    measures = {"max_ulp": ulp, "error_over_bound": ratio}
    if not np.isfinite(ratio[~acceptable]).all():
        del measures["error_over_bound"]
    for name, values in measures.items():
        finite = np.where(np.isfinite(values), values, -1.0)
        if finite.size and finite.max() >= 0:
            found[name] = float(f"{finite.max():.4g}")
            found["worst_index"] = [int(part) for part in np.unravel_index(finite.argmax(), finite.shape)]
    return found


def ulp_of(expected: Array) -> Array:
    """Return one ULP at each element: the distance of adjacent values of the tensor's type (double, its shape)."""
    format = arrays.FLOAT_FORMATS[type_name(expected.dtype)]
    least = 2 - format.largest_exponent - format.precision
    _, exponent = np.frexp(np.maximum(np.abs(expected.astype(np.float64)), np.ldexp(1.0, least)))
    return np.asarray(np.ldexp(1.0, np.maximum(exponent - format.precision, least)))


def _bad_element(output: ExpectedTensor, actual: Array, index: tuple[Any, ...]) -> BadElement:
    expected = output.expected[index]
    got = actual[index]
    place = [int(part) for part in index]
    value = shortest_decimal(got)
    bound = None
    ratio = None
    if output.bound is not None:
        bound = f"{output.bound[index]:.3g}"
        with np.errstate(all="ignore"):
            exact = float(_distance(got, expected) / output.bound[index])
        ratio = exact if np.isfinite(exact) else None
    if output.choices is not None:
        return BadElement(place, format_true_indices(output.choices[index]), value)
    if not _has_ulp(actual):
        return BadElement(place, shortest_decimal(expected), value, bound=bound, error_over_bound=ratio)
    distance = abs(float(got) - float(expected)) / float(ulp_of(np.asarray(expected)))
    return BadElement(
        place,
        shortest_decimal(expected),
        value,
        expected_hex=hex_bits(expected),
        actual_hex=hex_bits(got),
        bound=bound,
        ulp=float(f"{distance:.4g}") if np.isfinite(distance) else None,
        error_over_bound=ratio,
    )


def format_array(array: Any) -> str:
    """Return the first elements of an array as text; for a sequence, the first elements of each of its arrays."""
    if not isinstance(array, np.ndarray):
        return "nothing" if array is None else f"({', '.join(map(format_array, array))})"
    more = ", …" if array.size > MAX_SHOWN_ELEMENTS else ""
    return f"[{', '.join(shortest_decimal(element) for element in array.flat[:MAX_SHOWN_ELEMENTS])}{more}]"


MAX_NEAR_BOUNDS = 16
"""Largest error of an element that counts as nearly right, in bounds. Such an element may be right elsewhere."""


def kinds_of_elements(
    actual: Array, expected: Array, bound: Array | None, wrong: Array, *, is_choice: bool = False
) -> list[WrongKind]:
    """Return the kinds of the wrong elements of an output, sorted.

    Args:
        actual: the output.
        expected: its expected value (the output's shape).
        bound: the largest admissible distances (the output's shape); None if all elements must be equal.
        wrong: which elements are wrong (bool, the output's shape).
        is_choice: whether each element is an index of several acceptable ones.
    """
    found: set[WrongKind] = set()
    near: Array = np.zeros(1, dtype=np.bool_)
    if is_choice or actual.dtype.kind in "OSU":
        found.add(WrongKind.VALUE)
    else:
        got = actual[wrong].astype(np.float64)
        right = expected[wrong].astype(np.float64)
        least = np.full(right.shape, 1.0 if actual.dtype.kind in "iu" else 0.0)
        if bound is not None:
            least = np.maximum(least, MAX_NEAR_BOUNDS * bound[wrong])
        limit = np.maximum(least, np.abs(right) / 8)
        with np.errstate(all="ignore"):
            is_number = np.isfinite(right)
            near = is_number & (np.abs(got - right) <= least)
            rough = is_number & (np.abs(got - right) <= limit) & ~near
            negated = np.abs(got + right) <= limit
        far = np.isfinite(got) & is_number & ~near & ~rough
        found |= {WrongKind.NEAR} if near.any() else set()
        found |= {WrongKind.ROUGH} if rough.any() else set()
        found |= {WrongKind.NAN} if np.isnan(got).any() else set()
        found |= {WrongKind.INFINITY} if np.isinf(got).any() else set()
        found |= {WrongKind.NUMBER} if (np.isfinite(got) & ~is_number).any() else set()
        if not got[far].any():
            found |= {WrongKind.ZERO} if far.any() else set()
        else:
            found.add(WrongKind.SIGN if negated[far].all() else WrongKind.FAR)
    is_every = wrong.size > 1 and wrong.all() and not near.any()
    return sorted(found | ({WrongKind.EVERY} if is_every else set()))


INTERPRETATION_CACHE_SIZE = 512
"""Number of data sets whose interpretations are cached; all subjects are compared with the same ones."""


def output_without_interpretation(case: LoadedCase, data_set: DataSet, outputs: Sequence[Array]) -> int | None:
    """Return the index of an output of a node that no single interpretation of the specification explains.

    Return None if an interpretation explains each node.

    Args:
        data_set: the data set; its inputs must be unchanged.
        outputs: the actual outputs; each element must be acceptable.
    """
    if case.entry.level is not Level.MUST or not has_double_output(case.model):
        return None
    if all(
        value_bytes(actual) == value_bytes(each.expected)
        for actual, each in zip(outputs, data_set.outputs, strict=True)
    ):
        return None
    key = _CacheKey(case, data_set)
    return next((node.outputs[0] for node in _interpreted_nodes(key) if not node.has_match(outputs)), None)


class _CacheKey:
    """Key of the cache of interpretations: two keys are equal if their models and inputs are equal."""

    def __init__(self, case: LoadedCase, data_set: DataSet) -> None:
        self.case = case
        self.inputs = data_set.inputs
        self._key = case.entry.files["model.onnx"], value_bytes(data_set.inputs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _CacheKey) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


@lru_cache(maxsize=INTERPRETATION_CACHE_SIZE)
def _interpreted_nodes(key: _CacheKey) -> list[InterpretedNode]:
    from conformance.exact.reference.interpretations import interpreted_nodes  # late: few cases need the reference

    return interpreted_nodes(key.case.corpus.read(key.case.entry, "model.onnx"), key.inputs)


def overwritten_inputs(inputs: Sequence[Value], before: Sequence[bytes]) -> list[int]:
    """Return the indices of the inputs whose bytes changed; `before` has their bytes before the run."""
    return [number for number, value in enumerate(inputs) if value_bytes(value) != before[number]]
