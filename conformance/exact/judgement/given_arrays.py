"""Arrays of other libraries as arrays of NumPy, with the element types of ONNX.

An array may be one of NumPy, PyTorch, JAX, CuPy or tinygrad, or any object with `__array__` or `__dlpack__`. No library
is imported: the methods of the object are called. NumPy has no bfloat16, float8 and int4, so these are types of
ml_dtypes.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
import onnx

from conformance.base.errors import UnknownName, UsageError
from conformance.base.serialization.printable_text import shorten_middle
from conformance.exact.models.arrays import Array, type_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

WORDS_OF_TYPES = {
    "bfloat16": ("int16", ml_dtypes.bfloat16),
    "float8_e4m3fn": ("uint8", ml_dtypes.float8_e4m3fn),
    "float8_e4m3fnuz": ("uint8", ml_dtypes.float8_e4m3fnuz),
    "float8_e5m2": ("uint8", ml_dtypes.float8_e5m2),
    "float8_e5m2fnuz": ("uint8", ml_dtypes.float8_e5m2fnuz),
    "float8_e8m0fnu": ("uint8", ml_dtypes.float8_e8m0fnu),
}
"""For types of PyTorch that NumPy lacks: the type of integers with the same bits, and the type of ml_dtypes."""

MAX_SHOWN = 60
"""Number of characters of an argument in an error message."""

ARRAY_ERRORS = (TypeError, ValueError, RuntimeError, BufferError, AttributeError, NotImplementedError)
"""Errors of a library whose array cannot become one of NumPy."""


def given_array(given: Any, name: str) -> Array:
    """Return an array of any library as an array of NumPy. It may share the memory of the given array.

    Args:
        given: the array.
        name: its name in an error message.

    Raises:
        UsageError: it is no array, or has elements that ONNX does not have.
    """
    if isinstance(given, (bool, int, float, complex, str, bytes, list, tuple, dict, set)) or given is None:
        raise UsageError("not-an-array", name=name, type=type(given).__name__)
    try:
        array = _converted(given)
        if array.dtype.kind in "SUT":
            array = array.astype(object)
        if array.dtype.kind == "O" and not all(isinstance(each, str) for each in array.flat):
            raise TypeError(array.dtype)
        if not array.dtype.isnative:
            array = array.astype(array.dtype.newbyteorder("="))
        type_name(array.dtype)
    except (KeyError, *ARRAY_ERRORS):
        elements = f" of {given.dtype}" if isinstance(given, np.ndarray) else ""
        raise UsageError("not-an-array", name=name, type=type(given).__name__ + elements) from None
    return array


def given_map(given: Mapping[Any, Any], name: str) -> dict[Any, Any]:
    """Return a map of texts or integers to texts, integers or numbers, with Python's own types.

    Args:
        given: the map.
        name: its name in an error message.

    Raises:
        UsageError: it has other keys or values, or those of several types.
    """
    keys = list(map(_plain, given.keys()))
    values = list(map(_plain, given.values()))
    if {*map(type, keys)} not in _TYPES_OF_KEYS or {*map(type, values)} not in _TYPES_OF_VALUES:
        raise UsageError("not-an-array", name=name, type=type(given).__name__)
    return dict(zip(keys, values, strict=True))


def _plain(given: Any) -> Any:
    return given.item() if isinstance(given, np.generic) else given


_TYPES_OF_KEYS: list[set[type]] = [set(), {str}, {int}]

_TYPES_OF_VALUES: list[set[type]] = [*_TYPES_OF_KEYS, {float}]


def whole_number(given: Any, name: str, least: int = 1) -> int:
    """Return an argument that must be a whole number.

    Raises:
        UsageError: it is another value, or smaller than the least one.
    """
    try:
        number = least - 1 if isinstance(given, bool) else operator.index(given)
    except TypeError:
        number = least - 1
    if number < least:
        raise UsageError("argument", name=name, kind=f"a whole number of at least {least}", value=shown(given))
    return number


def element_types(given: Any) -> tuple[str, ...]:
    """Return an argument that must name element types of ONNX, one or several.

    Raises:
        UnknownName: there is no such element type; a name of NumPy has a name of ONNX as its hint.
        UsageError: it is no text.
    """
    names = (given,) if isinstance(given, str) or not isinstance(given, Iterable) else tuple(given)
    for name in names:
        if not isinstance(name, str):
            raise UsageError("argument", name="types", kind="names of element types, such as float", value=shown(name))
        if name not in ELEMENT_TYPES:
            raise UnknownName("element-type", name=name, known=_types_like(name))
    return names


ELEMENT_TYPES = tuple(name.lower() for name in onnx.TensorProto.DataType.keys()[1:])
"""The names of the element types of ONNX."""


def _types_like(name: str) -> Sequence[str]:
    """Return the name that ONNX has for a type of NumPy; all names for another text."""
    with suppress(KeyError, *ARRAY_ERRORS):
        return [type_name(np.dtype(name))]
    return ELEMENT_TYPES


def shown(given: Any) -> str:
    """Return an argument as an error message shows it."""
    return shorten_middle(repr(given), MAX_SHOWN)


def _converted(given: Any) -> Array:
    if isinstance(given, (np.ndarray, np.generic)):
        return np.asarray(given)
    if hasattr(given, "detach") and hasattr(given, "cpu"):  # a tensor of PyTorch
        tensor = given.detach().cpu()
        kind = str(tensor.dtype).rpartition(".")[2]
        if kind in WORDS_OF_TYPES:
            integers, own = WORDS_OF_TYPES[kind]
            words = getattr(_module_of(tensor), integers)
            return np.asarray(tensor.contiguous().view(words).numpy().view(own))
        return np.asarray(tensor.resolve_conj().resolve_neg().numpy())
    if hasattr(given, "__array__"):
        with suppress(*ARRAY_ERRORS):
            array = np.asarray(given)
            if array.dtype != object:
                return array
    for read in (_by_dlpack, lambda each: np.asarray(each.numpy()), lambda each: np.asarray(each.get())):
        with suppress(*ARRAY_ERRORS):
            return read(given)
    raise TypeError(type(given))


def _module_of(tensor: Any) -> Any:
    """Return the module of PyTorch, which is imported because it made the tensor."""
    import sys

    return sys.modules[type(tensor).__module__.partition(".")[0]]


def _by_dlpack(given: Any) -> Array:
    if not hasattr(given, "__dlpack__"):
        raise TypeError(type(given))
    with suppress(TypeError):
        return np.asarray(np.from_dlpack(given, device="cpu"))
    return np.asarray(np.from_dlpack(given))
