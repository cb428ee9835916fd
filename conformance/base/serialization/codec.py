"""Encoding of msgspec Structs and dataclasses as JSON, and checked decoding: the types are the only description."""

from __future__ import annotations

import json
import math
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec

from conformance.base.serialization.decoding import malformed_errors
from conformance.base.serialization.document_limits import MAX_VALUES, check_limits

if TYPE_CHECKING:
    from types import UnionType

T = TypeVar("T")


def encode_json(value: Any) -> bytes:
    """Return a value as JSON in one line.

    Infinities and NaN, which JSON lacks, become text. Halves of surrogate pairs, which UTF-8 cannot encode, become
    question marks.

    Args:
        value: a Struct, a dataclass, or a value that JSON can represent; floats of NumPy are accepted.
    """
    plain = msgspec.to_builtins(value, enc_hook=_encode_float, str_keys=True)
    try:
        text = _dump(plain)
    except ValueError:
        text = _dump(_with_finite_numbers(plain))
    return text.encode(errors="replace")


def encode_document(value: Any, *, is_ascii: bool = True) -> bytes:
    """Return a value as JSON with an entry per line, for a file of a user; the values are those of `encode_json`."""
    return json.dumps(json.loads(encode_json(value)), indent=1, ensure_ascii=is_ascii).encode() + b"\n"


def _dump(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def _encode_float(value: Any) -> float:
    if isinstance(value, float):
        return float(value)
    raise NotImplementedError(type(value).__name__)


def _with_finite_numbers(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    if isinstance(value, dict):
        return {key: _with_finite_numbers(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_with_finite_numbers(each) for each in value]
    return value


class JsonReader(Generic[T]):
    """Decoder for documents of one type.

    Args:
        type: a Struct, a dataclass, or a union of tagged Structs.
        has_infinities: whether a number may be the text of an infinity or of NaN, as `encode_json` writes it.
        max_values: largest number of values of a document, see `document_limits`.
    """

    def __init__(
        self, type: type[T] | UnionType, *, has_infinities: bool = False, max_values: int = MAX_VALUES
    ) -> None:
        self._type = type
        self._is_strict = not has_infinities
        self._max_values = max_values

    @cached_property
    def _decoder(self) -> msgspec.json.Decoder[T]:
        """The decoder; it is made when the first document is read, which takes a command some milliseconds."""
        return msgspec.json.Decoder(self._type, strict=self._is_strict)

    def __call__(self, content: bytes | memoryview) -> T:
        """Return the document.

        Raises:
            MalformedError: the content is not JSON, the document does not have the type, is nested too deeply, or has
                too many values.
        """
        with malformed_errors():
            check_limits(bytes(content), self._max_values)
            document: T = self._decoder.decode(content)
        return document
