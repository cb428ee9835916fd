"""Values of ONNX types as objects of Python: tensors, sequences, maps and optionals.

A tensor is an array, a sequence is a list of values, a map is a dict from texts or integers to texts or numbers, and an
empty optional is None. An optional that is not empty is its value. A tensor of texts is an array of Python's `str`.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from conformance.exact.models.arrays import element_byte_count, element_bytes, has_same_bits

if TYPE_CHECKING:
    from collections.abc import Iterable

Value: TypeAlias = Any
"""An array, a list of values, a dict or None."""

_BYTES_OF_NUMBER = 8


def copy_of_value(value: Value) -> Value:
    """Return a copy that shares no array, list or map with the value."""
    if isinstance(value, list | tuple):
        return [copy_of_value(each) for each in value]
    return value.copy() if isinstance(value, np.ndarray | dict) else value


def value_byte_count(value: Value) -> int:
    """Return the size of a value in bytes; a text takes its characters, and a number of a map takes 8."""
    if isinstance(value, np.ndarray):
        return element_byte_count(value)
    if isinstance(value, list | tuple):
        return sum(map(value_byte_count, value))
    if isinstance(value, dict):
        parts = [each for pair in value.items() for each in pair]
        return sum(_BYTES_OF_NUMBER + (len(each) if isinstance(each, str) else 0) for each in parts)
    return 0


def value_bytes(value: Value) -> bytes:
    """Return bytes that two values share if and only if they have the same types, shapes and elements."""
    if isinstance(value, np.ndarray):
        content = [f"{value.dtype} {value.shape} ".encode(), element_bytes(value)]
    elif isinstance(value, list | tuple):
        content = list(map(value_bytes, value))
    elif isinstance(value, dict):
        items = sorted(value.items(), key=repr)
        content = [repr(items).encode(errors="surrogatepass")]
    else:
        content = [repr(value).encode(errors="surrogatepass")]
    return b"".join(len(part).to_bytes(8, "little") + part for part in content)


def hash_values(values: Iterable[Value]) -> str:
    """Return the SHA-256 of the types, shapes and elements of values."""
    return hashlib.sha256(value_bytes(list(values))).hexdigest()


def have_same_bits(first: Value, second: Value) -> bool:
    """Return whether two values have the same types, shapes and bits, except for the bits of NaN.

    The order of a map does not matter. A value of another kind is compared by its type, and by the digest that a
    harness sent for it.
    """
    if isinstance(first, np.ndarray) and isinstance(second, np.ndarray):
        return has_same_bits(first, second)
    if isinstance(first, list | tuple) and isinstance(second, list | tuple):
        return len(first) == len(second) and all(map(have_same_bits, first, second))
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(_is_same_entry(first[key], second[key]) for key in first)
    digests = [getattr(each, "digest", "") for each in (first, second)]
    return type(first).__name__ == type(second).__name__ and digests[0] == digests[1]


def _is_same_entry(first: Any, second: Any) -> bool:
    """Return whether two entries of maps are the same text or number, or both NaN."""
    return bool(first == second or (first != first and second != second))  # noqa: PLR0124
