"""Encoding of types as JSON."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
import numpy as np
import pytest

from conformance.base.serialization.decoding import JsonReader, MalformedError, encode_json


@dataclass(frozen=True)
class Point:
    """Two numbers."""

    x: float
    y: float = 0.0


class Points(msgspec.Struct, forbid_unknown_fields=True):
    """Points by name."""

    points: dict[str, tuple[Point, ...]]
    content: bytes = b""


@pytest.mark.parametrize("number", [0.1, -0.0, 5e-324, 1e308, float("inf"), float("-inf")])
def test_encode_json_any_double_survives(number):
    points = Points({"a": (Point(number), Point(1.0, number))}, b"\x00\xff")
    assert JsonReader(Points, has_infinities=True)(encode_json(points)) == points


def test_encode_json_lone_surrogate_becomes_question_mark():
    assert encode_json({"a": "\ud800"}) == b'{"a":"?"}'


def test_encode_json_number_of_numpy_is_number():
    assert encode_json([np.float64(0.5)]) == b"[0.5]"


@pytest.mark.parametrize(
    "content", [b"", b"{}", b'{"points": {}, "more": 1}', b'{"points": {"a": [{"x": "inf"}]}}', b"\xff"]
)
def test_json_reader_other_content_is_refused(content):
    with pytest.raises(MalformedError):
        JsonReader(Points)(content)
