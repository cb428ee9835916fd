"""Encoded messages that nobody trusts: how much memory one would take is estimated before it is decoded."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import onnx
from google.protobuf.descriptor import FieldDescriptor  # type: ignore[import-untyped]
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

MAX_FIELDS = 2**21
"""Maximum number of texts and messages of a model that is read; a decoded message takes hundreds of bytes."""

MAX_TEXTS = 2**22
"""Maximum number of elements of a tensor of texts that is read; in memory, a text takes far more than in a file."""


def decode_message(content: bytes, kind: Any) -> Any:
    """Return a message of a class, such as `onnx.TensorProto`.

    Raises:
        DecodeError: the content is no such message, or would take much memory; see `is_large_message`.
    """
    most = MAX_FIELDS if kind is onnx.ModelProto else MAX_TEXTS
    if len(content) > most and is_large_message(content, most, kind):  # a field has at least a byte
        raise DecodeError(f"it has more than {most} messages and texts, or numbers that take more than 600 MB")
    return kind.FromString(content)


def is_large_message(content: bytes, most: int, kind: Any = onnx.ModelProto) -> bool:
    """Return whether a message would take much memory if it were decoded: its fields are counted without decoding.

    A decoded message takes 75 times the memory of its two encoded bytes, and a number 8 times that of its only byte.
    The two ends of a group count as fields: no field of ONNX is a group, and a decoder skips it. What is not a message
    is not large: its decoder reports the fault.

    Args:
        content: the encoded message.
        most: the number of texts and messages that it may have.
        kind: the class of the message.
    """
    parts: list[tuple[int, int, Any]] = [(0, len(content), kind.DESCRIPTOR)]
    count = number_bytes = 0
    while parts:
        start, end, message = parts.pop()
        while start < end:
            if (numbers := _NUMBERS.match(content, start, end)) is not None:
                number_bytes += 4 * (numbers.end() - start)  # a tag and a number have at least two bytes
                start = numbers.end()
                continue
            tag, start = _varint(content, start)
            if tag & 7 not in _TEXTS_MESSAGES_AND_GROUPS:
                break
            count += 1
            if count > most:
                return True
            if tag & 7 != _LENGTH_DELIMITED:
                continue
            length, start = _varint(content, start)
            field = message.fields_by_number.get(tag >> 3)
            if field is not None and field.message_type is not None:
                parts.append((start, min(start + length, end), field.message_type))
            elif field is not None and field.type in _BYTES_OF_NUMBER:
                number_bytes += _BYTES_OF_NUMBER[field.type] * _count_numbers(content, start, min(start + length, end))
            if number_bytes > MAX_NUMBER_BYTES:
                return True
            start += length
    return number_bytes > MAX_NUMBER_BYTES


MAX_NUMBER_BYTES = 600_000_000
"""Memory of the numbers of a decoded message that are encoded in fewer bytes; a model is copied several times."""

_BYTES_OF_NUMBER = {FieldDescriptor.TYPE_INT64: 8, FieldDescriptor.TYPE_UINT64: 8, FieldDescriptor.TYPE_INT32: 4}
_COUNTED_BYTES = 2**24


def _count_numbers(content: bytes, start: int, end: int) -> int:
    """Return the number of packed numbers between two positions: each ends in a byte below 128."""
    places = range(start, end, _COUNTED_BYTES)
    parts = (np.frombuffer(content, np.uint8, min(_COUNTED_BYTES, end - place), place) for place in places)
    return sum(int(np.count_nonzero(part < 128)) for part in parts)


_LENGTH_DELIMITED = 2
_START_OF_GROUP = 3
_END_OF_GROUP = 4
_TEXTS_MESSAGES_AND_GROUPS = {_LENGTH_DELIMITED, _START_OF_GROUP, _END_OF_GROUP}
_MAX_VARINT_BITS = 70


def _tag_pattern(wire_type: int) -> bytes:
    """Return a pattern of the tags of fields with a wire type."""
    ends = b"".join(b"\\x%02x" % each for each in range(wire_type, 128, 8))
    starts = b"".join(b"\\x%02x" % each for each in range(128 + wire_type, 256, 8))
    return b"(?:[%s]|[%s][\\x80-\\xff]{0,8}[\\x00-\\x7f])" % (ends, starts)


_VARINT = b"[\\x80-\\xff]{0,9}[\\x00-\\x7f]"
_NUMBER = b"|".join((_tag_pattern(0) + _VARINT, _tag_pattern(1) + b".{8}", _tag_pattern(5) + b".{4}"))
_NUMBERS = re.compile(b"(?:%s){1,4096}+" % _NUMBER, re.DOTALL)
"""A run of fields that are numbers."""


def _varint(content: bytes, start: int) -> tuple[int, int]:
    """Return the number that begins at `start` in protobuf's encoding, and the position after it."""
    value = shift = 0
    while start < len(content) and shift < _MAX_VARINT_BITS:
        byte = content[start]
        start += 1
        value |= (byte & 127) << shift
        if byte < 128:
            break
        shift += 7
    return value, start
