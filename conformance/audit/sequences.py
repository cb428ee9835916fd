"""Outputs that are sequences or maps: their expected values, and the comparison with what a subject returned.

A subject in this process returns the elements. A subject in another process returns a digest, which shows only whether
all elements are equal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.graphs.distances import are_comparable, find_distances
from conformance.reference.numbers.enclosure import Enclosure
from conformance.subjects.harness import value_digest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def element_count(expected: Sequence[Any]) -> int:
    """Return the number of elements of all tensors and maps of a sequence."""
    return sum(len(each) if isinstance(each, dict) else int(np.prod(each.shape, dtype=np.int64)) for each in expected)


def is_admissible_sequence(actual: Any, expected: Sequence[Any]) -> bool | None:
    """Return whether an output may be a sequence; None if a digest does not show it.

    Args:
        actual: the output: a list, or an object with the digest of a list.
        expected: the expected elements: maps, tensors, or enclosures of tensors.
    """
    if isinstance(actual, (list, tuple)):
        pairs = zip(actual, expected, strict=False)
        return len(actual) == len(expected) and all(_is_admissible(*pair) for pair in pairs)
    digest = getattr(actual, "digest", "")
    if not digest or any(isinstance(each, Enclosure) and not each.is_exact for each in expected):
        return None
    exact = [each.value.astype(each.dtype) if isinstance(each, Enclosure) else each for each in expected]
    narrow = [{key: np.float32(x) for key, x in each.items()} if isinstance(each, dict) else each for each in exact]
    return digest in {value_digest(exact), value_digest(narrow)}


def _is_admissible(actual: Any, expected: Any) -> bool:
    if isinstance(expected, dict):
        return isinstance(actual, dict) and value_digest(_as_floats(actual)) == value_digest(_as_floats(expected))
    if not isinstance(actual, np.ndarray) or not are_comparable(actual, expected):
        return False
    return bool((find_distances(actual, expected).shares <= 1).all())


def _as_floats(scores: Mapping[Any, Any]) -> dict[Any, float]:
    return {key: float(each) for key, each in scores.items()}
