"""Decode JSON into typed values: every JSON document that the suite reads passes through this module.

A document type is a `TypedDict`. `JsonDecoder` checks a document against it with msgspec and returns a plain dict. It
rejects unknown keys, numbers outside of a field's limits, text that is not Unicode, and excessive nesting.
`document_type` returns the same types for msgspec; `scripts/make_schemas.py` writes the JSON Schemas from them.
"""

from __future__ import annotations

import keyword
import re
import tomllib
from contextlib import contextmanager
from enum import Enum
from functools import cache
from inspect import cleandoc
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    NotRequired,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator


Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
"""A number of things, or an index; from 0."""

Positive = Annotated[int, msgspec.Meta(ge=1, le=2**63 - 1)]
"""A number of things; at least 1."""

Integer = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
"""A signed 64-bit integer."""

Seconds = Annotated[float, msgspec.Meta(ge=0)]
"""A duration or a point in time in seconds."""

NonEmpty = Annotated[str, msgspec.Meta(min_length=1)]
"""Text of at least one character."""

MAX_REASON_LENGTH = 300
"""Characters of the text of a `MalformedError`."""


class StoredRecord(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True):
    """A JSON object, or a part of one, in a file; a key with a default value is left out of the file."""


class MalformedError(ValueError):
    """A JSON document does not have the required type. The message is the reason, for users."""


class JsonDecoder:
    """Decoder for documents of one TypedDict, or of several TypedDicts that the value of a key distinguishes.

    A field of type `Annotated[str, SomeEnum]` or `Annotated[str, Literal["a", "b"]]` accepts only the texts of the
    enumeration or literal. The decoded value of the field is a plain str.

    Args:
        types: the TypedDict; if `key` is given, a mapping from values of that key to TypedDicts.
        key: name of the key whose value selects the TypedDict.
    """

    def __init__(self, types: Any, key: str = "") -> None:
        self._decoder = msgspec.json.Decoder(document_type(types, key))

    def __call__(self, content: bytes) -> Any:
        """Return the document as a plain dict.

        Raises:
            MalformedError: the content is not JSON, or the document does not have the type.
        """
        with malformed_errors():
            return plain_or_struct(self._decoder.decode(content))


def plain_or_struct(document: Any) -> Any:
    """Return a document of a defined struct type as it is, and a document of a TypedDict as a plain dict."""
    return msgspec.to_builtins(document) if type(document).__module__ == __name__ else document


def document_type(types: Any, key: str = "") -> Any:
    """Return the msgspec type for documents; the arguments are those of `JsonDecoder`."""
    if not key:
        return strict_type(types)
    structs = [_struct(type, key, tag) for tag, type in types.items()]
    return Union[tuple(structs)]  # noqa: UP007 - the members are in a tuple


def decode_json(content: bytes) -> Any:
    """Return a JSON document of any type; the caller checks it against a JSON Schema.

    Raises:
        MalformedError: the content is not JSON, or contains text that is not Unicode.
    """
    with malformed_errors():
        return msgspec.json.decode(content)


MAX_TOML_KEY_PARTS = 64
"""Largest number of parts of a dotted TOML key. The time of Python's parser grows with the square of this number."""

_TOML_PART = r"""(?:[\w-]+|"[^"\n]*"|'[^'\n]*')"""
_LONG_TOML_KEY = re.compile(rf"(?<![\w.\-\"']){_TOML_PART}(?:[ \t]*\.[ \t]*{_TOML_PART}){{{MAX_TOML_KEY_PARTS}}}")


def decode_toml(text: str) -> dict[str, Any]:
    """Return a TOML document; the caller checks its content.

    Raises:
        MalformedError: the text is not TOML, is nested too deeply, or has a key of too many parts.
    """
    for number, line in enumerate(text.splitlines(), 1):
        if line.count(".") >= MAX_TOML_KEY_PARTS and _LONG_TOML_KEY.search(line):
            raise MalformedError(f"line {number} has a key of more than {MAX_TOML_KEY_PARTS} parts")
    try:
        return tomllib.loads(text)
    except ValueError as error:  # also for a number with too many digits
        raise MalformedError(str(error)[:MAX_REASON_LENGTH]) from None
    except RecursionError:
        raise MalformedError("it is nested too deeply") from None


@contextmanager
def malformed_errors() -> Iterator[None]:
    """Convert msgspec errors of the block to `MalformedError`."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise MalformedError(f"it is not UTF-8 text ({error.reason})") from None
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


@cache
def _struct(typed_dict: Any, key: str = "", tag: str = "") -> Any:
    """Return a msgspec struct type with the keys of a TypedDict; it rejects all other keys.

    msgspec can decode TypedDicts directly, but it then ignores undeclared keys.
    """
    if isinstance(typed_dict, type) and issubclass(typed_dict, msgspec.Struct):
        return typed_dict
    hints = {name: hint for name, hint in get_type_hints(typed_dict, include_extras=True).items() if name != key}
    names = {name: f"{name}_" if keyword.iskeyword(name) else name for name in hints}
    return msgspec.defstruct(
        typed_dict.__name__,
        [_field(names[name], hint) for name, hint in hints.items()],
        namespace={"__doc__": cleandoc(typed_dict.__doc__ or "")},
        rename={own: name for name, own in names.items()},
        tag_field=key or None,
        tag=tag or None,
        kw_only=True,
        forbid_unknown_fields=True,
    )


def _field(name: str, hint: Any) -> tuple[str, Any] | tuple[str, Any, Any]:
    """Return the definition of a struct field; the value of an optional key is UNSET if the document lacks the key."""
    if get_origin(hint) is NotRequired:
        (hint,) = get_args(hint)
        return name, Union[strict_type(hint), msgspec.UnsetType], msgspec.UNSET  # noqa: UP007 - the type is a value here
    return name, strict_type(hint)


def strict_type(hint: Any) -> Any:
    """Return the msgspec type for a type hint: a struct for a TypedDict, enumerations for annotated texts."""
    origin, arguments = get_origin(hint), get_args(hint)
    if is_typeddict(hint):
        return _struct(hint)
    if origin is Annotated:
        inner, *meanings = arguments
        metas = [meaning for meaning in meanings if isinstance(meaning, msgspec.Meta)]
        strict = next((meaning for meaning in meanings if meaning not in metas), None) or strict_type(inner)
        for meta in metas:
            strict = Annotated[strict, meta]
        return strict
    if origin in {Union, UnionType}:
        return Union[tuple(map(strict_type, arguments))]  # noqa: UP007 - the members are in a tuple
    if origin in {None, Literal, NoneType}:
        return hint
    strict = origin[tuple(map(strict_type, arguments))]
    key: Any = strict_type(arguments[0]) if origin is dict else None
    if isinstance(key, type) and issubclass(key, Enum):
        names = {"propertyNames": {"enum": [member.value for member in key]}}
        return Annotated[strict, msgspec.Meta(extra_json_schema=names)]  # msgspec's schemas omit enumerations of keys
    return strict
