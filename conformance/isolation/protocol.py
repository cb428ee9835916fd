"""The harness protocol: its version, a line out and the answer in a line, and tensors as it carries them."""

from __future__ import annotations

import json
from binascii import a2b_base64, b2a_base64
from dataclasses import dataclass
from functools import cache
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.isolation.failures import SpokeNonsense
from conformance.models.arrays import dtype_of, type_name, type_number
from conformance.schemas import complaint

if TYPE_CHECKING:
    from collections.abc import Mapping

    from conformance.models.arrays import Array


@cache
def _dtype(name: str) -> np.dtype[Any]:
    return dtype_of(type_number(name))


def encoded(name: str, array: Array) -> dict[str, Any]:
    """A tensor's message.

    Raises:
        KeyError: ONNX has no such element type.
        ValueError: likewise, or the protocol has not, as of strings.
    """
    if array.dtype.hasobject:
        raise ValueError("the protocol has no strings and no objects")
    data = b2a_base64(array.tobytes(), newline=False).decode("ascii")
    return {"name": name, "dtype": type_name(array.dtype), "shape": array.shape, "data": data}


def decoded(message: Mapping[str, Any]) -> Array:
    """The tensor of a message that satisfies its schema: a writable array of its own.

    Raises:
        ValueError: its data is not base64, or not as long as its type and shape say; the text is one sentence's end.
    """
    dtype = _dtype(message["dtype"])
    try:
        data = a2b_base64(message["data"], strict_mode=True)
    except ValueError as error:
        raise ValueError(f"has data that is not base64 ({error})") from None
    shape = message["shape"]
    if len(data) != prod(shape) * dtype.itemsize:
        raise ValueError(
            f"has {len(data)} bytes of data, which is not what {message['dtype']} of shape {list(shape)} has"
        )
    return np.frombuffer(data, dtype).reshape(shape).copy()


def stand_in(type_name: str) -> Any:
    """Something that is told by the same name as what the subject returned, and is good for nothing else."""
    return type(type_name, (), {})()


_SHOWN = 200


def quoted(line: bytes | bytearray) -> str:
    """A line as it can be shown: its beginning, quoted."""
    text = line[:_SHOWN].decode(errors="backslashreplace")
    return repr(text) + ("…" if len(line) > _SHOWN else "")


PROTOCOL = 1


@dataclass(frozen=True)
class Sent:
    """A command that was sent.

    Attributes:
        what: the command.
        members: what it has besides its name and number.
        seq: its number.
        unsent: what is still to be sent of it.
        moment: when it was, by the monotonic clock.
        then: the command that it carries, which is done where this one succeeds.
    """

    what: str
    members: Mapping[str, Any]
    seq: int
    unsent: memoryview
    moment: float
    then: Sent | None = None


def as_line(message: Mapping[str, Any]) -> bytes:
    """A command as the line that is sent."""
    return _ENCODER.encode(message).encode() + b"\n"


def answer_in(line: bytes, what: str, seq: int) -> dict[str, Any]:
    """A line as the answer that it should be.

    Raises:
        SpokeNonsense: it is something else; the message shows it.
    """
    try:
        answer = _DECODER.decode(line.decode("utf-8", "surrogatepass"))
        problem = complaint("protocol", answer, f"{what}_answer")
    except (ValueError, RecursionError, OverflowError) as error:
        raise SpokeNonsense(
            f"answered `{what}` with what is not JSON ({type(error).__name__}): {quoted(line)}"
        ) from None
    if isinstance(answer, dict) and answer.get("seq") != seq:
        raise SpokeNonsense(f"answered `{what}` with another number than {seq}: {quoted(line)}")
    if problem:
        raise SpokeNonsense(f"answered `{what}` with what is no such answer: {quoted(line)}")
    return dict(answer)


def _refuse(constant: str) -> None:
    raise ValueError(constant)


_ENCODER = json.JSONEncoder(separators=(",", ":"))
_DECODER = json.JSONDecoder(parse_constant=_refuse)
