"""Documents: types of fields, limits, checked decoding, encoding, and JSON Schemas.

A document that the suite reads or writes has a Struct as its type, which is its only description. `JsonReader` and
`encode_json` read and write it. `scripts/make_schemas.py` writes the JSON Schemas in `schemas/` from the types.

A decoder needs up to 100 bytes of memory for each byte of a hostile document, and recursion for each level. So
`check_limits` counts depth and values in the bytes before a decoder builds objects. The readers of files limit the size
before they read.
"""

from __future__ import annotations

import json
import math
import re
import tomllib
from contextlib import contextmanager
from functools import cache, cached_property
from importlib import resources
from itertools import accumulate
from typing import TYPE_CHECKING, Annotated, Any, Generic, TypeVar

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from types import UnionType

    import jsonschema_rs


MAX_DEPTH = 100
"""Largest number of objects and lists around a value; documents of the suite have less than 20."""

MAX_VALUES = 2**21
"""Default of the largest number of values of a document; the manifest of the corpus has 90,000."""

_BLOCK_BYTES = 2**20

_COMMON_DEPTH = 8
"""Levels of most documents."""

_STRUCTURE = b'[]{},"'
_OTHERS = bytes(set(range(256)) - set(_STRUCTURE))
_ALL_BUT_COLONS = bytes(set(range(256)) - set(b':"'))
_STEPS = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}


class DocumentLimitError(ValueError):
    """A document is nested too deeply, or has too many values. The message is the reason, for users."""


def check_limits(content: bytes | bytearray, max_values: int = MAX_VALUES) -> None:
    """Check the depth and the number of values of a JSON document without decoding it.

    A small document with few brackets passes at once. The structure of other documents is read in full.

    Args:
        content: the document; it can be malformed.
        max_values: largest number of commas, lists and objects, which is about the number of values.

    Raises:
        DocumentLimitError: the document exceeds a limit.
    """
    if len(content) <= max_values and content.count(b"[") + content.count(b"{") <= MAX_DEPTH:
        return
    depth = 0
    count = 0
    for structure in _structure_blocks(content):
        count += len(structure.translate(None, b"]}"))
        if count > max_values:
            raise DocumentLimitError(f"it has more than {max_values} values")
        brackets = structure.translate(None, b",")
        if depth + _COMMON_DEPTH <= MAX_DEPTH and not _without_pairs(brackets):
            continue
        depths = [*accumulate(map(_STEPS.__getitem__, brackets), initial=depth)]
        if max(depths) > MAX_DEPTH:
            raise DocumentLimitError(f"it is nested more than {MAX_DEPTH} levels deep")
        depth = depths[-1]


def _without_pairs(brackets: bytes) -> bytes:
    """Return the brackets without the innermost levels; nothing remains of a document of few levels."""
    for _ in range(_COMMON_DEPTH):
        if not brackets:
            break
        brackets = brackets.replace(b"[]", b"").replace(b"{}", b"")
    return brackets


def _structure_blocks(content: bytes | bytearray, others: bytes = _OTHERS) -> Iterator[bytes]:
    """Yield the commas and brackets of a JSON document that are not in strings, in parts.

    Args:
        content: the document.
        others: the characters that are left out; not the quotation mark.
    """
    if b"\\" in content:
        content = content.replace(b"\\\\", b"").replace(b'\\"', b"")
    is_in_string = False
    for start in range(0, len(content), _BLOCK_BYTES):
        structure = content[start : start + _BLOCK_BYTES].translate(None, others)
        parts = structure.replace(b'""', b"").split(b'"')  # most strings have no structure
        yield b"".join(parts[is_in_string::2])
        is_in_string ^= len(parts) % 2 == 0


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
        max_values: largest number of values, see `check_limits`.

    Raises:
        MalformedError: the content is not JSON, contains text that is not Unicode, is nested too deeply, has too many
            values, or has two equal keys in an object.
    """
    with malformed_errors():
        check_limits(content, max_values)
        document = msgspec.json.decode(content)
    _check_keys(content, document)
    return document


def _check_keys(content: bytes, document: Any) -> None:
    """Check that no object of a JSON document has two equal keys, of which the decoder keeps the last.

    A decoded object has an entry for each of its keys, so that the numbers of colons and of entries are equal.

    Raises:
        MalformedError: an object has two equal keys.
    """
    entries = 0
    pending = [document]
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            entries += len(value)
            pending += value.values()
        elif isinstance(value, list):
            pending += value
    if entries != sum(block.count(b":") for block in _structure_blocks(content, _ALL_BUT_COLONS)):
        raise MalformedError(EQUAL_KEYS)


EQUAL_KEYS = "it has two equal keys in an object"


def distinct_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of a JSON document; the hook of Python's decoder, which else keeps the last of equal keys.

    Raises:
        ValueError: two keys are equal.
    """
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError(EQUAL_KEYS)
    return found


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
        max_values: largest number of values of a document, see `check_limits`.
        is_record: whether the documents are lines that the suite wrote, so that only a line in another form is read a
            second time to find equal keys.
    """

    def __init__(
        self,
        type: type[T] | UnionType,
        *,
        has_infinities: bool = False,
        max_values: int = MAX_VALUES,
        is_record: bool = False,
    ) -> None:
        self._is_record = is_record
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
            MalformedError: the content is not JSON, the document does not have the type, is nested too deeply, has too
                many values, or has two equal keys in an object.
        """
        text = bytes(content)
        with malformed_errors():
            check_limits(text, self._max_values)
            document: T = self._decoder.decode(text)
            if not self._is_record or msgspec.json.encode(document) != text.rstrip(b"\n"):
                _check_keys(text, msgspec.json.decode(text))
        return document


MAX_VIOLATION_LENGTH = 200
"""Characters of the text that `schema_violation` returns, without the path."""


@cache
def schema(name: str) -> dict[str, Any]:
    """Return a JSON Schema: `case`, `census`, `manifest`, `protocol`, `released`, `results` or `summary`."""
    text = resources.files(__package__).joinpath("schemas", f"{name}.schema.json").read_text(encoding="utf-8")
    return dict(json.loads(text))


@cache
def schema_check(name: str, definition: str = "") -> Callable[[object], bool]:
    """Return a function that returns whether a document is valid; the arguments are those of `schema_violation`."""
    return _validator(name, definition).is_valid


def schema_violation(name: str, document: object, definition: str = "") -> str | None:
    """Return the path and the reason of the first violation of a JSON Schema; None if the document is valid.

    Args:
        name: name of the schema, see `schema`.
        definition: key of `$defs` in the schema; if it is given, the document is checked against this definition.
    """
    import jsonschema_rs  # late, as in `_validator`

    try:
        _validator(name, definition).validate(document)  # `iter_errors` makes a list, with a text for each error
    except jsonschema_rs.ValidationError as found:
        error = found
    else:
        return None
    path = "/".join(str(key) for key in error.instance_path)
    message = error.message
    if len(message) > MAX_VIOLATION_LENGTH:
        message = message[:MAX_VIOLATION_LENGTH] + "…"
    return f"{path}: {message}" if path else message


@cache
def _validator(name: str, definition: str) -> jsonschema_rs.Validator:
    import jsonschema_rs  # late: the import is slow, and many commands need no schema

    whole = schema(name)
    if not definition:
        return jsonschema_rs.validator_for(whole)
    return jsonschema_rs.validator_for(
        {"$schema": whole["$schema"], "$defs": whole["$defs"], "$ref": f"#/$defs/{definition}"}
    )
