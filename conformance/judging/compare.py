"""Holds what a backend returned against what was expected: type, then shape, then values.

The largest error is reported even where the output passes.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.models import formats
from conformance.models.arrays import Array, type_name
from conformance.models.preview import SHOWN, alternatives, decimal, hexadecimal, preview

if TYPE_CHECKING:
    from conformance.corpus.loading import ExpectedTensor
    from conformance.results.records import BadElement, OutputEvidence


def compare(output: ExpectedTensor, actual: object, data_set: int) -> OutputEvidence:
    """The evidence on one output; it has a `complaint` where the output is not acceptable.

    Args:
        actual: whatever the backend returned for it.
        data_set: the number of the data set, for the record.
    """
    evidence: OutputEvidence = {"data_set": data_set, "name": output.name, "check": output.check}
    if complaint := _misfit(output.expected, actual):
        evidence["complaint"] = complaint
        return _with_actual(evidence, actual)
    array = np.asarray(actual)
    acceptable = _acceptable(output, array)
    if acceptable is None:
        return _exactly_right(evidence)
    if output.check != "index" and array.dtype.kind in "fV":
        evidence |= _distances(output, array)  # type: ignore[typeddict-item]
    if acceptable.all():  # where several indices are acceptable, which one came is worth knowing
        return evidence if output.choices is None else _with_actual(evidence, array)
    return {**evidence, **_accusation(output, array, acceptable)}  # type: ignore[typeddict-item]


def acceptable_elements(output: ExpectedTensor, actual: object) -> Array:
    """Which elements are acceptable (bool, the output's shape): what `compare` says, without the evidence."""
    if _misfit(output.expected, actual):
        return np.zeros(output.expected.shape, dtype=np.bool_)
    acceptable = _acceptable(output, np.asarray(actual))
    return np.ones(output.expected.shape, dtype=np.bool_) if acceptable is None else acceptable


def accepts(output: ExpectedTensor, actual: object) -> bool:
    """Whether an output is acceptable."""
    return _misfit(output.expected, actual) is None and bool(acceptable_elements(output, actual).all())


def _misfit(expected: Array, actual: object) -> str | None:
    """What is wrong with an output before its values are looked at."""
    if not isinstance(actual, np.ndarray | np.generic):
        return f"is a {type(actual).__name__}, not an array"
    if actual.dtype != expected.dtype:
        return f"has type {_type(actual.dtype)} instead of {type_name(expected.dtype)}"
    if actual.shape != expected.shape:
        return f"has shape {list(actual.shape)} instead of {list(expected.shape)}"
    return None


def _with_actual(evidence: OutputEvidence, actual: object) -> OutputEvidence:
    """The evidence with a preview of what came instead of a fitting output, where that is a tensor at all."""
    if isinstance(actual, np.ndarray | np.generic):
        with suppress(AttributeError, KeyError, TypeError, ValueError):
            evidence["actual"] = preview(evidence["name"], np.asarray(actual))
    return evidence


def _type(dtype: np.dtype[Any]) -> str:
    try:
        return type_name(dtype)
    except (KeyError, ValueError):
        return str(dtype)


def _acceptable(output: ExpectedTensor, actual: Array) -> Array | None:
    """Which elements are acceptable (bool, the output's shape), or None where every bit is as expected."""
    expected = output.expected
    if output.choices is not None:
        indices = np.arange(output.choices.shape[-1])
        return np.asarray(((actual[..., np.newaxis] == indices) & output.choices).any(axis=-1))
    if actual.tobytes() == expected.tobytes():
        return None
    same: Array = actual == expected
    if actual.dtype.kind not in "fV":
        return same
    both_nan: Array = (actual != actual) & (expected != expected)  # noqa: PLR0124
    if output.bound is None:
        return np.asarray((same & (np.signbit(actual) == np.signbit(expected))) | both_nan)
    with np.errstate(all="ignore"):
        error = np.abs(actual.astype(np.float64) - expected.astype(np.float64))
    return np.asarray(same | both_nan | (error <= output.bound) | np.isinf(output.bound))


def _exactly_right(evidence: OutputEvidence) -> OutputEvidence:
    evidence["max_ulp"] = 0.0
    if evidence["check"] == "bound":
        evidence["error_over_bound"] = 0.0
    return evidence


def _distances(output: ExpectedTensor, actual: Array) -> dict[str, Any]:
    """The largest error in ULP of the expected value and as a fraction of the bound, where both are finite."""
    expected = output.expected
    with np.errstate(all="ignore"):
        error = np.abs(actual.astype(np.float64) - expected.astype(np.float64))
        ulp = error / ulp_of(expected)
        ratio = error / output.bound if output.bound is not None else np.full(error.shape, np.nan)
    found: dict[str, Any] = {}
    for name, values in (("max_ulp", ulp), ("error_over_bound", ratio)):
        finite = np.where(np.isfinite(values), values, -1.0)
        if finite.size and finite.max() >= 0:
            found[name] = float(f"{finite.max():.4g}")
            found["worst_index"] = [int(part) for part in np.unravel_index(finite.argmax(), finite.shape)]
    return found


def ulp_of(expected: Array) -> Array:
    """The distance of neighbours in the tensor's type at each element (double, its shape)."""
    format = formats.BY_NAME[type_name(expected.dtype)]
    least = 2 - format.largest_exponent - format.precision
    _, exponent = np.frexp(np.maximum(np.abs(expected.astype(np.float64)), np.ldexp(1.0, least)))
    return np.asarray(np.ldexp(1.0, np.maximum(exponent - format.precision, least)))


def _accusation(output: ExpectedTensor, actual: Array, acceptable: Array) -> dict[str, Any]:
    wrong = int(acceptable.size - acceptable.sum())
    place = np.unravel_index(int(np.argmin(acceptable)), acceptable.shape)
    return {
        "complaint": f"has {wrong} wrong of {acceptable.size} elements",
        "wrong": wrong,
        "first_bad": _bad_element(output, actual, place),
        "actual": preview(output.name, actual),
    }


def _bad_element(output: ExpectedTensor, actual: Array, place: tuple[Any, ...]) -> BadElement:
    expected, got = output.expected[place], actual[place]
    bad: BadElement = {"index": [int(part) for part in place], "expected": decimal(expected), "actual": decimal(got)}
    if output.choices is not None:
        bad["expected"] = alternatives(output.choices[place])
        return bad
    if actual.dtype.kind not in "fV":
        return bad
    bad |= {"expected_hex": hexadecimal(expected), "actual_hex": hexadecimal(got)}
    if output.bound is not None:
        bad["bound"] = f"{output.bound[place]:.3g}"
    distance = abs(float(got) - float(expected)) / float(ulp_of(np.asarray(expected)))
    if np.isfinite(distance):
        bad["ulp"] = float(f"{distance:.4g}")
    return bad


def shown(array: Any) -> str:
    """An array's first elements; a sequence's arrays, each so."""
    if not isinstance(array, np.ndarray):
        return "nothing" if array is None else f"({', '.join(map(shown, array))})"
    more = ", …" if array.size > SHOWN else ""
    return f"[{', '.join(decimal(element) for element in array.flat[:SHOWN])}{more}]"
