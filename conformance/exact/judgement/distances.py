"""The distance of each element of an output from its expected value, and the elements that no value can contradict."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.exact.models.arrays import equal_elements, format_of, have_same_bits, is_computed
from conformance.exact.reference.model_enclosures import AcceptableIndices
from conformance.exact.reference.numbers.enclosure import Enclosure, Tensor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conformance.exact.models.arrays import Array


@dataclass(frozen=True)
class Distances:
    """The distances of an output from its expected value; all arrays have the shape of the output.

    Attributes:
        shares: the distance as a share of the bound; infinite for an element that must be equal and differs.
        expected: the expected values.
        bounds: the largest admissible distances.
        undetermined: where every value is admissible, although the page states a result.
        loose: where the bound is larger than the expected magnitude, so that also 0 is admissible.
        unspecified: where the page of the operator states no result.
        is_exact: whether each element must be equal to the expected one, and there are elements.
    """

    shares: Array
    expected: Array
    bounds: Array
    undetermined: Array
    loose: Array
    unspecified: Array
    is_exact: bool = False

    @classmethod
    def none(cls, expected: Array) -> Distances:
        """Return the distances of an output from itself, without memory for the elements of a large one."""
        zeros = np.broadcast_to(0.0, expected.shape)
        nowhere = np.broadcast_to(False, expected.shape)
        return cls(zeros, expected, zeros, nowhere, nowhere, nowhere, is_exact=expected.size > 0)

    @property
    def is_judged(self) -> Array:
        """Whether each element has a bound that a wrong value can exceed."""
        return np.asarray(~(self.undetermined | self.loose | self.unspecified))

    @property
    def smallest_noticed(self) -> float:
        """The smallest relative error of all elements that puts one outside of its bound; infinite if none does.

        Zeros, infinities and NaN have no relative error. Where all elements are such ones, and exact, the result is 0.
        """
        if self.is_exact:
            return 0.0
        bounds = np.asarray(self.bounds)
        if np.asarray(self.expected).dtype.kind not in "fV":
            return 0.0 if ((bounds == 0) & self.is_judged).any() else np.inf
        sizes = np.abs(np.asarray(self.expected).astype(np.float64))
        is_relative = (sizes > 0) & (sizes < np.inf)
        if not (is_relative & ~self.undetermined & ~self.unspecified).any():
            return 0.0 if ((bounds == 0) & self.is_judged).any() else np.inf
        with np.errstate(all="ignore"):
            return float((bounds / sizes).min(initial=np.inf, where=is_relative & self.is_judged))


def noticed_text(noticed: float, terms: int) -> str:
    """Return the smallest relative error in every element that would show, and whether a lost term would.

    Args:
        noticed: the error; see `Distances.smallest_noticed`.
        terms: the number of terms of each sum; 1 if there are no sums.
    """
    text = "any difference" if not noticed else "none" if math.isinf(noticed) else f"{noticed:.2g}"
    if terms == 1:
        return text
    return f"{text}; a lost one of {terms} terms: {'not ' if noticed * terms > 1 else ''}noticed"


def are_comparable(actual: Array, expected: Tensor) -> bool:
    """Return whether an output has the type and the shape of its expected value."""
    return expected is not None and expected.dtype == actual.dtype and tuple(expected.shape) == actual.shape


def find_distances(actual: Array, expected: Array | Enclosure, *, has_signed_zeros: bool = False) -> Distances:
    """Return the distances of an output from an expected value of its type and shape.

    Args:
        actual: the output.
        expected: the expected value.
        has_signed_zeros: whether the sign of a zero matters where the expected element has no error.
    """
    if not isinstance(expected, Enclosure):
        if have_same_bits(actual, expected):
            return Distances.none(expected)
        same = equal_elements(actual, expected, with_signs=has_signed_zeros)
        return replace(Distances.none(expected), shares=np.where(same, np.float16(0), np.float16(np.inf)))
    nowhere = np.zeros(actual.shape, dtype=bool)
    value = np.asarray(expected.value)
    given = actual if value.dtype == actual.dtype else actual.astype(np.float64)
    error = expected.errors_towards(given)
    is_unbounded = ~np.isfinite(error)
    with np.errstate(all="ignore"):
        distance = np.abs(given.astype(np.float64) - value.astype(np.float64))
        same = equal_elements(given, value)
        shares = np.where(same | is_unbounded, 0.0, np.where(error > 0, distance / error, np.inf))
        shares = np.where(np.isnan(shares), np.inf, shares)
        if has_signed_zeros:
            is_other_zero = (given == 0) & (value == 0) & (np.signbit(given) != np.signbit(value))
            shares = np.where(is_other_zero & (error == 0), np.inf, shares)
        # a bound of a few subnormal numbers is as narrow as the type allows, also around 0
        smallest = 2 * float(format_of(expected.dtype).smallest_normal) if is_computed(expected.dtype) else np.inf
        loose = (error > np.abs(value)) & (error > smallest) & ~is_unbounded
    unspecified = nowhere if expected.unspecified is None else np.asarray(expected.unspecified, dtype=bool)
    shares = np.where(unspecified & np.isnan(given), 0.0, shares)
    return Distances(
        shares,
        value,
        error,
        undetermined=is_unbounded & ~unspecified,
        loose=loose & ~unspecified,
        unspecified=unspecified,
    )


def output_share(actual: Any, expected: Any, *, has_signed_zeros: bool = False) -> float | None:
    """Return the largest distance from the expected value as a share of the bound; None if it cannot be judged."""
    if isinstance(expected, str) or getattr(actual, "digest", "") != "":
        return None
    if isinstance(expected, list):
        return _sequence_share(actual, expected, has_signed_zeros=has_signed_zeros)
    if isinstance(expected, dict):
        return 0.0 if have_same_bits(actual, expected) else np.inf
    if not isinstance(actual, np.ndarray):
        return None
    if isinstance(expected, AcceptableIndices):
        return expected.share(actual)
    if not are_comparable(actual, expected):
        return np.inf
    return float(find_distances(actual, expected, has_signed_zeros=has_signed_zeros).shares.max(initial=0.0))


def _sequence_share(actual: Any, expected: Sequence[Any], *, has_signed_zeros: bool) -> float | None:
    """Return the largest share of the items of a sequence; None if one cannot be judged."""
    if not isinstance(actual, list) or len(actual) != len(expected):
        return np.inf
    pairs = zip(actual, expected, strict=True)
    shares = [output_share(*pair, has_signed_zeros=has_signed_zeros) for pair in pairs]
    known = [share for share in shares if share is not None]
    return max(known, default=0.0) if len(known) == len(shares) else None


def relative_error(actual: Array, exact: Array) -> float:
    """Return the largest difference of two tensors of one shape, as a share of the largest exact magnitude.

    Elements that are not finite in both are left out. The result is 0 for tensors that are not numbers.
    """
    if actual.shape != exact.shape or actual.dtype.kind not in "fiubV" or have_same_bits(actual, exact):
        return 0.0
    given = actual.astype(np.float64)
    expected = np.asarray(exact, np.float64)
    is_finite = np.isfinite(given) & np.isfinite(expected)
    with np.errstate(all="ignore"):
        difference = float(np.abs(given - expected).max(initial=0.0, where=is_finite))
    magnitude = float(np.abs(expected).max(initial=0.0, where=is_finite))
    return difference / magnitude if magnitude else difference


def is_correctly_rounded(actual: Array, exact: Array) -> bool:
    """Return whether a tensor of at most 32 bits an element is an exact tensor, rounded once to the nearest values."""
    if actual.shape != exact.shape or actual.dtype.itemsize > 4:
        return False
    if have_same_bits(actual, exact):
        return True
    with np.errstate(all="ignore"):
        return bool(equal_elements(actual, exact.astype(actual.dtype)).all())
