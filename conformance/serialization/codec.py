"""Encoding of msgspec Structs and dataclasses as JSON, and checked decoding: the types are the only description."""

from __future__ import annotations

import json
from typing import Any, Generic, TypeVar

import msgspec

from conformance.serialization.decoding import malformed_errors

T = TypeVar("T")


class Double(float):
    """A double that is text in JSON: JSON has no infinities and NaN."""

    __slots__ = ()


def encode_json(value: Any) -> bytes:
    """Return a value as JSON in one line; halves of surrogate pairs, which UTF-8 cannot encode, become question marks.

    Args:
        value: a Struct, a dataclass, or a value that JSON can represent; floats of NumPy are accepted.
    """
    plain = msgspec.to_builtins(value, enc_hook=_encode_float, str_keys=True)
    return json.dumps(plain, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode(errors="replace")


def _encode_float(value: Any) -> str | float:
    if isinstance(value, Double):
        return repr(float(value))
    if isinstance(value, float):
        return float(value)
    raise NotImplementedError(type(value).__name__)


class JsonReader(Generic[T]):
    """Decoder for documents of one type.

    Args:
        type: a Struct, a dataclass, or a union of tagged Structs.
    """

    def __init__(self, type: type[T]) -> None:
        self._decoder = msgspec.json.Decoder(type, dec_hook=_decode_double)

    def __call__(self, content: bytes | memoryview) -> T:
        """Return the document.

        Raises:
            MalformedError: the content is not JSON, or the document does not have the type.
        """
        with malformed_errors():
            return self._decoder.decode(content)


def _decode_double(type: Any, value: Any) -> Any:
    if type is not Double or not isinstance(value, str):
        raise ValueError("a number must be text")
    return Double(value)
