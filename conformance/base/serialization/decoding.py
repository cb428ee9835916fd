"""Types of fields, errors of malformed documents, and the decoding of JSON and TOML of any type.

A document that the suite reads or writes has a Struct as its type; `serialization.codec` reads and writes it.
`scripts/make_schemas.py` writes the JSON Schemas from the types.
"""

from __future__ import annotations

import re
import tomllib
from contextlib import contextmanager
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from conformance.base.serialization.document_limits import MAX_VALUES, DocumentLimitError, check_limits

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
"""A number of things, or an index; from 0."""

Positive = Annotated[int, msgspec.Meta(ge=1, le=2**63 - 1)]
"""A number of things; at least 1."""

Integer = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
"""A signed 64-bit integer."""

Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e12)]
"""A duration or a point in time in seconds."""

NonEmpty = Annotated[str, msgspec.Meta(min_length=1)]
"""Text of at least one character."""

MAX_REASON_LENGTH = 300
"""Characters of the text of a `MalformedError`."""


class StoredRecord(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True):
    """A JSON object, or a part of one, in a file; a key with a default value is left out of the file."""


class MalformedError(ValueError):
    """A JSON document does not have the required type. The message is the reason, for users."""


def decode_json(content: bytes, max_values: int = MAX_VALUES) -> Any:
    """Return a JSON document of any type; the caller checks it against a JSON Schema.

    Args:
        content: the document.
        max_values: largest number of values, see `document_limits`.

    Raises:
        MalformedError: the content is not JSON, contains text that is not Unicode, is nested too deeply, or has too
            many values.
    """
    with malformed_errors():
        check_limits(content, max_values)
        return msgspec.json.decode(content)


MAX_TOML_KEY_PARTS = 64
"""Largest number of parts of a dotted TOML key. The time of Python's parser grows with the square of this number."""

MAX_TOML_VALUES = 2**19
"""Largest number of commas, brackets, equals signs and lines of a TOML document. Python's parser is slow."""

_TOML_PART = r"""(?:[\w-]+|"[^"\n]*"|'[^'\n]*')"""
_LONG_TOML_KEY = re.compile(rf"(?<![\w.\-\"']){_TOML_PART}(?:[ \t]*\.[ \t]*{_TOML_PART}){{{MAX_TOML_KEY_PARTS}}}")


def decode_toml(text: str) -> dict[str, Any]:
    """Return a TOML document; the caller checks its content.

    Raises:
        MalformedError: the text is not TOML, is nested too deeply, or has too many values, a key of too many
            parts, or an integer of more than 64 bits.
    """
    if sum(map(text.count, ",[{=\n")) > MAX_TOML_VALUES:
        raise MalformedError(f"it has more than {MAX_TOML_VALUES} values")
    for number, line in enumerate(text.splitlines(), 1):
        if line.count(".") >= MAX_TOML_KEY_PARTS and _LONG_TOML_KEY.search(line):
            raise MalformedError(f"line {number} has a key of more than {MAX_TOML_KEY_PARTS} parts")
    try:
        document = tomllib.loads(text)
    except ValueError as error:  # also for a number with too many digits
        raise MalformedError(str(error)[:MAX_REASON_LENGTH]) from None
    except RecursionError:
        raise MalformedError("it is nested too deeply") from None
    if _has_long_integer(document):
        raise MalformedError("it has an integer of more than 64 bits")
    return document


def _has_long_integer(document: dict[str, Any]) -> bool:
    """Return whether a document has an integer of more than 64 bits.

    TOML forbids it. Python reads such a number in hexadecimal digits, but cannot print it.
    """
    pending: list[Any] = [document]
    while pending:
        value = pending.pop()
        if isinstance(value, dict | list):
            pending += value.values() if isinstance(value, dict) else value
        elif isinstance(value, int) and value.bit_length() > 64:
            return True
    return False


@cache
def read_own_toml(package: str, name: str) -> Mapping[str, Any]:
    """Return a TOML file of a package of this suite; it is read once."""
    return tomllib.loads(resources.files(package).joinpath(name).read_text("utf-8"))


@contextmanager
def malformed_errors() -> Iterator[None]:
    """Convert errors of msgspec and of `check_limits` in the block to `MalformedError`."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise MalformedError(f"it is not UTF-8 text ({error.reason})") from None
    except DocumentLimitError as error:
        raise MalformedError(str(error)) from None
    except RecursionError:
        raise MalformedError("it is nested too deeply") from None
    except msgspec.MsgspecError as error:
        raise MalformedError(describe_error(error)) from None


def describe_error(error: msgspec.MsgspecError) -> str:
    """Return the message of a msgspec error; it begins with the path of the wrong value in the document, if known."""
    what, _, path = str(error).partition(" - at `$")
    path = path.removesuffix("`")
    reason = what[:1].lower() + what[1:] if what[1:2].islower() else what
    return (f"{path.lstrip('.')}: {reason}" if path else reason)[:MAX_REASON_LENGTH]
